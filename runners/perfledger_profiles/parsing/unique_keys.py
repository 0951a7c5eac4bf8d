"""Reads JSON objects whose keys are unique."""

from collections import Counter
from typing import Any

_MAX_KEY = 80  # characters of a key shown in an error


def object_of_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, as an `object_pairs_hook`; raise ValueError for a duplicate key."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        msg = f"the key {twice[:_MAX_KEY]!r} is a duplicate"
        raise ValueError(msg)
    return fields
