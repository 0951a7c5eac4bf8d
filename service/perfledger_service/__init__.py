"""The service: command line, web, use cases, store and GitHub."""
