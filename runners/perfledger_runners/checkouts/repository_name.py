"""Defines the form of a repository's name: owner/name, as on GitHub."""

import re

# Owners have at most 39 characters and repositories 100; neither may be "." or "..".
_NAME = re.compile(r"(?!\.{1,2}/)[\w.-]{1,39}/(?!\.{1,2}$)[\w.-]{1,100}", re.ASCII)


def is_repository_name(text: str) -> bool:
    """Return whether a text has the form owner/name."""
    return _NAME.fullmatch(text) is not None
