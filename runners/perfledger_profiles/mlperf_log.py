"""Turn the lines that MLPerf's logging libraries print into events."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger_profiles.documents import Document, document_of, figure_of
from perfledger_profiles.text_file import MAX_LINE_CHARACTERS

# https://github.com/mlcommons/logging, and loadgen's logging.cc. Launchers put a rank before it.
MARK = ":::MLLOG"
_MILLI = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line: what is stated or begins or ends, and when."""

    key: str
    value: object
    seconds: float
    metadata: Document


def events_of(lines: Sequence[str]) -> Iterator[Event | None]:
    """Yield the events of a log, and None for a line with the mark that is torn."""
    for line in lines:
        _, mark, text = line.partition(MARK)
        if mark:
            yield _event(text) if len(text) <= MAX_LINE_CHARACTERS else None


def _event(text: str) -> Event | None:
    start = text.find("{")
    try:
        # What a launcher prints after an object on its line is not looked at.
        decoded, _ = json.JSONDecoder().raw_decode(text, start) if start >= 0 else (None, 0)
    except (ValueError, RecursionError):
        return None
    cells = document_of(decoded)
    key, milliseconds = cells.get("key"), figure_of(cells.get("time_ms"))
    if not isinstance(key, str) or milliseconds is None:
        return None
    return Event(
        key=key,
        value=cells.get("value"),
        seconds=milliseconds * _MILLI,
        metadata=document_of(cells.get("metadata")),
    )
