"""Defines the error that reading a profile raises."""


class ProfileError(Exception):
    """A profiler's file that cannot be read: which part, why, and what to do."""
