"""Owns the values of pages about all projects."""
