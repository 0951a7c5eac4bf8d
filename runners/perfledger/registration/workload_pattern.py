"""Matches names, such as workload ids and machine classes, with patterns."""

from fnmatch import fnmatchcase


def is_match(pattern: str, name: str) -> bool:
    """Return whether `name` matches `pattern`, in which * and ? are wildcards.

    Square brackets are literal, because they are part of names: "gpt:train[batch=8]".
    """
    return fnmatchcase(name, pattern.replace("[", "[[]"))
