"""The command line: a folder a group, a module a command."""
