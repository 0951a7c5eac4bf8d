"""The one error that reading a profile raises on purpose."""


class ProfileError(Exception):
    """A profiler's file cannot be read: which file or part, why, and what to do."""
