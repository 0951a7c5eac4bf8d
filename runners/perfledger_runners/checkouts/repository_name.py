"""The form of a repository's name: owner/name, as GitHub writes it."""

import re

# Owners have at most 39 characters and repositories 100; neither is a path's "." or "..".
_NAME = re.compile(r"(?!\.{1,2}/)[\w.-]{1,39}/(?!\.{1,2}$)[\w.-]{1,100}", re.ASCII)


def is_repository_name(text: str) -> bool:
    """Return whether a text is owner/name."""
    return _NAME.fullmatch(text) is not None
