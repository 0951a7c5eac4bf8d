"""A pattern of workload ids and an id into whether they match."""

from fnmatch import fnmatchcase


def is_match(pattern: str, workload: str) -> bool:
    """Whether `workload` matches `pattern`, in which * and ? are wildcards.

    Square brackets stand for themselves, for they are part of ids: "gpt:train[batch=8]".
    """
    return fnmatchcase(workload, pattern.replace("[", "[[]"))
