"""Owns the GitHub App: its registration, and where it is installed."""
