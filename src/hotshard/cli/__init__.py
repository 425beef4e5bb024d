"""The command line: one file per command. Data go to stdout, messages to stderr."""
