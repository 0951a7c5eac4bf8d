"""Writes XLA's programs byte by byte, as jax.profiler records them."""

from itertools import zip_longest
from pathlib import Path

from tests.runners.profiles.xla.wire_bytes import length_delimited, number, varint

ROOT = Path("/repository")
# Of a program's frames, whose numbers count from 1.
MODEL, LIBRARY, CALLER = 1, 2, 3


def shape(*sizes, kind=11):
    """Write an array's shape; 11 is float32."""
    return number(2, kind) + length_delimited(3, b"".join(map(varint, sizes)))


def instruction(
    name, *, frame=0, opcode="dot", operation="jit(f)/dot_general", called=(), key=0, result=b""
):
    metadata = length_delimited(7, length_delimited(2, operation) + number(15, frame))
    calls = length_delimited(38, b"".join(map(varint, called)))
    return (
        length_delimited(1, name)
        + length_delimited(2, opcode)
        + length_delimited(3, result)
        + metadata
        + number(35, key)
        + calls
    )


def computation(key, *instructions):
    return length_delimited(
        3, number(5, key) + b"".join(length_delimited(2, one) for one in instructions)
    )


def frames():
    """Write three stack frames: a line of the model, one of a library, one that calls it."""
    files = ("/repository/model.py", "/site-packages/library.py")
    locations = ((1, 12), (2, 99), (1, 34))
    stacks = ((1, 0), (2, 3), (3, 0))  # each a location, and the frame that called it
    return length_delimited(
        17,
        b"".join(length_delimited(1, file) for file in files)
        + b"".join(
            length_delimited(3, number(1, file) + number(3, line)) for file, line in locations
        )
        + b"".join(length_delimited(4, number(1, at) + number(2, parent)) for at, parent in stacks),
    )


def program(*computations, name="jit_f"):
    return length_delimited(1, name) + b"".join(computations) + frames()


def space(*programs, buffers=()):
    """Write an xplane of programs, the first ones with their buffers."""
    entries = [
        length_delimited(
            4,
            number(1, key)
            + length_delimited(
                2,
                length_delimited(2, "jit_f(1)")
                + length_delimited(
                    5,
                    length_delimited(6, length_delimited(1, one) + length_delimited(3, assignment)),
                ),
            ),
        )
        for key, (one, assignment) in enumerate(zip_longest(programs, buffers, fillvalue=b""))
    ]
    return length_delimited(1, length_delimited(2, "/host:CPU")) + length_delimited(
        1, length_delimited(2, "/host:metadata") + b"".join(entries)
    )
