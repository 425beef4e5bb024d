"""Why load is uneven, and what would help: predicates over evidence, in one ordered table."""
