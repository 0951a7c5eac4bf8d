"""Writes XLA's programs byte by byte, as jax.profiler records them."""

from itertools import zip_longest
from pathlib import Path

from tests.runners.profiles.xla.wire_bytes import number, sized, varint

ROOT = Path("/repository")
# Of a program's frames, whose numbers count from 1.
MODEL, LIBRARY, CALLER = 1, 2, 3


def shape(*sizes, kind=11):
    """Write an array's shape; 11 is float32."""
    return number(2, kind) + sized(3, b"".join(map(varint, sizes)))


def instruction(
    name, *, frame=0, opcode="dot", operation="jit(f)/dot_general", called=(), key=0, result=b""
):
    metadata = sized(7, sized(2, operation) + number(15, frame))
    calls = sized(38, b"".join(map(varint, called)))
    return sized(1, name) + sized(2, opcode) + sized(3, result) + metadata + number(35, key) + calls


def computation(key, *instructions):
    return sized(3, number(5, key) + b"".join(sized(2, one) for one in instructions))


def frames():
    """Write three stack frames: a line of the model, one of a library, one that calls it."""
    files = ("/repository/model.py", "/site-packages/library.py")
    locations = ((1, 12), (2, 99), (1, 34))
    stacks = ((1, 0), (2, 3), (3, 0))  # each a location, and the frame that called it
    return sized(
        17,
        b"".join(sized(1, file) for file in files)
        + b"".join(sized(3, number(1, file) + number(3, line)) for file, line in locations)
        + b"".join(sized(4, number(1, at) + number(2, parent)) for at, parent in stacks),
    )


def program(*computations, name="jit_f"):
    return sized(1, name) + b"".join(computations) + frames()


def space(*programs, buffers=()):
    """Write an xplane of programs, the first ones with their buffers."""
    entries = [
        sized(
            4,
            number(1, key)
            + sized(
                2, sized(2, "jit_f(1)") + sized(5, sized(6, sized(1, one) + sized(3, assignment)))
            ),
        )
        for key, (one, assignment) in enumerate(zip_longest(programs, buffers, fillvalue=b""))
    ]
    return sized(1, sized(2, "/host:CPU")) + sized(
        1, sized(2, "/host:metadata") + b"".join(entries)
    )
