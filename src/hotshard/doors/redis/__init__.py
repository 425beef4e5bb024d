"""The door to the Redis registry."""
