"""Counts, backs up and restores the whole database."""
