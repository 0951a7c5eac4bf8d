"""Owns the access to GitHub: pull requests, their comments and their check runs."""
