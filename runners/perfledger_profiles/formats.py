"""Detects the format of a profiler's file and reads it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol, TypeVar

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.benchmark_tools.dcgm import read_dcgm
from perfledger_profiles.benchmark_tools.genai_perf import read_genai_perf
from perfledger_profiles.benchmark_tools.loadgen import read_loadgen
from perfledger_profiles.benchmark_tools.mlperf_training import read_mlperf_training
from perfledger_profiles.benchmark_tools.model_analyzer import read_model_analyzer
from perfledger_profiles.benchmark_tools.nccl_tests import read_nccl_tests
from perfledger_profiles.benchmark_tools.nvbandwidth import read_nvbandwidth
from perfledger_profiles.benchmark_tools.perf_analyzer import read_perf_analyzer
from perfledger_profiles.benchmark_tools.vllm import read_vllm
from perfledger_profiles.export.all_calls import RecordedCalls, calls_of_planes, calls_of_trace
from perfledger_profiles.hardware.occupancy import with_occupancy
from perfledger_profiles.nsight_compute.launches_to_profile import read_ncu
from perfledger_profiles.nsight_systems.sqlite_reader import read_nsys_sqlite, read_nsys_trace
from perfledger_profiles.nsight_systems.stats_reports import (
    read_nsys_stats,
    read_nsys_stats_trace,
)
from perfledger_profiles.parsing.chrome_trace_json import MAX_UNPACKED_BYTES, max_unpacked_bytes
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.gzip_input import is_gzip, unpack_gzip, unpack_gzip_head
from perfledger_profiles.parsing.text_file import UTF_8, encoding_of
from perfledger_profiles.rocm.rocpd import read_rocpd, read_rocpd_trace
from perfledger_profiles.rocm.rocprof import read_rocprof, read_rocprof_trace
from perfledger_profiles.torch_profiler.kineto import read_kineto, read_kineto_trace
from perfledger_profiles.xla.xplane import read_planes, read_xplane

# Covers a program's own output up to the first report, and the head of any trace.
HEAD_BYTES = 2**20

ReaderResult = TypeVar("ReaderResult")


class ProfileFormat(StrEnum):
    """The supported file formats, by the tool that writes them."""

    KINETO = "kineto"
    XPLANE = "xplane"
    NSYS_SQLITE = "nsys-sqlite"
    NSYS_STATS = "nsys-stats"
    NCU = "ncu"
    ROCPROF = "rocprof"
    ROCPD = "rocpd"
    DCGM = "dcgm"
    NCCL_TESTS = "nccl-tests"
    NVBANDWIDTH = "nvbandwidth"
    VLLM = "vllm"
    GENAI_PERF = "genai-perf"
    PERF_ANALYZER = "perf-analyzer"
    MODEL_ANALYZER = "model-analyzer"
    MLPERF_TRAINING = "mlperf-training"
    MLPERF_LOADGEN = "mlperf-loadgen"


class ProfileReader(Protocol):
    """A reader of one format, from bytes."""

    def __call__(self, data: bytes, /, *, workload: str, side: Side) -> Profile:
        """Return the profile in a file, or raise ProfileError."""
        ...


class PathReader(Protocol):
    """A reader of one format, from a path."""

    def __call__(self, path: Path, /, *, workload: str, side: Side) -> Profile:
        """Return the profile in a file, or raise ProfileError."""
        ...


class DeviceReader(Protocol):
    """A reader of one format with a timeline of devices, from a path."""

    def __call__(
        self, path: Path, /, *, workload: str, side: Side, choice: DeviceChoice = ANY_DEVICE
    ) -> Profile:
        """Return the profile of the chosen devices in a file, or raise ProfileError."""
        ...


@dataclass(frozen=True, slots=True)
class _Signature:
    """A pattern that only one format's files have at their beginning."""

    format: ProfileFormat
    pattern: re.Pattern[bytes]


READERS: Mapping[ProfileFormat, ProfileReader] = {
    ProfileFormat.KINETO: read_kineto,
    ProfileFormat.NSYS_STATS: read_nsys_stats,
    ProfileFormat.NCU: read_ncu,
    ProfileFormat.ROCPROF: read_rocprof,
    ProfileFormat.DCGM: read_dcgm,
    ProfileFormat.NCCL_TESTS: read_nccl_tests,
    ProfileFormat.NVBANDWIDTH: read_nvbandwidth,
    ProfileFormat.VLLM: read_vllm,
    ProfileFormat.GENAI_PERF: read_genai_perf,
    ProfileFormat.PERF_ANALYZER: read_perf_analyzer,
    ProfileFormat.MODEL_ANALYZER: read_model_analyzer,
    ProfileFormat.MLPERF_TRAINING: read_mlperf_training,
    ProfileFormat.MLPERF_LOADGEN: read_loadgen,
}

