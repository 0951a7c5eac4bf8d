"""Fields of messages that are written byte by byte here."""

import pytest
from hypothesis import given, strategies as st

from perfledger_profiles.xla.protocol_buffer import (
    fields,
    integer,
    message,
    read_varint,
    read_varints,
    text,
)


def test_fields_of_every_wire_type_have_their_numbers():
    data = b"\x08\x96\x01" + b"\x11" + bytes(8) + b"\x1a\x02hi" + b"\x25" + bytes(4)

    found_fields = [
        (number, value if isinstance(value, int) else bytes(value))
        for number, value in fields(memoryview(data))
    ]

    assert found_fields == [(1, 150), (2, bytes(8)), (3, b"hi"), (4, bytes(4))]


@given(st.integers(0, 2**63 - 1))
def test_a_number_of_any_length_is_read(value):
    out, left = bytearray(), value
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)

    assert read_varint(memoryview(bytes(out)), 0) == (value, len(out))


def test_repeated_numbers_are_packed_or_single():
    assert list(read_varints(memoryview(b"\x01\x96\x01\x02"))) == [1, 150, 2]
    assert list(read_varints(7)) == [7]


@pytest.mark.parametrize("data", [b"\x0b", b"\x1a\x05hi", b"\x11\x00", b"\xff" * 11])
def test_bytes_that_are_no_message_are_a_value_error(data):
    with pytest.raises((ValueError, IndexError)):
        list(fields(memoryview(data)))


def test_a_value_of_another_kind_is_a_value_error():
    with pytest.raises(ValueError, match="found a number"):
        message(3)
    with pytest.raises(ValueError, match="found a message"):
        integer(memoryview(b""))
    assert text(memoryview(b"a\xff")) == "a\N{REPLACEMENT CHARACTER}"
