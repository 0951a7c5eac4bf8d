"""Owns the prices of hours, work, changes and energy."""