# Readers of databases and protocol buffers need a path.
PATH_READERS: Mapping[ProfileFormat, DeviceReader] = {
    ProfileFormat.XPLANE: read_xplane,
    ProfileFormat.NSYS_SQLITE: read_nsys_sqlite,
    ProfileFormat.ROCPD: read_rocpd,
}

# Tried in this order: output that a program may print into another tool's log comes last.
_SIGNATURES = tuple(
    _Signature(format_, re.compile(pattern, re.MULTILINE))
    for format_, pattern in (
        (ProfileFormat.ROCPD, rb"\ASQLite format 3\x00[\s\S]*?rocpd_kernel_dispatch"),
        (ProfileFormat.NSYS_SQLITE, rb"\ASQLite format 3\x00"),
        # rocprof 1 writes a Chrome trace whose first event is empty.
        (ProfileFormat.ROCPROF, rb'\A\s*\{\s*"traceEvents"\s*:\s*\[\s*\{\s*\}'),
        # First, because the patterns that search the whole head take a fifth of the reading time.
        (ProfileFormat.KINETO, rb'\A\s*\{\s*"(?:schemaVersion"\s*:\s*1\b|traceEvents")'),
        (
            ProfileFormat.ROCPROF,
            (
                rb'^(?=[^\n]{0,400}"?Kernel_?Name\b)[^\n]*\b(?:Start_Timestamp|BeginNs)\b'
                rb'|^"?Name"?,"?Calls"?,"?(?:TotalDurationNs|DURATION \(nsec\))'
                rb'|^(?:"Guid",)?"Kind","Direction"'
                rb'|\A\s*\{\s*"rocprofiler-sdk-tool"'
            ),
        ),
        (ProfileFormat.NCU, rb'^(?=[^\n]{0,400}"?Kernel Name)[^\n]*(?:Metric Name|"[a-z]+__)'),
        (ProfileFormat.MLPERF_LOADGEN, rb'^MLPerf Results Summary|"namespace": ?"mlperf::logging"'),
        (ProfileFormat.MLPERF_TRAINING, rb":::MLLOG\s{0,8}\{"),
        (
            ProfileFormat.NCCL_TESTS,
            rb"^[^#\n]{0,99}#[ \t]+size[ \t]+count[ \t]+type\b[^\n]*\bbusbw\b",
        ),
        (
            ProfileFormat.NVBANDWIDTH,
            rb'^[ \t]*nvbandwidth Version|^Running \w+_(?:ce|sm)\.|"nvbandwidth"\s*:\s*\{',
        ),
        (ProfileFormat.DCGM, rb"^(?:# (?:HELP|TYPE) )?(?:DCGM_FI_|dcgm_(?:sm|gpu|fb|fi)_)\w+[ {]"),
        (
            ProfileFormat.NSYS_STATS,
            (
                rb"^(?:Time(?: ?\(%\))?,Total Time|Start \(\w+\),Duration \(\w+\),CorrId,GrdX"
                rb"|Range,Style,Total Proj Time|Total(?: \(\w+\))?,(?:Count|Operations),Avg"
                rb"|(?:PID,TID,DevId,)?Count,QCount,TAvg"
                rb"|[ \t/#*>|]{0,99}(?:Time ?\(%\)[ |]{1,99}Total Time \(\w"
                rb"|Total(?: \(\w+\))?[ |]{1,99}(?:Count|Operations)[ |]{1,99}Av"
                rb"|Start ?\(\w+\)[ |]{1,99}Duration ?\(\w+\)[ |]{1,99}CorrId))"
            ),
        ),
        (
            ProfileFormat.PERF_ANALYZER,
            rb'^(?:Concurrency|Request Rate),Inferences/Second|"experiments"\s*:\s*\[',
        ),
        (ProfileFormat.MODEL_ANALYZER, rb"^Model,(?:GPU U?U?ID,)?Batch,"),
        (
            ProfileFormat.GENAI_PERF,
            (
                rb'^Metric,(?:avg,|GPU,|Value\b)|"request_(?:throughput|latency)":\s*\{'
                rb"|^Config Name,(?:Concurrency|Request Rate),"
                rb"|^[ \t]*\xe2\x94\x83 +(?:Statistic|Metric) \xe2\x94\x83 +avg "
            ),
        ),
        (
            ProfileFormat.KINETO,
            rb'"traceEvents"|"schemaVersion"\s*:\s*1\b|\A\s*\[\s*\{[^{}]*"ph"\s*:',
        ),
        (
            ProfileFormat.VLLM,
            (
                rb'"(?:mean_ttft_ms|request_throughput|requests_per_second|avg_latency)"'
                rb"|= Serving Benchmark Result =|^Throughput: [\d.]+ requests/s"
                rb"|^Avg latency: [\d.]+ seconds"
            ),
        ),
        (ProfileFormat.XPLANE, rb"\A\x0a[\s\S]{2,4096}?(?:/host:|/device:|Task Environment)"),
    )
)
# Files of known tools that no reader understands, and what to do instead.
_NOT_UNDERSTOOD = (
    (
        re.compile(rb'"Ascend Hardware"|"Physic Stream Id"|"ts":\s*"\d{13,}\.\d+"'),
        "it is a trace of Ascend's profiler (trace_view.json), whose events have no category",
    ),
    (
        re.compile(rb'\A(?:"?Guid"?,)?"?Domain"?,"?Function"?,'),
        "it lists host calls of rocprofv3: give its kernel_trace.csv, JSON or rocpd file",
    ),
    (
        re.compile(rb'\A(?:"?Guid"?,)?"?Node_Id"?,'),
        "it lists devices of rocprofv3: give its kernel_trace.csv, JSON or rocpd file",
    ),
)
# Used if the content does not decide, as for a damaged file.
_NAMES = (
    (ProfileFormat.XPLANE, re.compile(r"\.xplane\.pb$")),
    (ProfileFormat.KINETO, re.compile(r"\.(?:pt\.)?trace\.json(?:\.gz)?$|kineto")),
    (ProfileFormat.NSYS_SQLITE, re.compile(r"\.sqlite3?(?:\.gz)?$")),
    (
        ProfileFormat.NSYS_STATS,
        re.compile(r"(?:cuda_(?:gpu|api|kern)|nvtx|osrt)_\w*\.csv(?:\.gz)?$"),
    ),
    (ProfileFormat.NCU, re.compile(r"ncu\b.*\.(?:csv|log|txt)(?:\.gz)?$")),
    (ProfileFormat.DCGM, re.compile(r"dcgm|\.prom(?:\.gz)?$")),
    (ProfileFormat.NCCL_TESTS, re.compile(r"(?:nccl|rccl).*\.(?:log|txt|out)(?:\.gz)?$")),
    (ProfileFormat.GENAI_PERF, re.compile(r"_(?:genai_perf|aiperf)\.(?:json|csv)$")),
    (ProfileFormat.MLPERF_LOADGEN, re.compile(r"mlperf_log_(?:summary|detail)\.txt$")),
)


