"""Owns the reading, comparison and explanation of profiler files."""
