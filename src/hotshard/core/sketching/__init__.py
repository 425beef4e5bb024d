"""Counting one partition: sketches with bounds, and the rows that travel and merge."""