def detect_format(head: bytes, name: str) -> ProfileFormat:
    """Return a file's format by its first bytes (packed or plain), else by its name.

    Raises ProfileError, which lists the supported formats, if neither decides, or says what the
    file is if no reader understands it.
    """
    text = unpack_gzip_head(head, max_bytes=HEAD_BYTES)
    if encoding_of(text) != UTF_8:
        text = text.decode(encoding_of(text), errors="replace").encode()
    reason = next((why for pattern, why in _NOT_UNDERSTOOD if pattern.search(text)), "")
    if reason:
        msg = f"{name} is not understood: {reason}"
        raise ProfileError(msg)
    by_content = next((sign.format for sign in _SIGNATURES if sign.pattern.search(text)), None)
    named = (format_ for format_, pattern in _NAMES if pattern.search(name.casefold()))
    by_content = by_content or next(named, None)
    if by_content is None:
        msg = f"the format of {name} is not supported; supported are: {', '.join(ProfileFormat)}"
        raise ProfileError(msg)
    return by_content


def read_profile(
    path: Path,
    *,
    workload: str,
    side: Side,
    format: ProfileFormat | None = None,  # noqa: A002 - the callers' word
    choice: DeviceChoice = ANY_DEVICE,
) -> Profile:
    """Return the profile in a file, of the given format or the detected one.

    Raises ProfileError if the file is missing, too large or of another format, or if the choice has
    no work in it.
    """
    format_, is_plain = _format_of(path, format)
    read = _reader(format_, path, choice)
    if format_ in PATH_READERS and not is_plain:
        return with_occupancy(_read_packed(path, partial(read, workload=workload, side=side)))
    return with_occupancy(read(path, workload=workload, side=side))


