"""Turn a profiler's file of any supported format into a Profile."""

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeVar

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.calls import Calls, calls_of_planes, calls_of_trace
from perfledger_profiles.chrome import MAX_UNPACKED_BYTES
from perfledger_profiles.dcgm import read_dcgm
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.genai_perf import read_genai_perf
from perfledger_profiles.kineto import read_kineto, read_kineto_trace
from perfledger_profiles.loadgen import read_loadgen
from perfledger_profiles.mlperf_training import read_mlperf_training
from perfledger_profiles.model_analyzer import read_model_analyzer
from perfledger_profiles.nccl_tests import read_nccl_tests
from perfledger_profiles.ncu import read_ncu
from perfledger_profiles.nsys_sqlite import read_nsys_sqlite, read_nsys_trace
from perfledger_profiles.nsys_stats import read_nsys_stats
from perfledger_profiles.occupancy import with_occupancy
from perfledger_profiles.packing import is_packed, unpacked, unpacked_head
from perfledger_profiles.perf_analyzer import read_perf_analyzer
from perfledger_profiles.vllm import read_vllm
from perfledger_profiles.xplane import read_planes, read_xplane

# Enough for the first report after a program's own output, and for the head of any trace.
HEAD_BYTES = 2**20

Found = TypeVar("Found")


class Format(StrEnum):
    """A file that can be read, by the tool that writes it."""

    KINETO = "kineto"
    XPLANE = "xplane"
    NSYS_SQLITE = "nsys-sqlite"
    NSYS_STATS = "nsys-stats"
    NCU = "ncu"
    DCGM = "dcgm"
    NCCL_TESTS = "nccl-tests"
    VLLM = "vllm"
    GENAI_PERF = "genai-perf"
    PERF_ANALYZER = "perf-analyzer"
    MODEL_ANALYZER = "model-analyzer"
    MLPERF_TRAINING = "mlperf-training"
    MLPERF_LOADGEN = "mlperf-loadgen"


class Reader(Protocol):
    """What reads the bytes of one format's files."""

    def __call__(self, data: bytes, /, *, workload: str, side: Side) -> Profile:
        """Return the profile in a file, or raise ProfileError."""
        ...


class PathReader(Protocol):
    """What reads files of one format where they are."""

    def __call__(self, path: Path, /, *, workload: str, side: Side) -> Profile:
        """Return the profile in a file, or raise ProfileError."""
        ...


@dataclass(frozen=True, slots=True)
class _Sign:
    """What is found in the beginning of a format's files and of no other's."""

    format: Format
    pattern: re.Pattern[bytes]


READERS: Mapping[Format, Reader] = {
    Format.KINETO: read_kineto,
    Format.NSYS_STATS: read_nsys_stats,
    Format.NCU: read_ncu,
    Format.DCGM: read_dcgm,
    Format.NCCL_TESTS: read_nccl_tests,
    Format.VLLM: read_vllm,
    Format.GENAI_PERF: read_genai_perf,
    Format.PERF_ANALYZER: read_perf_analyzer,
    Format.MODEL_ANALYZER: read_model_analyzer,
    Format.MLPERF_TRAINING: read_mlperf_training,
    Format.MLPERF_LOADGEN: read_loadgen,
}

# A database and a protocol buffer are read by libraries that want the file.
PATH_READERS: Mapping[Format, PathReader] = {
    Format.XPLANE: read_xplane,
    Format.NSYS_SQLITE: read_nsys_sqlite,
}

