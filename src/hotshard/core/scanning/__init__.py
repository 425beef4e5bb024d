"""A stretch of records that is at hand, read once and told: the worker's counting and deciding without a worker."""
