"""Turn an HLO instruction, or the name of a GPU's activity, into a label."""

import re
from enum import StrEnum

from perfledger.profile import Bucket
from perfledger_profiles.breakdown import Label
from perfledger_profiles.redact import clean_name

_INSTRUCTION = re.compile(r"%([^ =]+) = (.+?) ([a-z][a-z0-9-]*)\(")
_COLLECTIVE = re.compile(r"(?i)(all-|reduce-scatter|collective|ragged-all|send|recv|nccl|rccl)")
_COPY = re.compile(r"(?i)(copy|memcpy|outfeed)([-.]|d2|h2|p2|$)")
_ASYNCHRONOUS = ("-start", "-done")
_HOST_TRANSFER = "is_host_transfer=true"
_COPY_START = " copy-start("
# Memory layouts: {3,2,1,0:T(8,128)S(5)}. S(n) is the memory: 5 the host's, 1 a TPU core's own.
_LAYOUT = re.compile(r"\{[^{}]*\}")
_HOST_MEMORY = "S(5)"
_CORE_MEMORY = "S(1)"


class Direction(StrEnum):
    """Which way a copy between the host's memory and a device's goes."""

    TO_DEVICE = "h2d"
    TO_HOST = "d2h"


def bucket_of(opcode: str) -> Bucket:
    """Return what an HLO operation or a GPU's memory activity is spent on."""
    if _COLLECTIVE.match(opcode):
        return Bucket.COMMUNICATION
    if opcode.startswith("infeed"):
        return Bucket.INPUT
    if opcode.lower().startswith("memset"):
        return Bucket.MEMSET
    return Bucket.COPY if _COPY.match(opcode) else Bucket.COMPUTE


def instruction_label(text: str, *, module: str) -> Label:
    """Return the label of an instruction: a TPU's events carry its whole text, others its name."""
    match = _INSTRUCTION.match(text)
    if match is None:
        name = clean_name(text.removeprefix("%"))
        return Label(name, bucket_of(name), path=module)
    name, shape, opcode = match.groups()
    shapes = clean_name(_LAYOUT.sub("", shape).replace(" ", ""))
    return Label(clean_name(name), _bucket(opcode, text), shapes, module)


def direction_of(text: str) -> Direction | None:
    """Return which way an asynchronous copy goes; None for one that stays on the device.

    `copy-start` returns its target, its source and a flag, each with its layout.
    """
    results, start, _ = text.partition(_COPY_START)
    parts = results.partition(" = ")[2].split(", ")
    if not start or len(parts) < 2:  # noqa: PLR2004 - a target and a source
        return None
    target, source = (_HOST_MEMORY in part for part in parts[:2])
    if target == source:
        return None
    return Direction.TO_HOST if target else Direction.TO_DEVICE


def _bucket(opcode: str, text: str) -> Bucket:
    """Return the bucket of an instruction, whose text says more than its opcode.

    Sending to the host is a copy, whoever does it. Waiting for what comes from the device's own
    memory into the core's is part of computing: the program is bound by that memory.
    """
    bucket = bucket_of(opcode)
    if _HOST_TRANSFER in text:
        return Bucket.COPY
    if bucket is Bucket.COMMUNICATION or not opcode.endswith(_ASYNCHRONOUS):
        return bucket
    if _HOST_MEMORY in text:
        return Bucket.COPY
    return Bucket.COMPUTE if _CORE_MEMORY in text else bucket
