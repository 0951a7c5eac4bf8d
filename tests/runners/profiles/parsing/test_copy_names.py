import pytest

from perfledger.profile import Bucket
from perfledger_profiles.parsing.copy_names import copy_bucket, is_copy_to_host


@pytest.mark.parametrize(
    "name",
    [
        "Memcpy DtoD (Device -> Device)",
        "Memcpy DtoD",
        "[CUDA memcpy Device-to-Device]",
        "[CUDA memcpy DtoD]",
        "MemcpyD2D",
        "CopyDeviceToDevice",
        "Memcpy AtoD (Array -> Device)",
        "Memcpy AtoA (Array -> Array)",
    ],
)
def test_a_copy_within_a_device_is_a_device_copy(name):
    assert copy_bucket(name) is Bucket.DEVICE_COPY


@pytest.mark.parametrize(
    "name", ["Memcpy PtoP (Device -> Device)", "[CUDA memcpy Peer-to-Peer]", "MemcpyP2P"]
)
def test_a_copy_between_devices_is_a_peer_copy(name):
    assert copy_bucket(name) is Bucket.PEER_COPY


@pytest.mark.parametrize(
    "name",
    [
        "Memcpy HtoD (Pageable -> Device)",
        "Memcpy DtoH (Device -> Pinned)",
        "Memcpy HtoA (Pageable -> Array)",
        "[CUDA memcpy Host-to-Device]",
        "[CUDA memcpy Unified Host-to-Device]",
        "CopyHostToDevice",
        "MemcpyD2H",
        "Memcpy",
    ],
)
def test_a_copy_from_or_to_the_host_or_unknown_is_a_host_copy(name):
    assert copy_bucket(name) is Bucket.COPY


@pytest.mark.parametrize(
    ("name", "is_to_host"),
    [
        ("Memcpy DtoH (Device -> Pageable)", True),
        ("Memcpy AtoH (Array -> Pinned)", True),
        ("[CUDA memcpy Device-to-Host]", True),
        ("CopyDeviceToHost", True),
        ("MemcpyD2H", True),
        ("Memcpy HtoD (Pinned -> Device)", False),
        ("[CUDA memcpy Host-to-Device]", False),
        ("Memcpy DtoD (Device -> Device)", False),
        ("Memcpy", False),
    ],
)
def test_a_copy_to_the_host_is_known_by_its_name(name, is_to_host):
    assert is_copy_to_host(name) is is_to_host
