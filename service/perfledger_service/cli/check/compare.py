"""Compares two bundles or files of runs that were not measured in pairs."""

import os
from pathlib import Path
from typing import Annotated

import typer

from perfledger.metrics import WorseDirection
from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.output import DocumentOutput


@command(
    examples=(
        "perfledger compare before.csv after.csv --metric seconds --worse higher",
        "perfledger compare bundles bundle.json --format markdown",
    )
)
def compare(
    a: Annotated[
        Path,
        argument(
            "a bundle, its name (--save), a folder of them, or CSV or JSON with a value per run",
            metavar="A",
        ),
    ],
    b: Annotated[
        Path | None,
        argument(
            "a file of the same kind, compared with A",
            metavar="B",
            default="the last check of A's repository",
        ),
    ] = None,
    *,
    metric: Annotated[str | None, what("only this metric, or this column", metavar="NAME")] = None,
    baseline: Annotated[
        str, what("compare B with the check of this commit in folder A", metavar="COMMIT")
    ] = "",
    accepted_commit: Annotated[
        list[str] | None,
        how(
            "accept the level of this commit and ignore older checks; repeatable", metavar="COMMIT"
        ),
    ] = None,
    worse: Annotated[WorseDirection | None, how("which direction of a column is worse")] = None,
    output: DocumentOutput,
) -> None:
    """Compare two bundles or two files of runs that were not measured in pairs.

    If A is a folder of earlier bundles, a baseline is chosen from it and the reason is shown. Exit
    codes: 0 no regression, 1 regression, 2 usage, 3 undecided or not measured.
    """
    from perfledger_service.rendering.check.compare import comparison_document
    from perfledger_service.usecases.check.baseline_folder import BaselinePreferences
    from perfledger_service.usecases.check.compare import compare as compare_files, exit_code_of
    from perfledger_service.usecases.inputs.bundle_files import bundle_path, newest_bundle_path

    wishes = BaselinePreferences(pinned=baseline, accepted=tuple(accepted_commit or ()))
    base = bundle_path(a, os.environ)
    head = bundle_path(b, os.environ) if b else newest_bundle_path(base, os.environ)
    comparison = compare_files(base, head, metric=metric, worse=worse, preferences=wishes)
    code = exit_code_of(comparison.verdicts)
    output.write_document(comparison, lambda view: comparison_document(view, exit_code=int(code)))
    raise typer.Exit(code)
