"""Decodes the fields of a protocol buffer's messages.

The encoding is described at protobuf.dev/programming-guides/encoding. Each function raises
ValueError or IndexError for bytes that are not a message.
"""

from collections.abc import Iterator

_VARINT, _I64, _SIZED, _I32 = 0, 1, 2, 5  # wire types
_WIRE_TYPE = 7  # bits of a field's key that hold the wire type
MAX_VARINT_BITS = 63

Field = int | memoryview


def fields(data: memoryview) -> Iterator[tuple[int, Field]]:
    """Yield the numbers and values of a message's fields."""
    at, end = 0, len(data)
    while at < end:
        key, at = read_varint(data, at)
        wire_type = key & _WIRE_TYPE
        value: Field
        if wire_type == _VARINT:
            value, at = read_varint(data, at)
        else:
            if wire_type == _SIZED:
                size, at = read_varint(data, at)
            elif wire_type == _I64:
                size = 8
            elif wire_type == _I32:
                size = 4
            else:
                msg = f"a field has wire type {wire_type}, which no xplane has"
                raise ValueError(msg)
            value, at = data[at : at + size], at + size
        if at > end:
            msg = "a field is longer than its message"
            raise ValueError(msg)
        yield key >> 3, value


def intact_prefix(data: bytes) -> bytes:
    """Return a message up to the end of its last complete part.

    If an xplane is cut off, this is every plane but the last.
    """
    view = memoryview(data)
    at = end_of_last_part = 0
    try:
        while at < len(view):
            key, at = read_varint(view, at)
            size, at = read_varint(view, at)
            at += size
            if key & _WIRE_TYPE != _SIZED or at > len(view):
                break
            end_of_last_part = at
    except (ValueError, IndexError):
        pass  # cut off in the middle of a number
    return data[:end_of_last_part]


def read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return the number at an offset, and the offset after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the bit that says whether another byte follows
            return value, at
        shift += 7
        if shift > MAX_VARINT_BITS:
            msg = "a number has more than 64 bits"
            raise ValueError(msg)


def read_varints(value: Field) -> Iterator[int]:
    """Yield the numbers of a repeated field, packed or single."""
    if isinstance(value, int):
        yield value
        return
    at = 0
    while at < len(value):
        number, at = read_varint(value, at)
        yield number


def message(value: Field) -> memoryview:
    """Return a field's message."""
    if isinstance(value, int):
        msg = "found a number where a message was expected"
        raise ValueError(msg)  # noqa: TRY004 - wrong bytes, not a wrong call
    return value


def integer(value: Field) -> int:
    """Return a field's number."""
    if isinstance(value, int):
        return value
    msg = "found a message where a number was expected"
    raise ValueError(msg)


def text(value: Field) -> str:
    """Return a field's text; bytes that are not UTF-8 are replaced."""
    return str(message(value), "utf-8", "replace")


def parts(data: memoryview, number: int) -> Iterator[memoryview]:
    """Yield the messages of a repeated field."""
    return (message(value) for each, value in fields(data) if each == number)


def last_text(data: memoryview, number: int) -> str:
    """Return the text of a field, or "" if it is missing."""
    value = _last(data, number)
    return "" if value is None else text(value)


def last_number(data: memoryview, number: int) -> int:
    """Return the number of a field, or 0 if it is missing."""
    value = _last(data, number)
    return 0 if value is None else integer(value)


def _last(data: memoryview, number: int) -> Field | None:
    """Return the value of a field; of several, the last counts."""
    value = None
    for each, content in fields(data):
        if each == number:
            value = content
    return value
