"""An interpreter and an environment in, all that child processes are started with out."""

import re
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from perfledger.protocol import FD_VARIABLE
from perfledger_runners.interpreter import Interpreter

# Finds what a workload started and detached; see processes.members.
MARK_VARIABLE = "PERFLEDGER_CHILD"
# Ours, the credentials of a CI job, and the files by which a step speaks to the job's later ones: a
# workload is the pull request's code.
SECRET = re.compile(
    r"PERFLEDGER_.*|ACTIONS_.*|GH_TOKEN|GITHUB_(TOKEN|ENV|PATH|OUTPUT|STATE|STEP_SUMMARY)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a child may use. `memory_bytes` None: most of what is available at its start."""

    workload_s: float = 300.0  # from its start to its result
    startup_s: float = 300.0  # imports, and whatever else happens between two workloads
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Harness:
    """What children are started with; `folder` is private to one check."""

    python: Path
    folder: Path
    environment: Mapping[str, str]
    limits: Limits = Limits()
    clock: Callable[[], float] = time.monotonic

    @property
    def sdk(self) -> Path:
        """Return the folder that holds a copy of the `perfledger` package and nothing else."""
        return self.folder / "sdk"


@contextmanager
def prepare_harness(
    interpreter: Interpreter, *, environment: Mapping[str, str], limits: Limits | None = None
) -> Generator[Harness]:
    """Lay out the private folder of a check, and remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="perfledger-", ignore_cleanup_errors=True) as name:
        harness = Harness(
            python=interpreter.path,
            folder=Path(name),
            environment=environment,
            limits=limits or Limits(),
        )
        package = harness.sdk / "perfledger"
        package.mkdir(parents=True)
        for source in files("perfledger").iterdir():
            if source.name.endswith(".py"):
                (package / source.name).write_bytes(source.read_bytes())
        yield harness


def child_environment(
    harness: Harness, *, device: str, descriptor: int, mark: str
) -> dict[str, str]:
    """Return the user's environment without secrets, with our package in front.

    Both sides hash strings alike, so that the order of a set is no difference between them.
    """
    kept = without_secrets(harness.environment)
    paths = (str(harness.sdk), kept.get("PYTHONPATH", ""))
    kept["PYTHONPATH"] = ":".join(path for path in paths if path)
    kept["PYTHONHASHSEED"] = "0"
    kept[FD_VARIABLE] = str(descriptor)
    kept[MARK_VARIABLE] = mark
    if device == "cpu":
        kept["JAX_PLATFORMS"] = "cpu"
    return kept


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that neither configure perfledger nor open a CI job's doors."""
    return {name: value for name, value in environment.items() if not SECRET.fullmatch(name)}
