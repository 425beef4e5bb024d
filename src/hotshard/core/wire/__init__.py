"""What travels: panes, progress, state, routes, reports and events, with their codecs."""
