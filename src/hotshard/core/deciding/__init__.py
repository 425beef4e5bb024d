"""One topic's decisions: panes in, and out what is to be said."""
