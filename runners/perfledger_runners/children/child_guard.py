"""Kills the processes of children when the agent that started them was killed itself.

An agent kills all processes of a child when the child is done. SIGKILL leaves it no time for that:
a program that a step started, a launcher with its ranks, or a build would go on, and disturb all
later checks. A guard is a second process of the agent, in a session of its own. It reads from a
pipe which children run, and the end of the pipe tells it that the agent is gone.

`python -P -m perfledger_runners.children.child_guard` runs a guard.
"""

import os
import subprocess
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from perfledger_runners.children.child_variables import child_variables
from perfledger_runners.children.process_tree import kill

# The first word of a line; the mark of a child is the second one.
BEGIN, SESSION, END = "begin", "session", "end"


@dataclass(frozen=True, slots=True)
class ChildGuard:
    """The agent's end of the pipe to its guard; without a guard nothing is written."""

    process: subprocess.Popen[bytes] | None = None

    def begin(self, mark: str) -> None:
        """Report that a child with this mark in its environment is about to start."""
        self._write(BEGIN, mark)

    def add_session(self, mark: str, session: int) -> None:
        """Report the session of a child that has started."""
        self._write(SESSION, mark, str(session))

    def end(self, mark: str) -> None:
        """Report that all processes of this child are gone."""
        self._write(END, mark)

    def _write(self, *words: str) -> None:
        if self.process is None or self.process.stdin is None:
            return
        with suppress(OSError):  # the guard was killed; a child still ends with its parent
            line = f"{' '.join(words)}\n".encode()
            os.write(self.process.stdin.fileno(), line)  # at once, also from threads


NO_GUARD = ChildGuard()


@contextmanager
def child_guard(environment: Mapping[str, str]) -> Generator[ChildGuard]:
    """Start a guard for this process, and end it."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "perfledger_runners.children.child_guard"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=child_variables(environment),
        start_new_session=True,  # a signal to the agent's group does not reach it
        bufsize=0,
    )
    try:
        yield ChildGuard(process)
    finally:
        with suppress(OSError):
            process.communicate()


def watch(lines: Iterable[str]) -> None:
    """Read which children run until the agent is gone, then kill those that still do."""
    running: dict[str, int | None] = {}
    for line in lines:
        match line.split():
            case [word, mark] if word == BEGIN:
                running[mark] = None
            case [word, mark, process] if word == SESSION:
                running[mark] = int(process)
            case [word, mark] if word == END:
                running.pop(mark, None)
            case _:
                pass
    for mark, session in running.items():
        kill(session, mark)


if __name__ == "__main__":
    watch(sys.stdin)
