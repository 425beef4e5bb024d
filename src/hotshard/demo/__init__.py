"""The demo: servers of its own, traffic, and what is shown of it."""
