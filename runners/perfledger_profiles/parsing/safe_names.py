"""Cleans names from profiler files so that they can be stored and shown safely."""

import re
import unicodedata

# Longer names are C++ template expansions, which differ in their first part.
MAX_NAME = 200
UNNAMED = "(unnamed)"

_HOME = re.compile(r"(?i)(?:[a-z]:)?[\\/](?:home|users)[\\/][^\\/\s\"'<>|:,;()]+")
# The folders of an absolute path; after a word or a bracket it is an operation's path.
_FOLDERS = re.compile(r"(?<![\w.)\]}>])~?(?:[A-Za-z]:)?[\\/](?:[^\\/\s\"'<>|:,;()]+[\\/])+")
_LINE_BREAKS = ("Zl", "Zp")


def clean_name(text: str) -> str:
    """Return the name without control characters, folders and user names, at most MAX_NAME long.

    Invisible format characters (text direction, zero width) and lone surrogates are removed too:
    they make one name look like another, or cannot be encoded.
    """
    name = text[: 4 * MAX_NAME]
    if not name.isprintable():
        name = "".join(character for character in name if not _is_hidden(character))
    if "/" in name or "\\" in name:
        name = _FOLDERS.sub("", _HOME.sub("~", name))
    return name.strip()[:MAX_NAME] or UNNAMED


def _is_hidden(character: str) -> bool:
    category = unicodedata.category(character)
    return category.startswith("C") or category in _LINE_BREAKS
