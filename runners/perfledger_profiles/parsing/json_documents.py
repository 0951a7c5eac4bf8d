"""Parses JSON files of one object or of several in a row."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.text_file import TextFile

MAX_JSON_BYTES = 64 * 2**20  # of one document; traces are read as a stream
# Each value in a list or an object takes up to a hundred bytes.
MAX_VALUES = 10_000_000
# Beyond this the file is not a supported one; each broken object means another scan of the rest.
MAX_BROKEN = 1000

_SPACE = re.compile(r"[\s,\ufeff]*")
_OBJECT_ON_A_LINE = re.compile(r"^[ \t]*\{", re.MULTILINE)

Document = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonDocuments:
    """The objects of a file in order, the number of broken ones, and notes on the damage."""

    documents: Sequence[Document]
    dropped: int = 0
    notes: tuple[str, ...] = ()


def is_json(read: TextFile) -> bool:
    """Return whether a text begins like a JSON object or list."""
    first = next((line for line in read.lines if line.strip()), "")
    return first.lstrip().startswith(("{", "["))


def documents_in(read: TextFile) -> JsonDocuments:
    """Return the objects of a JSON file: one, a list of them, or one after another (JSON lines).

    NaN and infinity, which Python writes in JSON, are read as null. Raises ProfileError if there is
    no object or there are too many values.
    """
    text = "\n".join(read.lines)
    if text.count(",") + text.count("[") + text.count("{") > MAX_VALUES:
        msg = f"the file has more than {MAX_VALUES} values: export it without single requests"
        raise ProfileError(msg)
    documents, dropped = _objects(text)
    if not documents:
        msg = "the file has no JSON object: give the JSON output of a benchmark"
        raise ProfileError(msg)
    return JsonDocuments(documents=documents, dropped=dropped, notes=read.notes)


def document_of(value: object) -> Document:
    """Return the value if it is an object, else an empty object."""
    return cast("Document", value) if isinstance(value, dict) else {}


def values_of(value: object) -> Sequence[object]:
    """Return the value if it is a list, else an empty list."""
    return cast("list[object]", value) if isinstance(value, list) else []


def figure_of(value: object) -> float | None:
    """Return the value if it is a finite number, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        figure = float(value)
    except OverflowError:
        return None
    return figure if math.isfinite(figure) else None


def _objects(text: str) -> tuple[list[Document], int]:
    decoder = json.JSONDecoder(parse_constant=_null)
    documents: list[Document] = []
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
        documents += [cast("Document", one) for one in many if isinstance(one, dict)]
        position = _next_start(text, position)
    return documents, dropped


def _null(_: str) -> None:
    return None


def _line_after(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _next_start(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position
