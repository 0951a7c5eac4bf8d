"""Owns the GitHub App: its registration and its installations."""
