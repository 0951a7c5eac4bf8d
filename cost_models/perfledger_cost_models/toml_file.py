"""Reads TOML files into typed values."""

import tomllib
from decimal import Decimal
from typing import Annotated, Any, TypeVar

import msgspec

# Of a name or a note in a file that people write.
MAX_TEXT = 500

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT)]
Document = TypeVar("Document")


def read_toml(
    text: str,
    decoder: msgspec.json.Decoder[Document],
    *,
    name: str,
    max_characters: int,
    error: type[Exception],
) -> Document:
    """Parse a TOML text of at most `max_characters`; messages call it `name`.

    The decoder gives the type of the result: it is created at import, because msgspec crashes where
    several threads are the first to decode a type. Numbers with a point become Decimal. Raises
    `error`, whose message names the place.
    """
    if len(text) > max_characters:
        msg = f"{name} has {len(text)} characters: keep it below {max_characters}"
        raise error(msg)
    try:
        document: dict[str, Any] = tomllib.loads(text, parse_float=Decimal)
        return msgspec.convert(document, decoder.type, strict=True)
    except ArithmeticError as problem:  # NaN, which compares with nothing
        msg = f"{name} contains a number that is NaN or far too large: correct it"
        raise error(msg) from problem
    # ValueError: not TOML, or an integer of more digits than Python reads.
    except (ValueError, msgspec.ValidationError, RecursionError) as problem:
        msg = f"{name}: {problem}. Correct it there."
        raise error(msg) from problem
