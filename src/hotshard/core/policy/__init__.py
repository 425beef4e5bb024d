"""Frozen policies and the state machines they build: when a key is hot, and when no longer."""
