"""Owns the settings, with the origin of each value."""
