"""Owns the readers of the histories that other benchmark tools keep, each to the same values."""
