"""Classifies copies and the calls that start them by name."""

import re
from functools import lru_cache

from perfledger.profile import Bucket

# Names by torch.profiler, nsys, ROCm, XPU and XLA: "Memcpy DtoD (Device -> Device)", "MemcpyD2D",
# "[CUDA memcpy Device-to-Device]", "CopyDeviceToDevice". An array (A) is in the device's memory.
_BETWEEN_DEVICES = re.compile(r"(?i)PtoP|P2P|Peer")
_WITHIN_DEVICE = re.compile(r"(?i)[DA]to[DA](?![a-z])|D2D|Device(?:-?to-?| -> )Device")
_TO_HOST = re.compile(r"(?i)D2H|[DA]toH|Device(?:-?to-?| -> )(?:Host|Page|Pinned)")

# Calls that return when the data has arrived: cudaMemcpy, cuMemcpyDtoH_v2, hipMemcpyWithStream.
_BLOCKING_CALL = re.compile(r"(?:cuda|cu|hip)Memcpy(?!\w*(?:Async|Batch|Peer))\w*")
_COPY_CALL = re.compile(r"(?:cuda|cu|hip)Memcpy\w*")
# Pages of CUDA's unified memory that move because the host or a device touches them, or prefetches.
UNIFIED_MEMORY = "(unified memory)"
_PAGEABLE = re.compile(r"(?i)pageable")

# A trace has a few dozen names of copies and of the calls that start them.
MAX_CACHED_NAMES = 1000


@lru_cache(maxsize=MAX_CACHED_NAMES)
def copy_bucket(name: str) -> Bucket:
    """Return the bucket of a copy; without a direction in its name, host to device is assumed.

    A copy within a device is work of its memory; a copy between two devices is communication.
    """
    if _BETWEEN_DEVICES.search(name):
        return Bucket.PEER_COPY
    return Bucket.DEVICE_COPY if _WITHIN_DEVICE.search(name) else Bucket.COPY


def is_copy_call(name: str) -> bool:
    """Return whether a runtime call starts a copy."""
    return _COPY_CALL.fullmatch(name) is not None


def is_blocking_copy_call(name: str) -> bool:
    """Return whether a runtime call waits for the copy that it starts."""
    return _BLOCKING_CALL.fullmatch(name) is not None


def is_copy_to_host(name: str) -> bool:
    """Return whether a copy is from a device to the host's memory, as far as its name shows."""
    return _TO_HOST.search(name) is not None


def is_pageable_copy(name: str) -> bool:
    """Return whether a copy is from or to pageable memory, so that even cudaMemcpyAsync waits.

    CUDA stages such data through pinned memory (CUDA Runtime API, "API synchronization behavior").
    """
    return _PAGEABLE.search(name) is not None


def is_page_migration(name: str) -> bool:
    """Return whether pages of unified memory move, which no call of the program copies."""
    return name.endswith(UNIFIED_MEMORY)