# In this order: what a program prints into the log of another tool decides last.
_SIGNS = tuple(
    _Sign(format_, re.compile(pattern, re.MULTILINE))
    for format_, pattern in (
        (Format.NSYS_SQLITE, rb"\ASQLite format 3\x00"),
        # Before all that is looked for in the whole beginning, which takes a fifth of the reading.
        (Format.KINETO, rb'\A\s*\{\s*"(?:schemaVersion"\s*:\s*1\b|traceEvents")'),
        (Format.NCU, rb'^(?=[^\n]{0,400}"?Kernel Name)[^\n]*(?:Metric Name|"[a-z]+__)'),
        (Format.MLPERF_LOADGEN, rb'^MLPerf Results Summary|"namespace": ?"mlperf::logging"'),
        (Format.MLPERF_TRAINING, rb":::MLLOG\s{0,8}\{"),
        (Format.NCCL_TESTS, rb"^[^#\n]{0,99}#[ \t]+size[ \t]+count[ \t]+type\b[^\n]*\bbusbw\b"),
        (Format.DCGM, rb"^(?:# (?:HELP|TYPE) )?(?:DCGM_FI_|dcgm_(?:sm|gpu|fb|fi)_)\w+[ {]"),
        (
            Format.NSYS_STATS,
            (
                rb"^(?:Time ?\(%\),Total Time|Start \(\w+\),Duration \(\w+\),CorrId,GrdX"
                rb"|Range,Style,Total Proj Time|Total(?: \(\w+\))?,(?:Count|Operations),Avg"
                rb"|(?:PID,TID,DevId,)?Count,QCount,TAvg)"
            ),
        ),
        (
            Format.PERF_ANALYZER,
            rb'^(?:Concurrency|Request Rate),Inferences/Second|"experiments"\s*:\s*\[',
        ),
        (Format.MODEL_ANALYZER, rb"^Model,(?:GPU U?U?ID,)?Batch,"),
        (
            Format.GENAI_PERF,
            (
                rb'^Metric,(?:avg,|GPU,|Value\b)|"request_(?:throughput|latency)":\s*\{'
                rb"|^Config Name,(?:Concurrency|Request Rate),"
                rb"|^[ \t]*\xe2\x94\x83 +(?:Statistic|Metric) \xe2\x94\x83 +avg "
            ),
        ),
        (
            Format.KINETO,
            rb'"traceEvents"|"schemaVersion"\s*:\s*1\b|\A\s*\[\s*\{[^{}]*"ph"\s*:',
        ),
        (
            Format.VLLM,
            (
                rb'"(?:mean_ttft_ms|request_throughput|requests_per_second|avg_latency)"'
                rb"|= Serving Benchmark Result =|^Throughput: [\d.]+ requests/s"
                rb"|^Avg latency: [\d.]+ seconds"
            ),
        ),
        (Format.XPLANE, rb"\A\x0a[\s\S]{2,4096}?(?:/host:|/device:|Task Environment)"),
    )
)
# Where the content does not tell, such as in a damaged file.
_NAMES = (
    (Format.XPLANE, re.compile(r"\.xplane\.pb$")),
    (Format.KINETO, re.compile(r"\.(?:pt\.)?trace\.json(?:\.gz)?$|kineto")),
    (Format.NSYS_SQLITE, re.compile(r"\.sqlite3?(?:\.gz)?$")),
    (Format.NSYS_STATS, re.compile(r"(?:cuda_(?:gpu|api|kern)|nvtx|osrt)_\w*\.csv(?:\.gz)?$")),
    (Format.NCU, re.compile(r"ncu\b.*\.(?:csv|log|txt)(?:\.gz)?$")),
    (Format.DCGM, re.compile(r"dcgm|\.prom(?:\.gz)?$")),
    (Format.NCCL_TESTS, re.compile(r"(?:nccl|rccl).*\.(?:log|txt|out)(?:\.gz)?$")),
    (Format.GENAI_PERF, re.compile(r"_(?:genai_perf|aiperf)\.(?:json|csv)$")),
    (Format.MLPERF_LOADGEN, re.compile(r"mlperf_log_(?:summary|detail)\.txt$")),
)


