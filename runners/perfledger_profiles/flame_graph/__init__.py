"""Owns flame graphs: two steps as trees of operations, and as files for other viewers."""
