"""A user's repository with real git, a harness that starts real children, and a GPU on paper."""

import inspect
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace

import pynvml
import pytest

from perfledger.protocol import PROTOCOL_VERSION, ChildRequest, Command, MeasuringEffort
from perfledger.records import Side
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.children.harness import ChildLimits, prepare_harness
from perfledger_runners.children.interpreter import Interpreter
from perfledger_runners.proc_files import ProcFiles

QUICK = MeasuringEffort(min_steps=2, max_steps=2, min_seconds=0.0, max_seconds=0.1, max_warmups=1)
LIMIT_S = 1800.0  # a busy machine does not reach it
HANG = """
import os, signal
HANG_NOTE = os.environ["HANG_NOTE"]
def hang():
    with open(HANG_NOTE, "w") as note:
        note.write(str(os.getpid()))
    signal.pthread_sigmask(signal.SIG_BLOCK, {15})
    signal.pause()
"""
# What a child says that measured each workload it was asked for.
ANSWERS = """
import json, os, sys
run = {{
    "started_at": "2026-11-20T00:00:00Z",
    "samples": {{"step_time_p50": [1.0, 1.0]}},
    "warmups_s": [1.0],
    "device": "cpu",
}}
def say(event, **fields):
    line = json.dumps({{"version": {}, "event": event, **fields}})
    os.write(int(os.environ["PERFLEDGER_FD"]), line.encode() + b"\\n")
with open(sys.argv[-1]) as file:
    request = json.load(file)
for workload in request["workloads"]:
    say("started", workload=workload)
    say("sampling", workload=workload)
    say("run", workload=workload, **run)
say("done")
"""


# As much of torch as the harness asks of it, with one CUDA device; the planted faults use it too.
GPU = run_path(str(Path(__file__).parents[3] / "benchmarks" / "checks" / "fault_cases" / "gpu.py"))
FAKE_TORCH = {
    name.removeprefix("torch/").removesuffix(".py"): text for name, text in GPU["INSTALLED"].items()
}


TRAFFIC = (
    pynvml.NVML_GPM_METRIC_PCIE_TX_PER_SEC,
    pynvml.NVML_GPM_METRIC_PCIE_RX_PER_SEC,
    pynvml.NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC,
    pynvml.NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC,
)
RATES = (100.0, 300.0, 2000.0, 1000.0)  # of these, in MiB/s


class FakeError(Exception):
    """What the fake raises where a device has no answer."""


