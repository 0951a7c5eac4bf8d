"""Cleans foreign text for JSON, databases and terminals."""

import unicodedata

# Characters stored of a workload's output: enough for a traceback.
MAX_LOG_TAIL_BYTES = 16 * 1024
MAX_DETAIL = 4000


def clean_text(text: str) -> str:
    """Return `text` without control characters and lone surrogates; line ends and tabs remain."""
    return "".join(
        character if character in "\n\t" or unicodedata.category(character)[0] != "C" else "\ufffd"
        for character in text
    )


def tail_of_text(text: str, max_characters: int) -> str:
    """Return the cleaned end of `text`, where errors usually are."""
    return clean_text(text[-max_characters:])


def last_line(text: str) -> str:
    """Return the last line that is not blank, or ""."""
    return text.rstrip().rpartition("\n")[2].strip()
