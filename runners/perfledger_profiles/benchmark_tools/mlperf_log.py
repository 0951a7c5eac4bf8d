"""Parses the events that MLPerf's logging libraries print."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger_profiles.parsing.json_documents import Document, document_of, figure_of
from perfledger_profiles.parsing.text_file import MAX_LINE_CHARACTERS
from perfledger_profiles.parsing.units import MILLI

# https://github.com/mlcommons/logging, and loadgen's logging.cc. Launchers may prefix a rank.
MARK = ":::MLLOG"


@dataclass(frozen=True, slots=True, kw_only=True)
class MlperfEvent:
    """One logged event: its key, value and time."""

    key: str
    value: object
    seconds: float
    metadata: Document


def events_of(lines: Sequence[str]) -> Iterator[MlperfEvent | None]:
    """Yield the events of a log, with None for a torn event line."""
    for line in lines:
        _, mark, text = line.partition(MARK)
        if mark:
            yield _event(text) if len(text) <= MAX_LINE_CHARACTERS else None


def _event(text: str) -> MlperfEvent | None:
    start = text.find("{")
    try:
        # Launchers may print more after the object, which is ignored.
        decoded = json.JSONDecoder().raw_decode(text, start)[0] if start >= 0 else None
    except (ValueError, RecursionError):
        return None
    cells = document_of(decoded)
    key, milliseconds = cells.get("key"), figure_of(cells.get("time_ms"))
    if not isinstance(key, str) or milliseconds is None:
        return None
    return MlperfEvent(
        key=key,
        value=cells.get("value"),
        seconds=milliseconds * MILLI,
        metadata=document_of(cells.get("metadata")),
    )
