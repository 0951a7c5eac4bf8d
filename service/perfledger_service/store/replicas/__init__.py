"""Lets the replicas of a service know which of them are alive, and write to GitHub in turn."""
