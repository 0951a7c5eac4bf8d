"""Owns the environments that are built for one side of a check, and their cache."""
