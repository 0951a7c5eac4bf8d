"""Commands that look at measurements in files: histories, their noise, and two sides of runs."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfledger.metrics import Worse
from perfledger_service.cli.checking import Format, Formatted, Output
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.errors import UsageError
from perfledger_service.pages.compared import (
    comparison_json,
    comparison_markdown,
    comparison_text,
)
from perfledger_service.pages.detected import histories_json, histories_markdown, histories_text
from perfledger_service.pages.escape import clean
from perfledger_service.pages.history_plot import history_svg
from perfledger_service.pages.power import power_json, power_markdown, power_text
from perfledger_service.usecases.baselines import Wishes
from perfledger_service.usecases.comparing import compare as compare_files, exit_code_of
from perfledger_service.usecases.detecting import events_of, search
from perfledger_service.usecases.power import (
    CHANGES,
    COUNTS,
    Question,
    power_of_file,
    power_of_spread,
)
from perfledger_service.views import SearchedSeries


class HistoryFormat(StrEnum):
    """How a history is written."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"
    SVG = "svg"


ColumnName = Annotated[str | None, typer.Option("--column", help="the column with the values")]


def detect(
    file: Annotated[Path, typer.Argument(help="CSV, JSON, or a folder of result bundles")],
    *,
    column: Annotated[
        str | None, typer.Option(help="the column with the values, or the series of a folder")
    ] = None,
    epoch: Annotated[
        str | None, typer.Option(help="the column that changes where another machine took over")
    ] = None,
    error: Annotated[
        str | None, typer.Option(help="the column with the values' standard errors")
    ] = None,
    form: Annotated[
        HistoryFormat, typer.Option("--format", help="how to write it; svg draws one series")
    ] = HistoryFormat.TABLE,
    output: Output = None,
) -> None:
    """Find where a history moved, what came back, how it crept and jittered.

    One value per commit in a CSV or JSON file, or a folder of bundles in order of their dates.
    Empty cells and "nan" are gaps. A folder's series are put together: one event for what one
    commit did to many. Exits with 0 whatever is found.
    """
    found = search(file, column=column, epoch=epoch, error=error)
    happened = events_of(found)
    match form:
        case HistoryFormat.TABLE:
            show_table(histories_text(found, happened=happened), output)
        case HistoryFormat.MARKDOWN:
            show_text(histories_markdown(found, happened=happened), output)
        case HistoryFormat.JSON:
            show_text(histories_json(found, happened=happened), output)
        case HistoryFormat.SVG:
            show_text(_drawing(found), output)


def power(
    file: Annotated[
        Path | None, typer.Argument(help="a bundle, or CSV or JSON with one value per run")
    ] = None,
    *,
    column: ColumnName = None,
    sd: Annotated[
        float | None, typer.Option("--sd", help="percent by which pairs differ, in place of a file")
    ] = None,
    pairs: Annotated[int | None, typer.Option(help="for this number of pairs alone")] = None,
    change: Annotated[float | None, typer.Option(help="for this change alone, in percent")] = None,
    tests: Annotated[int, typer.Option(help="metrics of workloads that share alpha")] = 1,
    alpha: Annotated[float, typer.Option(help="chance of any false change among them")] = 0.05,
    form: Formatted = Format.TABLE,
    output: Output = None,
) -> None:
    """Say which changes so many pairs find, and how many pairs a change needs."""
    if (file is None) is (sd is None):
        msg = "power needs one of the two: a FILE to learn the spread from, or --sd PERCENT"
        raise UsageError(msg)
    question = Question(
        counts=COUNTS if pairs is None else (pairs,),
        changes=CHANGES if change is None else (change / 100,),
        tests=tests,
        alpha=alpha,
    )
    if file is not None:
        found = power_of_file(file, question, column=column)
    else:
        found = power_of_spread((sd or 0.0) / 100, question)
    match form:
        case Format.TABLE:
            show_table(power_text(found), output)
        case Format.MARKDOWN:
            show_text(power_markdown(found), output)
        case Format.JSON:
            show_text(power_json(found), output)


def compare(
    a: Annotated[
        Path,
        typer.Argument(help="a bundle or a folder of them, or CSV or JSON with one value per run"),
    ],
    b: Annotated[Path, typer.Argument(help="another of the same kind")],
    *,
    metric: Annotated[str | None, typer.Option(help="only this metric, or this column")] = None,
    worse: Annotated[
        Worse | None, typer.Option(help="which way a column gets worse: higher or lower")
    ] = None,
    pin: Annotated[
        str, typer.Option(metavar="COMMIT", help="hold B against the folder's check of this commit")
    ] = "",
    accepted: Annotated[
        list[str] | None,
        typer.Option(metavar="COMMIT", help="its new level is right: nothing older counts"),
    ] = None,
    form: Formatted = Format.TABLE,
    output: Output = None,
) -> None:
    """Compare the heads of two bundles, or two files of runs, that were not measured in pairs.

    What the head is held against is chosen from a folder of earlier bundles, and said with why.

    Exit codes: 0 no regression, 1 regression, 2 usage, 3 undecided or not measured.
    """
    wishes = Wishes(pinned=pin, accepted=tuple(accepted or ()))
    found = compare_files(a, b, metric=metric, worse=worse, wishes=wishes)
    code = exit_code_of(found.verdicts)
    match form:
        case Format.TABLE:
            show_table(comparison_text(found), output)
        case Format.MARKDOWN:
            show_text(comparison_markdown(found), output)
        case Format.JSON:
            show_text(comparison_json(found, exit_code=int(code)), output)
    raise typer.Exit(code)


def _drawing(found: Sequence[SearchedSeries]) -> str:
    if len(found) > 1:
        names = ", ".join(f"'{clean(searched.series.name)}'" for searched in found[:20])
        msg = f"--format svg draws one series: choose it with --column: {names}"
        raise UsageError(msg)
    return history_svg(found[0])
