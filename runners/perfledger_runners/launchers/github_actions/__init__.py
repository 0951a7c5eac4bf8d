"""Runs submissions as runs of a GitHub Actions workflow."""
