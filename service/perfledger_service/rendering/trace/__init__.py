"""Profiles, their explanations and their pictures."""