class FakeNvml:
    """One Hopper, as pynvml tells it: each call must fit the signature of the real function.

    What is named in `silent` is answered as by a device or driver that does not know it.
    """

    NVMLError = FakeError
    c_nvmlGpmMetricsGet_t = staticmethod(  # noqa: N815 - pynvml's name
        lambda: SimpleNamespace(metrics=[SimpleNamespace() for _ in range(210)])
    )

    def __init__(self, *silent, reasons=0, shares=(50.0,), persistence=1, rates=RATES):
        self.silent = silent
        self.shares, self.rates = iter(shares), rates
        self.allocations = 0
        self.answers = {
            "nvmlSystemGetDriverVersion": "560.35",
            "nvmlSystemGetCudaDriverVersion": 12060,
            "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3",
            "nvmlDeviceGetUUID": "GPU-1",
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(total=80 * 2**30, used=3 * 2**30),
            "nvmlDeviceGetPowerManagementLimit": 700_000,
            "nvmlDeviceGetEccMode": [1, 1],
            "nvmlDeviceGetMigMode": [0, 0],
            "nvmlDeviceGetPersistenceMode": persistence,
            "nvmlDeviceGetComputeRunningProcesses": [
                SimpleNamespace(pid=41),
                SimpleNamespace(pid=42),
            ],
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=37, memory=12),
            "nvmlDeviceGetPciInfo": SimpleNamespace(busId="00000000:65:00.0"),
            "nvmlDeviceGetTemperatureThreshold": 87,
            "nvmlDeviceGetPowerManagementDefaultLimit": 700_000,
            "nvmlDeviceGetDefaultApplicationsClock": 1590,
            "nvmlDeviceGetMaxClockInfo": 1980,
            "nvmlDeviceGetClockInfo": 1755,
            "nvmlDeviceGetCurrentClocksEventReasons": reasons,
            "nvmlDeviceGetCurrentClocksThrottleReasons": reasons,
            "nvmlDeviceGetPowerUsage": 512_500,
            "nvmlDeviceGetTotalEnergyConsumption": 123_456,
            "nvmlDeviceGetTemperature": 61,
            "nvmlGpmQueryDeviceSupport": SimpleNamespace(isSupportedDevice=1),
            "nvmlDeviceGetHandleByUUID": {
                "GPU-1": "by uuid",
                "MIG-7": "slice 7",
                "MIG-8": "slice 8",
            },
            "nvmlDeviceGetCount": 2,
            "nvmlDeviceIsMigDeviceHandle": 0,
            "nvmlDeviceGetHandleByIndex": {0: "by index 0", 1: "by index 1"},
            "nvmlGpmSampleAlloc": self.allocate,
            "nvmlGpmSampleFree": self.free,
            "nvmlGpmSampleGet": lambda _, buffer: buffer,
            "nvmlGpmMetricsGet": self.compute,
        }

    def __getattr__(self, name):
        signature = inspect.signature(getattr(pynvml, name))

        def ask(*arguments):
            signature.bind(*arguments)
            for text in filter(lambda each: isinstance(each, str), arguments):
                text.encode()  # as convertStrBytes does
            if name in self.silent:
                raise FakeError
            answer = self.answers[name]
            if isinstance(answer, dict):
                if arguments[0] not in answer:
                    raise FakeError
                return answer[arguments[0]]
            return answer(*arguments) if callable(answer) else answer

        return ask

    def allocate(self):
        self.allocations += 1
        return object()

    def free(self, _):
        self.allocations -= 1

    def compute(self, requests):
        assert requests.sample1 is not requests.sample2
        values = dict(zip(TRAFFIC, self.rates, strict=True))
        values[pynvml.NVML_GPM_METRIC_SM_UTIL] = next(self.shares)
        for metric in requests.metrics[: requests.numMetrics]:
            metric.nvmlReturn = pynvml.NVML_ERROR_NOT_SUPPORTED
            if metric.metricId not in self.silent:
                metric.nvmlReturn, metric.value = pynvml.NVML_SUCCESS, values[metric.metricId]
        return requests


