"""Lets the replicas of a service know which of them live, and write to GitHub in turn."""
