"""Labels HLO instructions and GPU activities."""

import re
from enum import StrEnum

from perfledger.profile import Bucket
from perfledger_profiles.parsing.copy_names import copy_bucket
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.timeline.breakdown import CallLabel

_INSTRUCTION = re.compile(r"%([^ =]+) = (.+?) ([a-z][a-z0-9-]*)\(")
_COLLECTIVE = re.compile(r"(?i)(all-|reduce-scatter|collective|ragged-all|send|recv|nccl|rccl)")
# XLA's own names, and ROCm's "CopyDeviceToDevice".
_COPY = re.compile(r"(?i)(copy|memcpy|outfeed)([-.]|d2|h2|p2|(device|host|peer)to|$)")
# A single instruction copies within a device; a copy from start to done may be from or to the host.
_LOCAL_COPY = re.compile(r"copy(\.\d+)?")
_ASYNCHRONOUS = ("-start", "-done")
_HOST_TRANSFER = "is_host_transfer=true"
_COPY_START = " copy-start("
# Memory layouts: {3,2,1,0:T(8,128)S(5)}. S(n) is the memory: 5 is the host's, 1 a TPU core's.
_LAYOUT = re.compile(r"\{[^{}]*\}")
_HOST_MEMORY = "S(5)"
_CORE_MEMORY = "S(1)"


class CopyDirection(StrEnum):
    """The direction of a copy between host and device memory."""

    TO_DEVICE = "h2d"
    TO_HOST = "d2h"


def bucket_of(opcode: str) -> Bucket:
    """Return the bucket of an HLO operation or a GPU's memory activity."""
    if _COLLECTIVE.match(opcode):
        return Bucket.COMMUNICATION
    if opcode.startswith("infeed"):
        return Bucket.INPUT
    if opcode.lower().startswith("memset"):
        return Bucket.MEMSET
    if _LOCAL_COPY.fullmatch(opcode):
        return Bucket.DEVICE_COPY
    return copy_bucket(opcode) if _COPY.match(opcode) else Bucket.COMPUTE


def instruction_label(text: str, *, module: str) -> CallLabel:
    """Return an instruction's label: TPU events have its full text, other events its name."""
    match = _INSTRUCTION.match(text)
    if match is None:
        name = clean_name(text.removeprefix("%"))
        return CallLabel(name, bucket_of(name), path=module)
    name, shape, opcode = match.groups()
    shapes = clean_name(_LAYOUT.sub("", shape).replace(" ", ""))
    return CallLabel(clean_name(name), _bucket(opcode, text), shapes, module)


def direction_of(text: str) -> CopyDirection | None:
    """Return the direction of an asynchronous copy, or None if it stays on the device.

    `copy-start` returns its target, its source and a flag, each with its layout.
    """
    results, start, _ = text.partition(_COPY_START)
    parts = results.partition(" = ")[2].split(", ")
    if not start or len(parts) < 2:  # noqa: PLR2004 - a target and a source
        return None
    target, source = (_HOST_MEMORY in part for part in parts[:2])
    if target == source:
        return None
    return CopyDirection.TO_HOST if target else CopyDirection.TO_DEVICE


def _bucket(opcode: str, text: str) -> Bucket:
    """Return the bucket of an instruction by its text, which says more than its opcode.

    A host transfer is a copy between host and device. Waiting for data from device memory into core
    memory is part of compute: the program is bound by that memory.
    """
    bucket = bucket_of(opcode)
    if _HOST_TRANSFER in text:
        return Bucket.COPY
    if bucket is Bucket.COMMUNICATION or not opcode.endswith(_ASYNCHRONOUS):
        return bucket
    if _HOST_MEMORY in text:
        return Bucket.COPY
    if _CORE_MEMORY in text:
        return Bucket.COMPUTE
    return Bucket.DEVICE_COPY if bucket is Bucket.COPY else bucket
