"""Turn a sound file into a damaged or hostile one, the same for the same random numbers."""

import gzip
import re
from collections.abc import Callable, Sequence
from random import Random

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
NUMBERS = (
    *(b"1e999", b"-1e999", b"NaN", b"-1", b"0", b"-0", b"1e-320", b"Infinity", b"null", b"true"),
    *(b"9" * 25, b"9" * 400, b"-" + b"9" * 30, b"9223372036854775807", b"2147483632", b"1.5"),
    *(b"", b"n/a", b"1,234,567", b"1.234.567,8", b'"', b"1_000", b"0x7f"),
)
NESTS = (b"[", b'{"a":', b'[{"traceEvents":', b'"a",' * 2, b"(")
DEPTHS = (10, 1_000, 50_000)
JUNK = (
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n", b",", b'"', b"{", b"}", b"%s", b":"),
    *("\u202e".encode(), "\u2028".encode(), b"\xed\xa0\x80", b"\\ud800", b"\x1b[2J", b"/home/x/y"),
)

Mutation = Callable[[bytes, Sequence[bytes], Random], bytes]


def mutated(seed: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    """Return the seed after one to three mutations, packed at times."""
    data = seed
    for _ in range(rng.randint(1, 3)):
        data = rng.choice(MUTATIONS)(data, others, rng)
    if rng.random() < 0.1:
        packed = gzip.compress(data, compresslevel=1, mtime=0)
        data = packed[: rng.randint(0, len(packed))] if rng.random() < 0.5 else packed
    return data


def flip(data: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    changed = bytearray(data)
    for _flip in range(rng.randint(1, 8) if changed else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncate(data: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    return data[: rng.randint(0, len(data))]


def behead(data: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    return data[rng.randint(0, len(data)) :]


def duplicate(data: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    start, end = cut(data, rng)
    return data[:end] + data[start:end] * rng.choice((1, 2, 20)) + data[end:]


def delete(data: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    start, end = cut(data, rng)
    return data[:start] + data[end:]


def splice(data: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    other = rng.choice(others)
    start, end = cut(other, rng)
    at = rng.randint(0, len(data))
    return data[:at] + other[start:end] + data[at:]


def replace_numbers(data: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    matches = list(NUMBER.finditer(data))
    for match in sorted(rng.sample(matches, min(len(matches), rng.randint(1, 4))), key=begin)[::-1]:
        data = data[: match.start()] + rng.choice(NUMBERS) + data[match.end() :]
    return data


def begin(match: re.Match[bytes]) -> int:
    return match.start()


def nest(data: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(NESTS) * rng.choice(DEPTHS) + data[at:]


def unquote(data: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    quotes = [match.start() for match in re.finditer(rb'"', data)]
    if not quotes:
        return data + b'"'
    place = rng.choice(quotes)
    return data[:place] + data[place + 1 :]


def insert(data: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(JUNK) * rng.choice((1, 1, 3, 2_000)) + data[at:]


def stretch(data: bytes, _: Sequence[bytes], rng: Random) -> bytes:
    """Repeat a few bytes until what takes the square of their number takes a second."""
    at = rng.randint(0, len(data))
    piece = rng.choice((b" ", b"\t", data[at : at + rng.randint(1, 12)]))
    return data[:at] + piece * rng.choice((3_000, 20_000)) + data[at:]


def cut(data: bytes, rng: Random) -> tuple[int, int]:
    start = rng.randint(0, len(data))
    return start, min(len(data), start + rng.randint(0, 400))


MUTATIONS: tuple[Mutation, ...] = (
    *(flip, truncate, behead, duplicate, delete, splice),
    *(replace_numbers, replace_numbers, nest, unquote, insert, stretch),
)
