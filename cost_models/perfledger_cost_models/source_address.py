"""Finds and checks the web addresses of sources."""

import re

# Without characters that could end a link in Markdown, HTML or a spreadsheet.
_ADDRESS = re.compile(
    r"https://[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+(?:[:/?#][A-Za-z0-9._~:/?#@!$&*+=%-]*)?"
)
_SENTENCE_END = ".:!?"


def is_address(text: str) -> bool:
    """Return whether a text is nothing but an https address with a full host name."""
    return _ADDRESS.fullmatch(text) is not None


def named_address(source: str) -> str:
    """Return the first https address that the text of a source names, "" if it names none."""
    match = _ADDRESS.search(source)
    return match.group().rstrip(_SENTENCE_END) if match else ""
