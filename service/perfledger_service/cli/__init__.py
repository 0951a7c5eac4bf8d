"""The command line: arguments in, use cases called, values shown, an exit code out."""
