"""Reads the GPU use of a job from Jobstats' summary in sacct's AdminComment.

https://princetonuniversity.github.io/jobstats/setup/summaries/: "JS1:" and gzipped JSON in base64,
by node and GPU: the mean of GPU-util in percent over the job, and the highest memory use.
"JS1:Short" and "JS1:None" are empty. A part of a GPU (MIG) has no utilization.
"""

import zlib
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from perfledger_cost_models.telemetry.activity_samples import MAX_SHARE

PREFIX = "JS1:"
# A job on a thousand nodes takes a hundred thousand bytes; more is not a summary. Names and figures
# compress four to ten times; a much higher ratio is a decompression bomb.
MAX_UNPACKED_BYTES = 2**20
MAX_RATIO = 50
_GZIP = 31  # zlib's window with a gzip header
_PERCENT = 0.01


@dataclass(frozen=True, slots=True)
class GpuSummary:
    """One GPU over a job: its mean GPU-util, and its highest memory, None where unknown."""

    gpu: str
    utilization: float
    memory: float | None


class _Node(msgspec.Struct):
    gpu_utilization: dict[str, float] = {}
    gpu_used_memory: dict[str, float] = {}
    gpu_total_memory: dict[str, float] = {}


class _Summary(msgspec.Struct):
    nodes: dict[str, _Node] = {}


def summaries_of(comment: str) -> tuple[GpuSummary, ...]:
    """Return the summaries of a job's GPUs in a comment, nothing for another comment."""
    if not comment.startswith(PREFIX):
        return ()
    unpacker = zlib.decompressobj(_GZIP)
    try:
        packed = b64decode(comment.removeprefix(PREFIX).strip(), validate=True)
        data = unpacker.decompress(packed, min(MAX_UNPACKED_BYTES, MAX_RATIO * len(packed) + 1))
        summary = msgspec.json.decode(data, type=_Summary)
    except (ValueError, zlib.error, msgspec.DecodeError, RecursionError):
        return ()
    return tuple(each for name, node in summary.nodes.items() for each in _gpus(name, node))


def _gpus(name: str, node: _Node) -> Iterator[GpuSummary]:
    for gpu, percent in sorted(node.gpu_utilization.items()):
        utilization = _share(percent * _PERCENT)
        if utilization is not None:
            memory = _memory_share(node.gpu_used_memory, node.gpu_total_memory, gpu)
            yield GpuSummary(f"{name} gpu {gpu}", utilization, memory)


def _memory_share(used: Mapping[str, float], total: Mapping[str, float], gpu: str) -> float | None:
    size = total.get(gpu, 0.0)
    return _share(used[gpu] / size) if gpu in used and size > 0 else None


def _share(value: float) -> float | None:
    """Return a share capped at 1, else None: counters read at different times exceed 1 slightly."""
    return min(value, 1.0) if 0 <= value <= MAX_SHARE else None