def read_calls(path: Path, *, format: ProfileFormat | None = None) -> RecordedCalls:  # noqa: A002 - see above
    """Return all calls of a recording, of the given format or the detected one.

    Raises ProfileError as `read_profile` does, and for a summary, which has no timeline.
    """
    format_, is_plain = _format_of(path, format)
    read = _CALL_READERS.get(format_)
    if read is None:
        calls = RecordedCalls(names=(), lanes=())
    elif format_ in PATH_READERS and not is_plain:
        calls = _read_packed(path, read)
    else:
        calls = read(path)
    if not calls.count:
        msg = f"{path.name} has no timeline to export: record a trace instead of a summary"
        raise ProfileError(msg)
    return calls


def _format_of(path: Path, requested: ProfileFormat | None) -> tuple[ProfileFormat, bool]:
    """Return a file's format and whether it is unpacked; raise ProfileError if it is too large."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        msg = f"{path.name} cannot be read: {error.strerror}"
        raise ProfileError(msg) from error
    format_, is_plain = requested or detect_format(head, path.name), not is_gzip(head)
    is_own = format_ in PATH_READERS and is_plain  # such a reader has limits of its own
    most = max_unpacked_bytes() if format_ is ProfileFormat.KINETO else MAX_UNPACKED_BYTES
    if size > most and not is_own:
        msg = f"{path.name} is larger than {most} bytes: profile fewer steps"
        raise ProfileError(msg)
    return format_, is_plain


def _reader(format_: ProfileFormat, path: Path, choice: DeviceChoice) -> PathReader:
    """Return the reader of a format; a Chrome trace is read piece by piece, packed or not."""
    if format_ is ProfileFormat.KINETO:
        return partial(read_kineto, choice=choice)
    if format_ is ProfileFormat.ROCPROF:
        return partial(_read_bytes, partial(read_rocprof, choice=choice))
    if format_ is ProfileFormat.NSYS_STATS:
        return partial(_read_bytes, partial(read_nsys_stats, choice=choice))
    if format_ in PATH_READERS:
        return partial(PATH_READERS[format_], choice=choice)
    if not choice.is_any:
        msg = (
            f"{path.name} has no timeline of devices to choose from: leave out "
            "--device-number and --rank"
        )
        raise ProfileError(msg)
    return partial(_read_bytes, READERS[format_])


def _read_bytes(read: ProfileReader, path: Path, /, *, workload: str, side: Side) -> Profile:
    return read(path.read_bytes(), workload=workload, side=side)


def _kineto_calls(path: Path) -> RecordedCalls:
    return calls_of_trace(read_kineto_trace(path))


def _nsys_calls(path: Path) -> RecordedCalls:
    return calls_of_trace(read_nsys_trace(path))


def _nsys_stats_calls(path: Path) -> RecordedCalls:
    return calls_of_trace(read_nsys_stats_trace(path.read_bytes()))


def _rocprof_calls(path: Path) -> RecordedCalls:
    return calls_of_trace(read_rocprof_trace(path.read_bytes()))


def _rocpd_calls(path: Path) -> RecordedCalls:
    return calls_of_trace(read_rocpd_trace(path))


def _xla_calls(path: Path) -> RecordedCalls:
    space = read_planes(path)
    return calls_of_planes(space.planes, dropped_events=space.dropped_events)


_CALL_READERS: Mapping[ProfileFormat, Callable[[Path], RecordedCalls]] = {
    ProfileFormat.KINETO: _kineto_calls,
    ProfileFormat.NSYS_SQLITE: _nsys_calls,
    ProfileFormat.NSYS_STATS: _nsys_stats_calls,
    ProfileFormat.ROCPROF: _rocprof_calls,
    ProfileFormat.ROCPD: _rocpd_calls,
    ProfileFormat.XPLANE: _xla_calls,
}


def _read_packed(packed: Path, read: Callable[[Path], ReaderResult]) -> ReaderResult:
    """Read a packed file with a reader that needs the path of a plain one."""
    unpacked, name = (
        unpack_gzip(packed.read_bytes(), max_bytes=MAX_UNPACKED_BYTES).data,
        packed.name,
    )
    with TemporaryDirectory() as folder:
        path = Path(folder, name.removesuffix(".gz"))
        try:
            path.write_bytes(unpacked)
        except OSError as error:
            msg = f"{name} cannot be unpacked here ({error.strerror}): unpack it first"
            raise ProfileError(msg) from error
        return read(path)
