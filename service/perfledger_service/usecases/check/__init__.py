"""Owns the check of a change: measuring, judging, explaining and pricing."""
