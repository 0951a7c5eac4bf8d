"""Parses the text of a history file: JSON, JSON lines, a script with JSON, or plain text."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from perfledger_profiles.benchmark_histories.json_object import JsonObject
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from perfledger_profiles.parsing.text_file import decoded_text
from perfledger_profiles.parsing.unique_keys import object_of_unique_keys

# About 1,000 runs of 300 benchmarks in the data.js of github-action-benchmark.
MAX_HISTORY_BYTES = 64 * 2**20
# Each value in a list or an object takes up to a hundred bytes of memory.
MAX_HISTORY_VALUES = 4_000_000

# How the script that holds github-action-benchmark's history begins.
SCRIPT = re.compile(r"\s*window\.BENCHMARK_DATA\s*=\s*")
# Lines that tools print to logs; they may begin with a bracket, as JSON does.
LOG_MARKS = (":::MLLOG", "PERFHERDER_DATA:")
_SPACE = re.compile(r"[\s,;]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryText:
    """A file: its name for errors, its text, and its JSON values (none if it is plain text)."""

    source: str
    text: str
    documents: tuple[object, ...] = ()
    is_script: bool = False

    def objects(self) -> Iterator[JsonObject]:
        """Yield the file's objects, including those in lists."""
        for document in self.documents:
            items = cast("list[object]", document) if isinstance(document, list) else [document]
            for index, item in enumerate(items):
                path = f"{self.source}, item {index + 1}" if len(items) > 1 else self.source
                if not isinstance(item, dict):
                    msg = f"{path} is not an object: give the file as the tool writes it"
                    raise HistoryFileError(msg)
                yield JsonObject(cast("Mapping[str, object]", item), path)

    def first_object(self) -> Mapping[str, object]:
        """Return the file's first object, or an empty one."""
        for document in self.documents:
            item = document
            if isinstance(document, list):
                items = cast("list[object]", document)
                item = items[0] if items else None
            return cast("Mapping[str, object]", item) if isinstance(item, dict) else {}
        return {}


def parse_history(data: bytes, source: str) -> HistoryText:
    """Return a file's content; raise HistoryFileError if it is too large or damaged."""
    if len(data) > MAX_HISTORY_BYTES:
        limit = f"{MAX_HISTORY_BYTES // 2**20} MiB"
        msg = f"{source} has more than {limit}: export a shorter time, or fewer benchmarks"
        raise HistoryFileError(msg)
    text = decoded_text(data, source, error=HistoryFileError)
    if any(mark in text for mark in LOG_MARKS):
        return HistoryText(source=source, text=text)
    script = SCRIPT.match(text)
    start = script.end() if script else 0
    if not text[start : start + 1000].lstrip().startswith(("{", "[")):
        return HistoryText(source=source, text=text)
    documents = tuple(_documents(text, start, source))
    return HistoryText(source=source, text=text, documents=documents, is_script=script is not None)


def _documents(text: str, start: int, source: str) -> Iterator[object]:
    """Yield the JSON values of a text in order."""
    if text.count(",") + text.count("[") + text.count("{") > MAX_HISTORY_VALUES:
        msg = (
            f"{source} has more than {MAX_HISTORY_VALUES:,} values: export a shorter time, or "
            "fewer benchmarks"
        )
        raise HistoryFileError(msg)
    decoder = json.JSONDecoder(object_pairs_hook=object_of_unique_keys, parse_constant=_constant)
    position = _skip(text, start)
    while position < len(text):
        try:
            document, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            msg = f"{source} is not complete JSON: {reason}. Export or download it again."
            raise HistoryFileError(msg) from error
        yield document
        position = _skip(text, position)


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _constant(constant: str) -> float:
    """Return NaN, which Python writes for a gap; infinity is rejected where it is used."""
    return math.nan if constant == "NaN" else math.inf
