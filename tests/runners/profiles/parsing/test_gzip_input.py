import gzip
import random
import threading
from io import BytesIO

import pytest

from perfledger_profiles.parsing.gzip_input import gunzip, gunzip_ahead


@pytest.fixture
def packed():
    noise = random.Random(1).randbytes(100_000)
    return b"".join(gzip.compress(part, mtime=0) for part in (b"", noise[:50_000], noise))


@pytest.mark.parametrize("end", [None, 60_000, 5, 0])
def test_pieces_are_the_same_when_they_are_unpacked_ahead(packed, end):
    assert list(gunzip_ahead(BytesIO(packed[:end]))) == list(gunzip(BytesIO(packed[:end])))


def test_damage_is_told_in_its_place(packed):
    damaged = bytearray(packed)
    damaged[70_000] ^= 0xFF

    pieces = list(gunzip_ahead(BytesIO(damaged)))

    assert pieces == list(gunzip(BytesIO(damaged)))
    assert pieces[-1] is None


def test_what_goes_wrong_with_the_file_is_raised_where_it_is_read(packed):
    file = BytesIO(packed)
    file.close()

    with pytest.raises(ValueError, match="closed file"):
        list(gunzip_ahead(file))


def test_no_thread_is_left_when_only_the_first_piece_is_taken(packed):
    before = threading.active_count()
    pieces = gunzip_ahead(BytesIO(packed))
    next(pieces)

    del pieces

    assert threading.active_count() == before
