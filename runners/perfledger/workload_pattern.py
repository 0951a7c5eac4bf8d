"""Matches workload ids with patterns."""

from fnmatch import fnmatchcase


def is_match(pattern: str, workload: str) -> bool:
    """Return whether `workload` matches `pattern`, in which * and ? are wildcards.

    Square brackets are literal, because they are part of ids: "gpt:train[batch=8]".
    """
    return fnmatchcase(workload, pattern.replace("[", "[[]"))
