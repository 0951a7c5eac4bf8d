"""Owns change detection in series, and the history of a default branch."""
