"""Owns the measuring of a step: warm-up, samples and load."""
