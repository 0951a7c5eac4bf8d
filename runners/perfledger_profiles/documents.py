"""Turn the bytes of a JSON file, of one object or of several in a row, into dictionaries."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from perfledger_profiles.errors import ProfileError
from perfledger_profiles.text_file import TextFile, read_text

MAX_JSON_BYTES = 64 * 2**20
# Each value of a list or an object takes up to a hundred bytes.
MAX_VALUES = 10_000_000
# Beyond this many broken objects the file is not one of ours; each costs another look at the rest.
MAX_BROKEN = 1000

_SPACE = re.compile(r"[\s,\ufeff]*")
_OBJECT_ON_A_LINE = re.compile(r"^[ \t]*\{", re.MULTILINE)

Document = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """The objects of a file in their order, how many were broken, and what was wrong in words."""

    documents: Sequence[Document]
    dropped: int = 0
    notes: tuple[str, ...] = ()


def read_documents(data: bytes) -> Documents:
    """Return the objects of a JSON file: one, a list of them, or one after another (JSON lines).

    NaN and infinity, which Python's own writer puts into JSON, are read as null. Raises
    ProfileError when there is no object or the file is larger than the limits.
    """
    return documents_in(read_text(data, max_bytes=MAX_JSON_BYTES))


def is_json(read: TextFile) -> bool:
    """Tell whether a text begins as a JSON object or list does."""
    first = next((line for line in read.lines if line.strip()), "")
    return first.lstrip().startswith(("{", "["))


def documents_in(read: TextFile) -> Documents:
    """Return the objects of a JSON file that has been decoded; as `read_documents`."""
    text = "\n".join(read.lines)
    if text.count(",") + text.count("[") + text.count("{") > MAX_VALUES:
        msg = f"the file has more than {MAX_VALUES} values: leave the single requests out of it"
        raise ProfileError(msg)
    found, dropped = _objects(text)
    if not found:
        msg = "the file holds no JSON object: is it the JSON output of a benchmark?"
        raise ProfileError(msg)
    return Documents(documents=found, dropped=dropped, notes=read.notes)


def document_of(value: object) -> Document:
    """Return a value that is an object, an empty one for any other."""
    return cast("Document", value) if isinstance(value, dict) else {}


def values_of(value: object) -> Sequence[object]:
    """Return a value that is a list, an empty one for any other."""
    return cast("list[object]", value) if isinstance(value, list) else []


def figure_of(value: object) -> float | None:
    """Return a value that is a finite number, None for any other."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        figure = float(value)
    except OverflowError:
        return None
    return figure if math.isfinite(figure) else None


def _objects(text: str) -> tuple[list[Document], int]:
    decoder = json.JSONDecoder(parse_constant=_nothing)
    found: list[Document] = []
    position = _next_start(text, 0)
    dropped = 0
    while position < len(text) and dropped < MAX_BROKEN:
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            dropped += 1
            again = _OBJECT_ON_A_LINE.search(text, _line_after(text, position))
            position = again.end() - 1 if again else len(text)
            continue
        many = values_of(value) or [value]
        found += [cast("Document", one) for one in many if isinstance(one, dict)]
        position = _next_start(text, position)
    return found, dropped


def _nothing(_: str) -> None:
    return None


def _line_after(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _next_start(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position
