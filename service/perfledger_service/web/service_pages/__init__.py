"""Owns the pages about all projects at once: search and administration."""
