"""Owns the queries for the cost of changes."""
