"""Profiles, what explains them, and their pictures."""
