"""Owns the queries of what changes cost."""
