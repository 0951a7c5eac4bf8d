"""Presents what a check run shows beside its summary: annotations of lines of code."""
