"""Prepares the private folder and the environment of child processes."""

import math
import os
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from perfledger.protocol import ChildRequest, Command
from perfledger.records import Device, Framework, WorkloadSpec
from perfledger_runners.children.child_guard import NO_GUARD, ChildGuard, child_guard
from perfledger_runners.children.child_variables import child_variables
from perfledger_runners.children.interpreter import (
    Interpreter,
    activation,
    environment_python,
    package_folders,
)
from perfledger_runners.children.launch import Launch, launch_of
from perfledger_runners.children.sandbox import Sandbox, SandboxPaths, find_sandbox
from perfledger_runners.private_folder import private_folder

# Marks a child's descendants, including detached ones; see `process_tree.members`.
MARK_VARIABLE = "PERFLEDGER_CHILD"
# torch.compile adds it to the keys of its caches (torch/compiler/config.py).
CACHE_TAG = "TORCH_COMPILE_CACHE_KEY_TAG"

# Threads that spin while waiting for work would take cores from the other side's turns, and their
# waiting would count as CPU time. These make OpenMP's runtimes (GNU, LLVM and Intel) sleep, and the
# threads of OpenBLAS, which otherwise spin for 2^26 cycles: its least timeout is 2^4. XLA's CPU
# thread pool has no such switch; it spins for microseconds.
PASSIVE_WAITING = {
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
    "KMP_BLOCKTIME": "0",
    "OPENBLAS_THREAD_TIMEOUT": "4",
}
XLA_NOTE = (
    "XLA's threads spin for some microseconds before they sleep, on both sides: no variable "
    "changes that, and it is part of the CPU time"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildLimits:
    """The limits of a child; `memory_bytes` None means most of the available memory."""

    workload_s: float = 300.0  # from its start to its result, unless it has its own limit
    own_workload_s: Mapping[str, float] = field(default_factory=dict[str, float])
    startup_s: float = 300.0  # imports, and everything between two workloads
    # While the other side waits for it: after so long without using a core, it may need what only
    # one process can have.
    idle_s: float = 10.0
    # Shares of the rest of the budget that a workload, and the import of a file, may take.
    workload_share: float = 1.0
    startup_share: float = 1.0
    memory_bytes: int | None = None

    def of(self, workload: str) -> float:
        """Return the seconds that this workload may take in one process."""
        return self.own_workload_s.get(workload, self.workload_s)


@dataclass(slots=True)
class LastCore:
    """The core on which either side of a pair ran last; None if it is unknown."""

    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """The settings of children; `folder` is private to one check."""

    python: Path
    folder: Path
    environment: Mapping[str, str]  # the agent's; see `child_variables` for what children get
    variable_names: tuple[str, ...] = ()  # named by the setting `env`
    sandbox: Sandbox | None = None
    guard: ChildGuard = NO_GUARD
    limits: ChildLimits = ChildLimits()
    default_launch: str = ""  # for workloads on several devices without their own command
    launches: Mapping[str, Launch] = field(default_factory=dict[str, Launch])  # by workload
    frameworks: Mapping[str, Framework] = field(default_factory=dict[str, Framework])  # the same
    clock: Callable[[], float] = time.monotonic
    ends_at: float = math.inf  # of the budget, by `clock`; no child outlives it
    # Whether the other side of a pair is at a workload ("": before the first), and waits.
    is_awaited: Callable[[str], bool] = lambda _: False
    last_core: LastCore | None = None  # of a pair whose sides take turns

    def seconds_left(self) -> float:
        """Return the rest of the budget."""
        return self.ends_at - self.clock()

    def launch_of(self, request: ChildRequest) -> Launch | None:
        """Return how a request for one multi-device workload is started; None for the default."""
        if request.command is Command.LIST or len(request.workloads) != 1:
            return None
        return self.launches.get(request.workloads[0])

    def first_child_of(self, request: ChildRequest) -> ChildRequest:
        """Return the request for those of its workloads, from the first on, that one child runs.

        Only forks of one process are independent of each other; without forks a child runs one
        workload.
        """
        workloads = request.workloads
        if not request.is_forking:
            return replace(request, workloads=workloads[:1])
        alone = [index for index, each in enumerate(workloads) if each in self.launches]
        workloads = workloads[: max(1, alone[0])] if alone else workloads
        frameworks = {self.frameworks.get(each, Framework.HOST) for each in workloads}
        imported = tuple(sorted(frameworks - {Framework.HOST}))
        files = {each: request.files[each] for each in workloads if each in request.files}
        return replace(request, workloads=workloads, frameworks=imported, files=files)

    @property
    def sdk(self) -> Path:
        """Return the folder that holds only a copy of the `perfledger` package."""
        return self.folder / "sdk"


@contextmanager
def prepare_harness(
    interpreter: Interpreter,
    *,
    environment: Mapping[str, str],
    variable_names: Iterable[str] = (),
    sandbox: str = "",
    limits: ChildLimits | None = None,
    default_launch: str = "",
) -> Generator[Harness]:
    """Create the private folder of a check, and remove it at the end. Raises SandboxError."""
    names = tuple(variable_names)
    variables = child_variables(environment, named=names)
    with private_folder() as folder, child_guard(environment) as guard:
        harness = Harness(
            python=interpreter.path,
            folder=folder,
            environment=environment,
            variable_names=names,
            sandbox=find_sandbox(sandbox, interpreter.path, variables),
            guard=guard,
            limits=limits or ChildLimits(),
            default_launch=default_launch,
        )
        harness.sdk.mkdir()
        _copy_package(files("perfledger"), harness.sdk / "perfledger")
        yield harness


def for_workloads(harness: Harness, workloads: Iterable[WorkloadSpec]) -> Harness:
    """Return a harness in which each workload has its own time limit, launch and framework."""
    specs = tuple(workloads)
    timeouts = {spec.id: spec.timeout for spec in specs if spec.timeout is not None}
    launches = {spec.id: launch_of(spec, harness.default_launch) for spec in specs}
    return replace(
        harness,
        limits=replace(harness.limits, own_workload_s=timeouts),
        launches={name: launch for name, launch in launches.items() if launch is not None},
        frameworks={spec.id: spec.framework for spec in specs},
    )


def _copy_package(package: Traversable, target: Path) -> None:
    """Copy the modules of a package and of its sub-packages."""
    target.mkdir()
    for source in package.iterdir():
        if source.is_dir() and source.name != "__pycache__":
            _copy_package(source, target / source.name)
        elif source.name.endswith(".py"):
            (target / source.name).write_bytes(source.read_bytes())
            if isinstance(source, Path):
                _copy_bytecode(source, target / source.name)


def _copy_bytecode(source: Path, target: Path) -> None:
    """Copy a module's bytecode, so that a child with the same Python does not recompile it.

    Python uses bytecode only if size and modification time of the source match.
    """
    bytecode = Path("__pycache__", f"{source.stem}.{sys.implementation.cache_tag}.pyc")
    with suppress(OSError):  # without it, the child compiles
        content = (source.parent / bytecode).read_bytes()
        (target.parent / bytecode).parent.mkdir(exist_ok=True)
        (target.parent / bytecode).write_bytes(content)
        times = source.stat()
        os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))


