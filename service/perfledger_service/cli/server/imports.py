"""Stores files about the fleet in the service's database, lists and removes them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from perfledger_service.cli.command import command
from perfledger_service.cli.file_or_store import LatencyMetric
from perfledger_service.cli.option_groups import argument, how
from perfledger_service.cli.output import DocumentOutput, Output
from perfledger_service.cli.server_modules import open_store

if TYPE_CHECKING:  # these would make every help slow
    from perfledger_service.usecases.inputs.files import NamedBytes
    from perfledger_service.values.fleet_views import ImportKind, StoredImport

DEFAULT_SOURCE = "main"
Source = Annotated[str, how("cluster, account or service that the file is from", metavar="NAME")]
Files = Annotated[list[Path], argument("files of at most 64 MiB each", metavar="FILE")]


@command(
    examples=(
        "perfledger server import usage usage.csv",
        "perfledger server import usage usage.csv --source west",
        "perfledger server import usage usage.csv --json",
    )
)
def import_usage(files: Files, *, source: Source = DEFAULT_SOURCE, output: DocumentOutput) -> None:
    """Import usage by job: sacct, Prometheus, Kubernetes, FOCUS bills in CSV.

    `fleet hours`, `allocate` and `forecast` read it with `--source`. Repeating it is safe. Files of
    one source that cover the same time are rejected because their hours would be counted twice.
    """
    from perfledger_service.values.fleet_views import ImportKind

    _import(_read(files), ImportKind.USAGE, source, output)


@command(
    examples=(
        "perfledger server import activity activity.csv",
        "perfledger server import activity activity.csv --source west",
        "perfledger server import activity activity.csv --json",
    )
)
def import_activity(
    files: Files, *, source: Source = DEFAULT_SOURCE, output: DocumentOutput
) -> None:
    """Import the utilization of devices: Prometheus, sacct, CloudWatch, Cloud Monitoring, W&B.

    `fleet utilization` reads it with `--source`. Repeating it is safe.
    """
    from perfledger_service.values.fleet_views import ImportKind

    _import(_read(files), ImportKind.ACTIVITY, source, output)


@command(
    examples=(
        "perfledger server import jobs jobs.csv",
        "perfledger server import jobs jobs.csv --source west",
        "perfledger server import jobs jobs.csv --json",
    )
)
def import_jobs(files: Files, *, source: Source = DEFAULT_SOURCE, output: DocumentOutput) -> None:
    """Import job logs: SWF, sacct, kubectl, Prometheus and others.

    `plan queue` and `simulate` read the newest log of a source with `--source`. Repeating it
    is safe.
    """
    from perfledger_service.values.fleet_views import ImportKind

    _import(_read(files), ImportKind.JOBS, source, output)


@command(
    examples=(
        "perfledger server import load curve.json",
        "perfledger server import load H100-80GB=vllm.json --latency-metric ttft --source west",
        "perfledger server import load curve.json --json",
    )
)
def import_load(
    curves: Annotated[
        list[str],
        argument("load curves: FILE, or DEVICE=FILE as for `plan rightsize`", metavar="CURVE"),
    ],
    *,
    latency_metric: LatencyMetric = None,
    source: Source = DEFAULT_SOURCE,
    output: DocumentOutput,
) -> None:
    """Import load curves from perfledger or another tool.

    `plan rightsize` reads them with `--source`, and prefers the newest curve of a replica.
    Repeating it is safe.
    """
    from perfledger_service.usecases.inputs.imports import file_of_curves
    from perfledger_service.usecases.inputs.load_curves import REQUEST_LATENCY, read_load_curves
    from perfledger_service.values.fleet_views import ImportKind

    read = read_load_curves(curves, latency=latency_metric or REQUEST_LATENCY)
    _import([file_of_curves(", ".join(curves), read)], ImportKind.LOAD, source, output)


@command(examples=("perfledger server import list", "perfledger server import list --json"))
def list_imports(*, output: DocumentOutput) -> None:
    """List the imported files."""
    from perfledger_service.rendering.server.imports import imports_document

    with open_store() as engine:
        from perfledger_service.usecases.server.imports import list_imports as stored_imports

        stored = stored_imports(engine)
    output.write_document(stored, imports_document)


@command(
    examples=(
        "perfledger server import remove 1",
        "perfledger server import remove 1 --json",
        "PERFLEDGER_DATABASE_URL=sqlite:///ci.db perfledger server import remove 1",
    )
)
def remove(
    number: Annotated[
        int, argument("its number in `perfledger server import list`", metavar="NUMBER")
    ],
    *,
    output: DocumentOutput,
) -> None:
    """Remove an imported file."""
    from perfledger_service.rendering.server.imports import removed_import_document

    with open_store() as engine:
        from perfledger_service.usecases.server.imports import remove_stored_import

        remove_stored_import(engine, number)
    output.write_document(number, removed_import_document)


def _read(files: Sequence[Path]) -> "list[NamedBytes]":
    from perfledger_cost_models.usage.device_spans import MAX_USAGE_BYTES
    from perfledger_service.usecases.inputs.files import read_named

    return [read_named(file, most_bytes=MAX_USAGE_BYTES) for file in files]


def _import(files: "Sequence[NamedBytes]", kind: "ImportKind", source: str, output: Output) -> None:
    from perfledger_service.rendering.server.imports import new_imports_document

    imported: list[tuple[StoredImport, bool]] = []
    with open_store() as engine:
        from perfledger_service.usecases.inputs.imports import import_file

        try:
            for file in files:
                now = datetime.now(UTC)
                imported.append(import_file(engine, file, kind=kind, source=source, now=now))
        finally:  # those before a rejected file are stored
            if imported:
                output.write_document(imported, new_imports_document)
