"""Turn names that came out of a profiler's file into names that may be kept and shown."""

import re
import unicodedata

# Longer ones are C++ template expansions, told apart by their first part.
MAX_NAME = 200

_HOME = re.compile(r"(?i)(?:[a-z]:)?[\\/](?:home|users)[\\/][^\\/\s\"'<>|:,;()]+")
# The folders of an absolute path; what follows a word or a bracket is an operation's path instead.
_FOLDERS = re.compile(r"(?<![\w.)\]}>])~?(?:[A-Za-z]:)?[\\/](?:[^\\/\s\"'<>|:,;()]+[\\/])+")
_LINE_BREAKS = ("Zl", "Zp")


def clean_name(text: str) -> str:
    """Return the name without control characters, folders and user names, cut to MAX_NAME.

    Invisible format characters (text direction, zero width) and lone surrogates go too: they make
    one name look like another, or cannot be written at all.
    """
    kept = text[: 4 * MAX_NAME]
    if not kept.isprintable():
        kept = "".join(character for character in kept if not _is_hidden(character))
    if "/" in kept or "\\" in kept:
        kept = _FOLDERS.sub("", _HOME.sub("~", kept))
    return kept.strip()[:MAX_NAME] or "(unnamed)"


def _is_hidden(character: str) -> bool:
    category = unicodedata.category(character)
    return category.startswith("C") or category in _LINE_BREAKS
