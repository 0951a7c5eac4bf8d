"""Owns the quarterly procurement review."""
