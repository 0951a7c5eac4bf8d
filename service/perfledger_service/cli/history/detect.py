"""Finds change points in a history."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.history.tool_options import CloneFolder, OneMachine, ToolName
from perfledger_service.cli.option_groups import argument, what
from perfledger_service.cli.output import ChartOutput
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # these would make every help slow
    from perfledger_service.rendering.layout.document import Document
    from perfledger_service.values.measured_series import SearchedSeries


@command(
    examples=(
        "perfledger history detect timings.csv",
        "perfledger history detect bundles --json",
        "perfledger history detect data.js --column 'decode time' --format svg --output decode.svg",
    )
)
def detect(
    file: Annotated[
        Path,
        argument("a file or folder: CSV, JSON, bundles, another tool's history", metavar="FILE"),
    ],
    *,
    column: Annotated[
        str | None, what("the column of values, or one of several series", metavar="NAME")
    ] = None,
    epoch_column: Annotated[
        str | None, what("the column that changes with the machine", metavar="NAME")
    ] = None,
    error_column: Annotated[
        str | None, what("the column with the values' standard errors", metavar="NAME")
    ] = None,
    time_column: Annotated[
        str | None, what("the column with the time of each value", metavar="NAME")
    ] = None,
    source: ToolName = None,
    clone: CloneFolder = None,
    one_machine: OneMachine = False,
    output: ChartOutput,
) -> None:
    """Find where a history changed, drifted or became noisy.

    A CSV or JSON file has one value per commit; the bundles of a folder are ordered by date. Empty
    cells and "nan" are gaps. With --time-column, the machine's daily and weekly cycles are removed.
    Changes in several series at one commit are one event. Exits with 0 whether or not it finds
    changes.

    Histories of other tools are recognised by their content. Their commits are ordered by --clone,
    else by the file, else by their dates. Results of uncommitted changes are left out.
    """
    from perfledger_service.rendering.history.detect import histories_document
    from perfledger_service.usecases.history.detect import events_of, search
    from perfledger_service.usecases.inputs.benchmark_histories import format_named

    series = search(
        file,
        column=column,
        epoch=epoch_column,
        error=error_column,
        time=time_column,
        format_=None if source is None else format_named(source),
        clone=clone,
        is_one_machine=one_machine,
    )
    events = events_of(series)

    def document(searched: "Sequence[SearchedSeries]") -> "Document":
        return histories_document(searched, events=events)

    output.write_document(series, document, svg=_chart)


def _chart(series: "Sequence[SearchedSeries]") -> str:
    from perfledger_service.rendering.history.plot import history_svg
    from perfledger_service.usecases.inputs.table_columns import quote_names

    if len(series) > 1:
        names = quote_names(searched.series.name for searched in series)
        msg = f"--format svg draws one series: choose it with --column: {names}"
        raise UsageError(msg)
    return history_svg(series[0])
