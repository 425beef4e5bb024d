"""The settings: one table, its sources, masking."""
