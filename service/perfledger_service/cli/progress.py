"""Shows the progress of a command on the terminal."""

import time
from collections.abc import Callable
from itertools import pairwise
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)
from rich.table import Column

from perfledger.load import LoadResult
from perfledger.records import Side
from perfledger.rounding import integer
from perfledger.time_units import SECONDS_PER_MINUTE
from perfledger_service.rendering.bench.load import load_name, rate
from perfledger_service.rendering.layout.escape import clean
from perfledger_service.rendering.layout.number_format import quantity

_BAR_WIDTH = 20  # columns
_LIMIT = ", for at most "  # of a stage's time, while it lasts


class _Bar:
    """Line on a terminal, shown while its context is open."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __enter__(self) -> Self:
        """Begin to show the line."""
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Clear the line."""
        self._progress.stop()


class TerminalProgress(_Bar):
    """The stage, pairs and remaining time of a check, on standard error.

    A context manager. If standard error is not a terminal, each stage and each pair is a separate
    line.
    """

    def __init__(self, console: Console, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._stages = [("checking out", clock())]
        super().__init__(_measuring(console))
        self._task = self._progress.add_task("starting", total=None, state="")

    def stage(self, name: str) -> None:
        """Show the next stage of the check."""
        self._stages.append((name, self._clock()))
        self._progress.update(self._task, description=name, state="")
        if not self._console.is_terminal:
            self._console.print(f"{name} ...", markup=False)

    def stage_times(self) -> tuple[tuple[str, float], ...]:
        """Return the stages so far, without their limits, each with its seconds."""
        names = [name.partition(_LIMIT)[0] for name, _ in self._stages]
        begins = [begin for _, begin in self._stages]
        seconds = (end - begin for begin, end in pairwise([*begins, self._clock()]))
        return tuple(zip(names, seconds, strict=True))

    def measuring(self, workload: str, side: Side, pair: int) -> None:
        """Show the workload that runs."""
        name = escape(clean(workload, limit=48))
        self._progress.update(self._task, description=f"pair {pair + 1}, {side}: {name}")

    def pair_done(self, *, pairs: int, waiting: int, seconds_left: float) -> None:
        """Show the number of completed pairs and the remaining time."""
        state = f"{waiting} undecided, at most {_minutes(seconds_left)} more" if waiting else "done"
        self._progress.update(self._task, completed=pairs, state=state)
        if not self._console.is_terminal:
            self._console.print(f"  {quantity(pairs, 'pair')}: {state}", markup=False)


class PairsBar(_Bar):
    """Progress through a known number of pairs, on standard error; a context manager."""

    def __init__(self, console: Console, *, most: int) -> None:
        self._console = console
        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=_BAR_WIDTH),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        super().__init__(progress)
        self._most = most
        self._task = self._progress.add_task("starting", total=most or None, state="")

    def stage(self, name: str) -> None:
        """Show the next stage; on a separate line if standard error is not a terminal."""
        self._progress.update(self._task, description=name)
        if not self._console.is_terminal:
            self._console.print(f"{name} ...", markup=False)

    def measuring(self, workload: str, side: Side, pair: int) -> None:
        """Do nothing: a pair takes only a moment."""

    def pair_done(self, *, pairs: int, waiting: int, seconds_left: float) -> None:  # noqa: ARG002
        """Show the number of completed pairs and the remaining time."""
        state = f"pair {pairs} of {self._most}, at most {_minutes(seconds_left)} more"
        self._progress.update(self._task, completed=pairs, state=state)
        if not self._console.is_terminal:
            self._console.print(f"  {state}", markup=False)


class DownloadBar(_Bar):
    """The download progress of each file, on standard error; a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=_BAR_WIDTH),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        super().__init__(progress)
        self._task = self._progress.add_task("asking", total=None)

    def began(self, name: str, *, total_bytes: int | None) -> None:
        """Show the next file; on a separate line if standard error is not a terminal."""
        label = escape(clean(name.removeprefix("https://"), limit=48))
        self._progress.reset(self._task, total=total_bytes, description=label)
        if not self._console.is_terminal:
            self._console.print(f"fetching {name}", markup=False)

    def received(self, count: int) -> None:
        """Show the bytes received."""
        self._progress.advance(self._task, count)


class TableBar(_Bar):
    """Progress of the rows copied in each table, on standard error; a context manager."""

    def __init__(self, console: Console) -> None:
        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=_BAR_WIDTH),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        super().__init__(progress)
        self._task = self._progress.add_task("opening", total=None)

    def began(self, table: str, *, rows: int) -> None:
        """Show the next table with the number of its rows."""
        label = escape(clean(table, limit=48))
        self._progress.reset(self._task, total=rows, description=label)

    def advanced(self, rows: int) -> None:
        """Show that more rows are done."""
        self._progress.advance(self._task, rows)


class LoadBar(_Bar):
    """The workload and the last point of a load test, on standard error; a context manager."""

    def __init__(self, console: Console) -> None:
        self._console = console
        super().__init__(_measuring(console))
        self._task = self._progress.add_task("finding the workload", total=None, state="")

    def stage(self, name: str) -> None:
        """Show why the test waits; on a separate line if standard error is not a terminal."""
        self._progress.update(self._task, description=name)
        if not self._console.is_terminal:
            self._console.print(f"{name} ...", markup=False)

    def loading(self, workload: str) -> None:
        """Show the workload; on a separate line if standard error is not a terminal."""
        self._progress.update(self._task, description=escape(clean(workload, limit=48)))
        if not self._console.is_terminal:
            self._console.print(f"{clean(workload)} ...", markup=False)

    def point_done(self, served: LoadResult) -> None:
        """Show the throughput of the last point."""
        state = f"{load_name(served)}: {rate(served.per_second)} answered"
        self._progress.update(self._task, state=state)
        if not self._console.is_terminal:
            self._console.print(f"  {state}", markup=False)


def _measuring(console: Console) -> Progress:
    """Return the line with the workload, its state and the elapsed time.

    There is no bar because the number of pairs is unknown in advance. Long names are cut.
    """
    return Progress(
        SpinnerColumn(),
        TextColumn(
            "{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")
        ),
        TextColumn("{task.fields[state]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        expand=True,
        disable=not console.is_terminal,
    )


def _minutes(seconds: float) -> str:
    if seconds < 1.5 * SECONDS_PER_MINUTE:
        return f"{integer(seconds)} s"
    return f"{integer(seconds / SECONDS_PER_MINUTE)} min"
