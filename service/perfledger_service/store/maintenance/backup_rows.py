"""Converts rows to lines of JSON and back, in the same way for every database."""

import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

import msgspec
from sqlalchemy import types
from sqlalchemy.types import TypeEngine

from perfledger_service.errors import PerfledgerError, UsageError
from perfledger_service.values.backups.manifest import ColumnKind

_KINDS: tuple[tuple[type, ColumnKind], ...] = (
    (types.Boolean, ColumnKind.BOOLEAN),
    (types.Integer, ColumnKind.INTEGER),
    (types.Float, ColumnKind.FLOAT),
    (types.DateTime, ColumnKind.TIME),
    (types.Date, ColumnKind.DATE),
    (types.LargeBinary, ColumnKind.BYTES),
    (types.String, ColumnKind.TEXT),
)
_ENCODER = msgspec.json.Encoder()
_ROW = msgspec.json.Decoder(list[str | int | float | bool | None])


def kind_of(column_type: TypeEngine[Any]) -> ColumnKind:
    """Return the kind of a column's values."""
    for sql_type, kind in _KINDS:
        if isinstance(column_type, sql_type):
            return kind
    msg = f"a backup holds no column of type {column_type}: this is a bug of perfledger"
    raise PerfledgerError(msg)


def to_line(values: Iterable[object]) -> bytes:
    """Return a row's values as a line of JSON."""
    return _ENCODER.encode([_json_value(value) for value in values]) + b"\n"


def from_line(line: bytes, kinds: Sequence[ColumnKind]) -> tuple[object, ...]:
    """Return the values of a line; raise UsageError if they are not of these kinds."""
    try:
        values = _ROW.decode(line)
        return tuple(_column_value(value, kind) for value, kind in zip(values, kinds, strict=True))
    except (ValueError, TypeError, RecursionError):  # msgspec's errors are ValueErrors
        msg = f"a row is not one of {len(kinds)} values of the columns' kinds: make a new backup"
        raise UsageError(msg) from None


def _json_value(value: object) -> object:
    """Return a value as JSON; a float that JSON lacks becomes its name."""
    match value:
        case float() if not math.isfinite(value):
            return repr(value)
        case bytes():
            return b64encode(value).decode()
        case datetime():
            aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
            return aware.isoformat()
        case date():
            return value.isoformat()
        case _:
            return value


def _column_value(value: object, kind: ColumnKind) -> object:
    """Return the value of a column; raise ValueError or TypeError for one of another kind."""
    if value is None:
        return None
    plain_types, convert = _FROM_PLAIN[kind]
    if type(value) not in plain_types:
        msg = f"not a value of kind {kind}"
        raise TypeError(msg)
    return convert(value)


def _moment(written: str) -> datetime:
    return datetime.fromisoformat(written).astimezone(UTC)


def _same(value: object) -> object:
    return value


# The JSON type of each kind, and the conversion from it. A float may be given by name.
_FROM_PLAIN: dict[ColumnKind, tuple[tuple[type, ...], Callable[[Any], object]]] = {
    ColumnKind.BOOLEAN: ((bool,), _same),
    ColumnKind.INTEGER: ((int,), _same),
    ColumnKind.FLOAT: ((int, float, str), float),
    ColumnKind.TEXT: ((str,), _same),
    ColumnKind.BYTES: ((str,), partial(b64decode, validate=True)),
    ColumnKind.TIME: ((str,), _moment),
    ColumnKind.DATE: ((str,), date.fromisoformat),
}