def python_of(harness: Harness, request: ChildRequest) -> Path:
    """Return the Python of the request's environment, else the harness's."""
    if request.environment:
        return environment_python(Path(request.environment))
    return harness.python


def launcher_command(harness: Harness, request: ChildRequest) -> list[str]:
    """Return the words of the launcher before the interpreter. Raises LaunchError without it."""
    launch = harness.launch_of(request)
    return [] if launch is None else launch.words(python_of(harness, request), harness.environment)


def sandbox_command(harness: Harness, request: ChildRequest, folder: Path) -> list[str]:
    """Return the words before the interpreter; `folder` is the child's own.

    A sandbox shows the child only its own side, without the history and settings in `.git`.
    """
    if harness.sandbox is None:
        return []
    built = [Path(request.environment)] if request.environment else []
    return harness.sandbox.command(
        SandboxPaths(
            private=harness.folder / "sandbox" / Path(request.root).name,
            checkout=Path(request.root),
            writable=(
                _extension_folder(harness, request),
                *((rank_folder(folder),) if rank_folder(folder).exists() else ()),
                *((Path(request.trace_folder),) if request.trace_folder else ()),
            ),
            readable=(harness.sdk, folder, *built),
            hidden=(_git_folder(Path(request.repository)),),
        )
    )


