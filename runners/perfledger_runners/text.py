"""Text that a foreign program wrote, as text that JSON, databases and terminals accept."""

import unicodedata

# Kept of what a workload printed: enough for a traceback.
MAX_LOG_TAIL_BYTES = 16 * 1024
MAX_DETAIL = 4000


def clean(text: str) -> str:
    """Return `text` without control characters and lone surrogates; line ends and tabs stay."""
    return "".join(
        character if character in "\n\t" or unicodedata.category(character)[0] != "C" else "\ufffd"
        for character in text
    )


def tail(text: str, max_characters: int) -> str:
    """Return the end of `text`, cleaned: that is where errors say what they are."""
    return clean(text[-max_characters:])


def last_line(text: str) -> str:
    """Return the last line that is not blank, or ""."""
    return text.rstrip().rpartition("\n")[2].strip()
