"""Turn an HLO instruction, or the name of a GPU's activity, into a label."""

import re

from perfledger.profile import Bucket
from perfledger_profiles.breakdown import Label
from perfledger_profiles.redact import clean_name

_INSTRUCTION = re.compile(r"%([^ =]+) = (.+?) ([a-z][a-z0-9-]*)\(")
_COLLECTIVE = re.compile(r"(?i)(all-|reduce-scatter|collective-|ragged-all|send|recv|nccl|rccl)")
_COPY = re.compile(r"(?i)(copy|memcpy|outfeed)([-.]|d2|h2|p2|$)")
# Memory layouts: {3,2,1,0:T(8,128)S(5)}. S(5) is host memory, but the compiler's business.
_LAYOUT = re.compile(r"\{[^{}]*\}")


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
    return Label(clean_name(name), bucket_of(opcode), shapes, module)
