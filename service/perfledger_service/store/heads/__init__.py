"""Stores what is known of the commits that a check is about: pull requests' and merge groups'."""
