"""Owns queries of single pages."""
