"""Checks the values of a bundle that are limited everywhere."""

import math
from collections.abc import Iterable
from typing import Any, cast

from perfledger_profiles.parsing.unique_keys import object_of_unique_keys
from perfledger_runners.safe_text import MAX_DETAIL

# Ids, names, units, refs and versions, which are cells of tables.
MAX_WORD = 300
MAX_LOG = 20_000  # letters: 16 KiB of output are kept, and our own lines
MAX_INTEGER = 2**63 - 1  # of a database's column
# Thirty years: no step is longer, and the sum of all kernels stays far below the largest stored
# value.
MAX_SECONDS = 1e9
# Names of fields, mappings and lists whose texts may be longer than a word.
LONG_TEXTS: dict[str | int, int] = {
    "code_differences": MAX_DETAIL,
    "detail": MAX_DETAIL,
    "expression": MAX_DETAIL,
    "kernels": MAX_DETAIL,
    "limits": MAX_DETAIL,
    "log_tail": MAX_LOG,
    "logs": MAX_LOG,
    "notes": MAX_DETAIL,
    "operations": MAX_DETAIL,
    "packages": MAX_DETAIL,
    "skipped": MAX_DETAIL,
    "source": MAX_DETAIL,
    "topology": MAX_DETAIL,
    "variant_remarks": MAX_DETAIL,
}

# A value's path is its parent's path and its own name in it: writing out the paths of deep values
# would take the square of the document's size.
_Path = tuple["_Path", str | int] | None
_Composite = dict[str, object] | list[object]
_COMPOSITES = (dict, list)


class BundleError(Exception):
    """An invalid bundle; the message names the field."""


def require(is_fine: object, complaint: str) -> None:
    """Raise BundleError with the complaint unless the condition holds."""
    if not is_fine:
        raise BundleError(complaint)


class CheckedObjects:
    """The objects of a JSON document, inner ones first, of which only doubtful ones are kept.

    In place of an object or list whose values are valid in every field, its parent gets None, so
    that a document of any size takes little memory. `check_values` decides on the rest.
    """

    def __init__(self) -> None:
        self.last_fields: dict[str, object] | None = None  # at the end those of the outermost
        self.last_result: dict[str, object] | None = None
        self._checked_keys: set[str] = set()

    def add(self, pairs: list[tuple[str, Any]]) -> dict[str, object] | None:
        """Check an object, as an `object_pairs_hook`; raise ValueError for a duplicate key."""
        fields: dict[str, object] = object_of_unique_keys(pairs)
        new_keys = fields.keys() - self._checked_keys
        is_plain = all(map(_is_plain, new_keys))
        if is_plain:
            self._checked_keys.update(new_keys)
        for name, value in pairs:
            if not value or _is_plain(value):
                continue
            if isinstance(value, list) and _is_checked_list(cast("list[object]", value)):
                fields[name] = None
            else:
                is_plain = False
        self.last_fields = fields
        self.last_result = None if is_plain else fields
        return self.last_result


def check_values(document: _Composite) -> None:
    """Reject numbers and texts that a database, JSON writer or page may not accept.

    Numbers are finite and below 2**63; texts are Unicode without NUL and lone surrogates, within
    their field's length. Raises BundleError.
    """
    checked_keys: set[str] = set()
    pending: list[tuple[_Path, int, _Composite]] = [(None, MAX_WORD, document)]
    while pending:
        path, longest, composite = pending.pop()
        if isinstance(composite, dict):
            for key in composite.keys() - checked_keys:
                _check_text(path, MAX_WORD, key)
            checked_keys.update(composite)
        elif _is_plain_list(composite, longest):
            continue
        for name, value in _items(composite):
            if not value or _is_plain(value):
                continue
            longest_here = LONG_TEXTS.get(name, longest)
            if isinstance(value, _COMPOSITES):
                pending.append(((path, name), longest_here, cast("_Composite", value)))
            else:
                _check_value((path, name), longest_here, value)


def _items(composite: _Composite) -> Iterable[tuple[str | int, object]]:
    return composite.items() if isinstance(composite, dict) else enumerate(composite)


def _is_plain(value: object) -> bool:
    """Return whether a value is valid everywhere, as nearly all are; False means undecided."""
    if isinstance(value, str):
        return len(value) <= MAX_WORD and value.isascii() and "\x00" not in value
    return isinstance(value, int | float) and -MAX_INTEGER <= value <= MAX_INTEGER


def _check_value(path: _Path, longest: int, value: object) -> None:
    match value:
        case str():
            _check_text(path, longest, value)
        case int() | float():
            is_fine = math.isfinite(value) if isinstance(value, float) else _is_small(value)
            if not is_fine:
                raise _error_at(path, "a number that cannot be stored")
        case _:
            pass  # the decoder decides what else is allowed


def _check_text(path: _Path, longest: int, text: str) -> None:
    if len(text) > longest:
        raise _error_at(path, f"a text of more than {longest} characters")
    if "\x00" in text:
        raise _error_at(path, "a text with a NUL character")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise _error_at(path, "a text with half a surrogate pair")


def _error_at(path: _Path, complaint: str) -> BundleError:
    """Return an error with the path to a value; a deep path is cut."""
    names: list[str] = []
    while path is not None:
        path, name = path
        names.append(f".{name}" if isinstance(name, str) else f"[{name}]")
    text = "".join(reversed(names)).removeprefix(".")
    return BundleError(f"{text[:MAX_WORD]}: {complaint}")


def _is_plain_list(items: list[object], longest: int) -> bool:
    """Return whether these are all valid values of one type, as in nearly all of a bundle's lists.

    False means undecided: such a list is checked value by value.
    """
    kinds = set(map(type, items))
    if kinds == {float}:
        return all(map(math.isfinite, cast("list[float]", items)))
    if kinds == {int}:
        numbers = cast("list[int]", items)
        return _is_small(min(numbers)) and _is_small(max(numbers))
    if kinds == {str}:
        texts = cast("list[str]", items)
        joined = "".join(texts)
        return max(map(len, texts)) <= longest and joined.isascii() and "\x00" not in joined
    return False


def _is_checked_list(items: list[object]) -> bool:
    """Return whether a list has only checked objects, or values that are valid in every field."""
    return not any(items) or _is_plain_list(items, MAX_WORD)


def _is_small(value: int) -> bool:
    return -MAX_INTEGER <= value <= MAX_INTEGER
