"""The command line: one folder per group, one module per command."""
