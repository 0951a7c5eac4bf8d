"""Divides rows of levels at their change points."""
