"""Owns the queries of single pages."""
