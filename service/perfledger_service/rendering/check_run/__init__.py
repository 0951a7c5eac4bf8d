"""Presents a check run's annotations of lines of code."""
