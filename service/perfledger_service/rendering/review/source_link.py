"""Finds the public address of the source of a price."""

import re

_ADDRESS = re.compile(r"https?://[^\s,;\"'<>()]+")
_REPOSITORY = r"(?P<repository>[A-Za-z0-9][\w-]*/[A-Za-z0-9][\w.-]*)"
_FILE = re.compile(rf"{_REPOSITORY} (?P<path>[\w./-]+\.\w+) @(?P<commit>[0-9a-f]{{7,40}})\b")
_PULL = re.compile(rf"{_REPOSITORY} PR (?P<number>\d+)\b")
_REGION = re.compile(r"^[\w-]+; ")  # precedes the source of an input


def source_link(source: str) -> str:
    """Return the address of a source, "" if it names none.

    A source names an address, a file of a GitHub repository at a commit (`owner/name path
    @commit`), or a pull request (`owner/name PR 12`).
    """
    if address := _ADDRESS.search(source):
        return address.group()
    text = _REGION.sub("", source)
    if file := _FILE.match(text):
        repository, path, commit = file["repository"], file["path"], file["commit"]
        return f"https://github.com/{repository}/blob/{commit}/{path}"
    if pull := _PULL.match(text):
        return f"https://github.com/{pull['repository']}/pull/{pull['number']}"
    return ""
