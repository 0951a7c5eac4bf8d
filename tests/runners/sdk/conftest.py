"""A repository of a user's, the harness run on it here or in a child, a scripted clock."""

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import pytest

import perfledger
from perfledger.measuring.rank_link import RankLink
from perfledger.process.commands import run_command
from perfledger.process.forks.process_end import ProcessEnd
from perfledger.process.message_channel import MessageChannel
from perfledger.protocol import FD_VARIABLE, ChildRequest, Command, MeasuringEffort
from perfledger.workload import REGISTERED_WORKLOADS

SOURCE_ROOT = Path(perfledger.__file__).parents[1]
QUICK = MeasuringEffort(
    min_steps=2, max_steps=2, min_seconds=0.0, max_seconds=0.1, min_warmups=1, max_warmups=1
)

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the messages, and in a child also what it printed and how it ended."""

    messages: tuple[Message, ...]
    stdout: str = ""
    stderr: str = ""
    status: int = 0

    def of(self, event: str) -> tuple[Message, ...]:
        return tuple(each for each in self.messages if each["event"] == event)

    def about(self, workload: str) -> Message:
        """The last word on a workload, before the end of its process."""
        words = [each for each in self.messages if each["event"] != "ended"]
        return [each for each in words if each.get("workload") == workload][-1]


class ScriptedClock:
    """A clock that reads its times off a list, so that no test waits or flickers."""

    def __init__(self, times: Sequence[float]) -> None:
        self._times = iter(times)

    def time(self, step: Callable[[], object]) -> float:
        step()
        return next(self._times)


@pytest.fixture(scope="session")
def torch() -> ModuleType:
    return import_module("torch")


@pytest.fixture(scope="session")
def scripted_clock() -> type[ScriptedClock]:
    return ScriptedClock


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Mapping[str, str]], Path]:
    """Write files below a repository's root and return the root."""

    def write_files(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write_files


@pytest.fixture
def clean_process(tmp_path: Path) -> Iterator[None]:
    """Forget the modules and workloads that a test imported, its paths, and where it went."""
    before, path, folder = set(sys.modules), list(sys.path), Path.cwd()
    finders = list(sys.meta_path)
    state, registered = random.getstate(), dict(REGISTERED_WORKLOADS)
    python_path = os.environ.get("PYTHONPATH")
    REGISTERED_WORKLOADS.clear()
    yield
    new = [name for name in sys.modules if name not in before]
    for name in [name for name in new if _is_users(name, tmp_path)]:
        del sys.modules[name]
    sys.path[:] = path
    sys.meta_path[:] = finders
    os.environ.pop("PYTHONPATH", None)
    if python_path is not None:
        os.environ["PYTHONPATH"] = python_path
    os.chdir(folder)
    random.setstate(state)
    REGISTERED_WORKLOADS.clear()
    REGISTERED_WORKLOADS.update(registered)


def _is_users(name: str, folder: Path) -> bool:
    if name.startswith("bench"):
        return True
    names = vars(sys.modules[name])
    homes = [names.get("__file__"), *names.get("__path__", ())]
    return any(Path(home).is_relative_to(folder) for home in homes if home)


def ask(root: Path, command: Command, **changes: Any) -> ChildRequest:
    request = ChildRequest(command=command, root=str(root), repository=str(root), effort=QUICK)
    return replace(request, **changes)


@pytest.fixture
def send_command(clean_process: None) -> Callable[..., Answer]:  # noqa: ARG001 - cleans up after it
    """Run a command in this process, answered through a real pipe."""

    def run(
        root: Path, command: Command, *, link: RankLink | None = None, **changes: Any
    ) -> Answer:
        reader, writer = os.pipe()
        channel = MessageChannel(writer)
        with Drain(reader) as drain:
            try:
                run_command(ask(root, command, **changes), channel, end=ProcessEnd(root), link=link)
            finally:
                channel.close()
        return Answer(drain.messages())

    return run


def _run_child(
    root: Path, command: Command, *, python_path: Sequence[Path] = (), **changes: Any
) -> Answer:
    """Run a command the way the agent does: a fresh interpreter, a pipe of its own."""
    file = root.parent / f"{root.name}-request.json"
    ask(root, command, **changes).write(file)
    reader, writer = os.pipe()
    path = os.pathsep.join(map(str, (SOURCE_ROOT, *python_path)))
    environment = {**os.environ, FD_VARIABLE: str(writer), "PYTHONPATH": path}
    with Drain(reader) as drain:
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-m", "perfledger", str(file)],
                pass_fds=[writer],
                env=environment,
                capture_output=True,
                check=False,
                timeout=3600,
            )
        finally:
            os.close(writer)
    stdout, stderr = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    return Answer(drain.messages(), stdout, stderr, done.returncode)


@pytest.fixture(scope="session")
def run_child() -> Callable[..., Answer]:
    return _run_child


class Drain:
    """Reads a pipe to its end on a thread, so that a long answer cannot fill it."""

    def __init__(self, reader: int) -> None:
        self._reader = reader
        self._data = b""
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.join()
        os.close(self._reader)

    def messages(self) -> tuple[Message, ...]:
        return tuple(json.loads(line) for line in self._data.splitlines())

    def _read(self) -> None:
        while chunk := os.read(self._reader, 65_536):
            self._data += chunk
