"""The producer library."""
