"""Checks what any value of a bundle may be, wherever it stands."""

import math
from collections.abc import Iterator
from typing import NamedTuple, cast

# Ids, names, units, refs and versions, which are cells of tables.
MAX_WORD = 300
MAX_DETAIL = 4000
MAX_LOG = 20_000
MAX_INTEGER = 2**63 - 1
# Names of fields, mappings and lists whose texts may be longer than a word.
LONG_TEXTS = {
    "detail": MAX_DETAIL,
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
}

# A value's place is its parent's place and its own name: the paths of deep values, all written out,
# would take the square of the document's size.
_Place = tuple["_Place", str] | None


class BundleError(Exception):
    """An invalid bundle; the message names the field."""


class _Value(NamedTuple):
    place: _Place
    longest: int  # a text at this place
    value: object


def require(is_fine: object, complaint: str) -> None:
    """Raise BundleError with the complaint unless all is well."""
    if not is_fine:
        raise BundleError(complaint)


def check_values(document: object) -> None:
    """Reject numbers and texts that a database, JSON writer or page may not accept.

    Numbers are finite and below 2**63; texts are Unicode without NUL and lone surrogates, within
    their field's length. Raises BundleError.
    """
    pending = [iter([_Value(None, MAX_WORD, document)])]
    while pending:
        value = next(pending[-1], None)
        if value is None:
            pending.pop()
        elif isinstance(value.value, dict | list):
            pending.append(_values_in(value))
        else:
            _check_value(value)


def _values_in(outer: _Value) -> Iterator[_Value]:
    """Yield the values of an object, whose keys are checked, or of a list."""
    place, longest = outer.place, outer.longest
    content = outer.value
    match content:
        case dict():
            for key, item in cast("dict[str, object]", content).items():
                _check_text(place, MAX_WORD, key)
                yield _Value((place, f".{key}"), LONG_TEXTS.get(key, longest), item)
        case list():
            items = cast("list[object]", content)
            if not _is_plain_list(items, longest):
                for index, item in enumerate(items):
                    yield _Value((place, f"[{index}]"), longest, item)
        case _:
            pass  # no other value has values


def _check_value(value: _Value) -> None:
    match value.value:
        case str() as text:
            _check_text(value.place, value.longest, text)
        case int() | float() as number:
            is_fine = math.isfinite(number) if isinstance(number, float) else _is_small(number)
            if not is_fine:
                raise _error_at(value.place, "a number that cannot be stored")
        case _:
            pass  # null: the decoder decides whether it is allowed


def _check_text(place: _Place, longest: int, text: str) -> None:
    if len(text) > longest:
        raise _error_at(place, f"a text of more than {longest} characters")
    if "\x00" in text:
        raise _error_at(place, "a text with a NUL character")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise _error_at(place, "a text with half a surrogate pair")


def _error_at(place: _Place, complaint: str) -> BundleError:
    """Return an error with the path to a place, of which a deep one is cut."""
    names: list[str] = []
    while place is not None:
        place, name = place
        names.append(name)
    path = "".join(reversed(names)).removeprefix(".")
    return BundleError(f"{path[:MAX_WORD]}: {complaint}")


def _is_plain_list(items: list[object], longest: int) -> bool:
    """Return whether these are all valid values of one type, as nearly all of a bundle's lists are.

    False decides nothing: such a list is checked value by value.
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


def _is_small(value: int) -> bool:
    return -MAX_INTEGER <= value <= MAX_INTEGER
