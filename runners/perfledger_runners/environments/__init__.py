"""Owns the environments built for one side of a check, and their cache."""
