"""Owns the comparison of two profiles: matched operations, causes and suggestions."""
