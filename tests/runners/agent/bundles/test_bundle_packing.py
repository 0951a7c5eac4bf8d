"""Bytes from anyone are counted while they are unpacked and before they are read."""

import gzip

import pytest

from perfledger_runners.bundles.files import check_document, unpack
from perfledger_runners.bundles.value_checks import BundleError


def test_what_is_not_packed_is_left_alone():
    assert unpack(b"{}") == b"{}"


def test_more_values_than_a_bundle_has_are_refused_before_they_are_read():
    with pytest.raises(BundleError, match="more than 4000000 values"):
        check_document(b"[" * 4_000_001)


def test_more_bytes_than_a_bundle_has_are_refused():
    with pytest.raises(BundleError, match="the maximum is 67108864"):
        unpack(bytes(64 * 2**20 + 1))


@pytest.mark.slow(ci_only=True)
def test_a_bomb_is_refused_while_it_unpacks():
    with pytest.raises(BundleError, match="unpacks to more than"):
        unpack(gzip.compress(bytes(64 * 2**20)))


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda data: data[:-5], "truncated"),
        (lambda data: data[:20], "truncated"),
        (lambda data: data + b"more", "trailing data"),
        (lambda data: data + data, "trailing data"),
        (lambda data: data[:12] + b"\xff" * 8 + data[20:], "damaged"),
    ],
)
def test_damaged_gzip_is_refused(damage, complaint):
    packed = gzip.compress(bytes(range(256)) * 9, mtime=0)

    with pytest.raises(BundleError, match=complaint):
        unpack(damage(packed))
