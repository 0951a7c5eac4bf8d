"""The hub: the command line, the web, the store and GitHub."""
