"""Owns differential flame graphs of two steps: the picture and its table."""
