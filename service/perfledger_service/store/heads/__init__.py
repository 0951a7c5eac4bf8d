"""Stores the commits that checks are about: heads of pull requests and of merge groups."""
