"""Reads the fields of an untrusted JSON object; errors name the path."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Never, cast

from perfledger_profiles.benchmark_histories.results import HistoryFileError

# A benchmark's name with all its parameters has about a hundred characters.
MAX_TEXT = 2000
_MAX_SHOWN = 40  # characters of an untrusted text that an error quotes
# Seconds since 1970: the year 5138. Today's times in milliseconds are larger.
MAX_TIME = 1e11

ADVICE = "Export the file again, or remove this entry."


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object in a file; `path` is its location, for errors."""

    fields: Mapping[str, object]
    path: str

    def text(self, key: str) -> str:
        """Return a string; reject an empty one and any other value."""
        value = self.optional_text(key)
        if not value:
            self.reject(key, "is missing, but must be a string")
        return value

    def optional_text(self, key: str) -> str:
        """Return a string, or "" if it is missing or null."""
        value = self.fields.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            self.reject(key, f"is not a string but {_kind(value)}")
        if len(value) > MAX_TEXT:
            self.reject(key, f"has {len(value):,} characters, limit {MAX_TEXT:,}")
        return value

    def number(self, key: str) -> float:
        """Return a number, or NaN for null; reject a missing field, a string and infinity."""
        if key not in self.fields:
            self.reject(key, "is missing, but must be a number")
        return self.optional_number(key)

    def optional_number(self, key: str) -> float:
        """Return a number, or NaN if it is missing or null; reject a string and infinity."""
        return self._number(key, self.fields.get(key))

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return a list of numbers with NaN for null; empty if it is missing or null."""
        value = self.fields.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            self.reject(key, f"is not a list of numbers but {_kind(value)}")
        items = cast("list[object]", value)
        return tuple(self._number(f"{key}[{index}]", item) for index, item in enumerate(items))

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return true or false, or the default if it is missing or null."""
        value = self.fields.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.reject(key, f"is neither true nor false but {_kind(value)}")
        return value

    def child(self, key: str) -> "JsonObject":
        """Return an object, empty if it is missing or null."""
        value = self.fields.get(key)
        if value is None:
            value = {}
        if not isinstance(value, dict):
            self.reject(key, f"is not an object but {_kind(value)}")
        return JsonObject(cast("Mapping[str, object]", value), f"{self.path}, {quote_name(key)}")

    def children(self, key: str) -> Iterator["JsonObject"]:
        """Yield the objects of a list; none if it is missing or null."""
        value = self.fields.get(key)
        if value is None:
            return
        if not isinstance(value, list):
            self.reject(key, f"is not a list but {_kind(value)}")
        for index, item in enumerate(cast("list[object]", value)):
            if not isinstance(item, dict):
                self.reject(f"{key}[{index}]", f"is not an object but {_kind(item)}")
            fields = cast("Mapping[str, object]", item)
            yield JsonObject(fields, f"{self.path}, {quote_name(key)}[{index}]")

    def time(self, key: str) -> float:
        """Return an ISO 8601 time as seconds since the epoch, or NaN if it is missing or null.

        A time without a zone is taken as UTC.
        """
        text = self.optional_text(key)
        if not text:
            return math.nan
        try:
            moment = datetime.fromisoformat(text)
            return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
        except (ValueError, OverflowError):
            self.reject(key, "is not a time such as 2026-11-23T17:30:00Z")

    def milliseconds(self, key: str) -> float:
        """Return milliseconds since the epoch as seconds, or NaN if missing or null."""
        seconds = self.optional_number(key) / 1000
        if abs(seconds) > MAX_TIME:
            self.reject(key, "is not a time in milliseconds since 1970")
        return seconds

    def reject(self, key: str, reason: str, advice: str = ADVICE) -> Never:
        """Raise HistoryFileError for a field."""
        msg = f"{self.path}: {quote_name(key)} {reason}. {advice}"
        raise HistoryFileError(msg)

    def _number(self, key: str, value: object) -> float:
        if value is None:
            return math.nan
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.reject(key, f"is not a number but {_kind(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isinf(number):
            self.reject(key, "is infinite, or too large for a number")
        return number


def quote_name(name: str) -> str:
    """Return an untrusted name for an error: short, quoted, without control characters."""
    return "'" + "".join(filter(str.isprintable, name[:_MAX_SHOWN])) + "'"


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return f"the string {quote_name(value)}"
        case list():
            return "a list"
        case _:
            return "an object"