def rank_folder(folder: Path) -> Path:
    """Return the meeting point of a child's ranks, in the child's own folder."""
    return folder / "ranks"


def _git_folder(repository: Path) -> Path:
    """Return the folder with the history and settings; a linked work tree has only its name."""
    git_folder = repository / ".git"
    if not git_folder.is_file():
        return git_folder
    folder = repository / git_folder.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
    common = folder / "commondir"
    if common.is_file():
        folder /= common.read_text(encoding="utf-8").strip()
    return folder.resolve()


def child_environment(
    harness: Harness, request: ChildRequest, *, answers: Mapping[str, str], mark: str
) -> dict[str, str]:
    """Return the variables of a child, with the SDK's folder first on PYTHONPATH.

    `answers` are the variables by which the child finds the agent.

    They are the same on both sides, except for each side's own folders. Both use the same hash
    seed, so that the order of sets does not differ between them.
    """
    variables = child_variables(harness.environment, named=harness.variable_names)
    paths = [str(harness.sdk), variables.get("PYTHONPATH", "")]
    if request.environment and paths[1]:  # it would hide what was built for the side
        paths[1:1] = package_folders(Path(request.environment))
    variables["PYTHONPATH"] = ":".join(path for path in paths if path)
    variables["PYTHONHASHSEED"] = "0"
    variables |= answers
    variables[MARK_VARIABLE] = mark
    if request.root != request.repository:
        variables["TORCH_EXTENSIONS_DIR"] = str(_extension_folder(harness, request))
        variables[CACHE_TAG] = _cache_tag(harness, request)
    if request.environment:
        variables |= activation(Path(request.environment), variables)
    if request.device == "cpu":
        variables["JAX_PLATFORMS"] = "cpu"
    if request.is_interleaved:
        variables |= passive_waiting(variables)
    launch = harness.launch_of(request)
    return variables if launch is None else launch.variables(variables)


def passive_waiting(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make waiting threads sleep, unless the user set any of them.

    A single variable set by the user overrides all: each runtime reads several of them.
    """
    return {} if PASSIVE_WAITING.keys() & environment.keys() else dict(PASSIVE_WAITING)


def waiting_notes(
    environment: Mapping[str, str], device: Device, workloads: Iterable[WorkloadSpec]
) -> tuple[str, ...]:
    """Return the notes of a check on this device on how threads wait for work.

    Only on a CPU are the sides interleaved.
    """
    if device is not Device.CPU:
        return ()
    spinning = (XLA_NOTE,) if any(spec.framework is Framework.JAX for spec in workloads) else ()
    chosen = passive_waiting(environment)
    if not chosen:
        return spinning
    variables = ", ".join(f"{name}={value}" for name, value in chosen.items())
    note = (
        f"threads of OpenMP and OpenBLAS sleep while they wait, on both sides ({variables}): set "
        "one of these variables to choose otherwise"
    )
    return (note, *spinning)


def _cache_tag(harness: Harness, request: ChildRequest) -> str:
    """Return what a side adds to the keys of torch.compile's caches.

    The keys lack the code of lowerings and passes that the repository registers: with shared
    entries, head would run what was compiled for base, or for another check.
    """
    return f"{harness.folder.name}-{Path(request.root).name}"


def _extension_folder(harness: Harness, request: ChildRequest) -> Path:
    """Return a side's own folder for what torch compiles while a workload runs.

    torch names its results only by the extension: in a shared folder, both sides would load the
    code of the side that compiled first.
    """
    folder = harness.folder / "extensions" / Path(request.root).name
    folder.mkdir(parents=True, exist_ok=True)
    return folder
