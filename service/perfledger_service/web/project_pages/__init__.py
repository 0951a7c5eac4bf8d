"""Owns the pages of a project on which people decide: its events, and the log of what they did."""