def detect_format(head: bytes, name: str) -> Format:
    """Return the format of a file by its first bytes, gzip-packed or plain, and else by its name.

    Raises ProfileError, which lists what is supported, when neither tells.
    """
    plain = unpacked_head(head, max_bytes=HEAD_BYTES)
    if plain.startswith((b"\xff\xfe", b"\xfe\xff")):
        plain = plain.decode("utf-16", errors="replace").encode()
    plain = plain.removeprefix(BOM_UTF8)
    found = next((sign.format for sign in _SIGNS if sign.pattern.search(plain)), None)
    named = (format_ for format_, pattern in _NAMES if pattern.search(name.casefold()))
    found = found or next(named, None)
    if found is None:
        msg = f"{name} is no file that can be read; these are: {', '.join(Format)}"
        raise ProfileError(msg)
    return found


def read_profile(
    path: Path,
    *,
    workload: str,
    side: Side,
    format: Format | None = None,  # noqa: A002 - the word for it at the callers
) -> Profile:
    """Return the profile in a file, of the format that is given or else detected.

    Raises ProfileError when the file is missing, too large, or not what it should be.
    """
    found, is_plain = _format_of(path, format)
    return with_occupancy(_read(path, found, workload, side, is_plain=is_plain))


def read_calls(path: Path, *, format: Format | None = None) -> Calls:  # noqa: A002 - see above
    """Return all calls of a recording, of the format that is given or else detected.

    Raises ProfileError as `read_profile` does, and for a file of sums, which has no timeline.
    """
    found, is_plain = _format_of(path, format)
    if found is Format.KINETO:
        calls = calls_of_trace(read_kineto_trace(path))
    elif found in PATH_READERS:
        read = _nsys_calls if found is Format.NSYS_SQLITE else _xla_calls
        calls = read(path) if is_plain else _read_packed(path, read)
    else:
        calls = Calls(names=(), lanes=())
    if not calls.count:
        msg = f"{path.name} has no timeline to export: it has no call with a time of its own"
        raise ProfileError(msg)
    return calls


def _format_of(path: Path, given: Format | None) -> tuple[Format, bool]:
    """Return the format of a file that is not too large, and whether it is not packed."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        msg = f"{path.name} cannot be read: {error.strerror}"
        raise ProfileError(msg) from error
    found, is_plain = given or detect_format(head, path.name), not is_packed(head)
    is_own = found in PATH_READERS and is_plain  # such a reader has its own limits
    if size > MAX_UNPACKED_BYTES and not is_own:
        msg = f"{path.name} is larger than {MAX_UNPACKED_BYTES} bytes: profile fewer steps"
        raise ProfileError(msg)
    return found, is_plain


def _read(path: Path, format_: Format, workload: str, side: Side, *, is_plain: bool) -> Profile:
    """Read a file of a known format; a Chrome trace piece by piece, packed or not."""
    if format_ is Format.KINETO:
        return read_kineto(path, workload=workload, side=side)
    if format_ not in PATH_READERS:
        return READERS[format_](path.read_bytes(), workload=workload, side=side)
    read = partial(PATH_READERS[format_], workload=workload, side=side)
    return read(path) if is_plain else _read_packed(path, read)


def _nsys_calls(path: Path) -> Calls:
    return calls_of_trace(read_nsys_trace(path))


def _xla_calls(path: Path) -> Calls:
    space = read_planes(path)
    return calls_of_planes(space.planes, dropped_events=space.dropped_events)


def _read_packed(packed: Path, read: Callable[[Path], Found]) -> Found:
    """Read a packed file with a reader that takes the path of a plain one."""
    plain, name = unpacked(packed.read_bytes(), max_bytes=MAX_UNPACKED_BYTES).data, packed.name
    with TemporaryDirectory() as folder:
        path = Path(folder, name.removesuffix(".gz"))
        try:
            path.write_bytes(plain)
        except OSError as error:
            msg = f"{name} cannot be unpacked here ({error.strerror}): unpack it first"
            raise ProfileError(msg) from error
        return read(path)