class UsersRepository:
    """A repository as a user has it: made with plain git, by hand."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.git("config", "user.name", "A User")
        self.git("config", "user.email", "user@example.org")

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.root, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self, subject: str, **files: str) -> str:
        for path, text in files.items():
            self.write(path.replace("__", "/") + ".txt", text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def state(self):
        """All that a user would notice if it moved."""
        return (
            self.git("rev-parse", "HEAD"),
            self.git("for-each-ref"),
            self.git("status", "--porcelain=v2", "--branch"),
            self.git("ls-files", "--stage"),
            self.git("stash", "list"),
            self.git("worktree", "list"),
        )

    def open(self) -> Repository:
        return Repository.open(self.root)


@pytest.fixture
def theirs(tmp_path):
    return UsersRepository(tmp_path / "theirs")


@pytest.fixture(scope="session")
def users_repository():
    return UsersRepository


class HangClock:
    """The real clock, which runs an hour ahead at each reading while a process hangs.

    A workload that is to hang writes its process ID to the file that HANG_NOTE names. So no limit
    needs to be short, and none is crossed because the machine is busy.
    """

    def __init__(self, note: Path) -> None:
        self._note = note
        self._ahead_s = 0.0

    def __call__(self) -> float:
        if self._is_hanging():
            self._ahead_s += 2 * LIMIT_S
        return time.monotonic() + self._ahead_s

    def _is_hanging(self) -> bool:
        process_id = self._note.read_text() if self._note.exists() else ""
        try:
            stat = Path("/proc", process_id, "stat").read_text() if process_id else ""
        except FileNotFoundError:
            return False
        # A fork that was killed stays a zombie until whoever inherits it, such as PID 1, looks.
        return stat != "" and stat.rpartition(")")[2].split()[0] != "Z"


@pytest.fixture(scope="session")
def fake_nvml():
    return FakeNvml


@pytest.fixture(scope="session")
def interpreter():
    return Interpreter(Path(sys.executable), sys.version_info[:3])


@pytest.fixture(scope="session")
def make_harness(interpreter):
    """Return a function that prepares a harness with a HangClock."""

    @contextmanager
    def make(folder: Path, *, memory_bytes=2**30):
        note = folder / "hang-note"
        environment = os.environ | {"HANG_NOTE": str(note)}
        limits = ChildLimits(workload_s=LIMIT_S, startup_s=LIMIT_S, memory_bytes=memory_bytes)
        with prepare_harness(
            interpreter, environment=environment, variable_names=["HANG_NOTE"], limits=limits
        ) as prepared:
            yield replace(prepared, clock=HangClock(note))

    return make


@pytest.fixture
def harness(make_harness, tmp_path):
    with make_harness(tmp_path) as prepared:
        yield prepared


@pytest.fixture(scope="session")
def hang():
    """The source of a function `hang` that never returns, and that a HangClock sees."""
    return HANG


@pytest.fixture(scope="session")
def request_for():
    """Return a function that makes the request for a checkout, with as little effort as can be."""

    def make(root: Path, workloads=(), **changes) -> ChildRequest:
        request = ChildRequest(
            command=Command.MEASURE,
            root=str(root),
            repository=str(root.parent / "theirs"),
            workloads=tuple(workloads),
            device="cpu",
            effort=QUICK,
        )
        return replace(request, **changes)

    return make


@pytest.fixture(scope="session")
def write_benchmarks():
    """Return a function that writes benchmarks/NAME.py files into a folder, and returns it."""

    def write(root: Path, **files: str) -> Path:
        (root / "benchmarks").mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (root / "benchmarks" / f"{name}.py").write_text("import perfledger\n" + text)
        return root

    return write


@pytest.fixture
def scripted(harness, tmp_path):
    """Return a function that makes a harness whose children say these messages and nothing else."""

    def make(*messages):
        lines = [json.dumps({"version": PROTOCOL_VERSION, **message}) for message in messages]
        script = tmp_path / "scripted-python"
        script.write_text(
            f"#!{sys.executable}\nimport os\n"
            f"os.write(int(os.environ['PERFLEDGER_FD']), {chr(10).join([*lines, '']).encode()!r})\n"
        )
        script.chmod(0o755)
        return replace(harness, python=script)

    return make


@pytest.fixture
def answering(harness, tmp_path):
    """A harness whose children answer at once, without running any code, that all is measured."""
    script = tmp_path / "answering-python"
    script.write_text(f"#!{sys.executable} -SE\n" + ANSWERS.format(PROTOCOL_VERSION))
    script.chmod(0o755)
    return replace(harness, python=script)


@pytest.fixture
def sides(write_benchmarks, request_for, tmp_path):
    """Write one benchmarks/w.py for each side and return the requests, as those for a CPU."""

    def write(base, head=None):
        texts = {Side.BASE: base, Side.HEAD: base if head is None else head}
        return {
            side: request_for(write_benchmarks(tmp_path / side, w=text), is_forking=True)
            for side, text in texts.items()
        }

    return write


@pytest.fixture(scope="session")
def fake_torch():
    return FAKE_TORCH


@pytest.fixture
def kernel(tmp_path):
    """Return a function that writes files by their paths, "proc/stat", and returns their roots."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return ProcFiles(proc=tmp_path / "proc", sys=tmp_path / "sys")

    return write
