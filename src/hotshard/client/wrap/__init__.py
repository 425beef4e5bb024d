"""Wrappers around producers, one file per producer library."""
