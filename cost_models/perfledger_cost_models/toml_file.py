"""The text of a TOML file and the values that it may hold, into those values."""

import tomllib
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

Document = TypeVar("Document")


def read_toml(
    text: str, kind: type[Document], *, name: str, most: int, error: type[Exception]
) -> Document:
    """Return the values of a file; `name` is what it is called and `most` its characters.

    Numbers with a point are decimals. Raises `error`, which names the place.
    """
    if len(text) > most:
        msg = f"{name} of {len(text)} characters is too long: keep it below {most}"
        raise error(msg)
    try:
        document: dict[str, Any] = tomllib.loads(text, parse_float=Decimal)
        return msgspec.convert(document, kind, strict=True)
    except ArithmeticError as problem:  # nan, of which nothing can be compared
        msg = f"{name}: a number in it is none, or far too large: correct it there"
        raise error(msg) from problem
    # ValueError: no TOML, or an integer of more digits than Python reads.
    except (ValueError, msgspec.ValidationError, RecursionError) as problem:
        msg = f"{name}: {problem}: correct it there"
        raise error(msg) from problem
