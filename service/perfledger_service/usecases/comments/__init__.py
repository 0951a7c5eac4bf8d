"""Owns the commands that people write in pull-request comments."""
