"""Owns the pages about all projects: search and administration."""
