"""Is a split worth it, how many shards, and where: plans as values."""
