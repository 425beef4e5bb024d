"""Panes: how a stretch of a partition is cut, confirmed once, and gathered into windows and views."""
