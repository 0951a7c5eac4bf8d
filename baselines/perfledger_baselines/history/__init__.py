"""Searches series of past runs for changes, and finds the commits that made them."""
