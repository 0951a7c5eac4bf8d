"""Commands that keep files about the fleet in the service's database, list and forget them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from perfledger_cost_models.usage import MAX_USAGE_BYTES
from perfledger_service.cli.serving import server_modules
from perfledger_service.pages.imported import imports_text
from perfledger_service.settings import service_settings
from perfledger_service.usecases.load_curves import REQUEST_LATENCY, read_load_curves
from perfledger_service.usecases.text_files import NamedBytes, read_named
from perfledger_service.views import ImportKind

DEFAULT_SOURCE = "main"
Source = Annotated[
    str, typer.Option(help="what it is of, and is asked for by: a cluster, an account, a service")
]
Files = Annotated[list[Path], typer.Argument(help="files, of 64 MiB each at most")]


def import_usage(files: Files, *, source: Source = DEFAULT_SOURCE) -> None:
    """Keep who used what: sacct, Prometheus, Kubernetes, FOCUS bills in CSV; safe to repeat.

    For `--store` of cost fleet, allocate and forecast. Files of one source that tell of the same
    time are refused: their hours would count twice.
    """
    _import(
        [read_named(file, most_bytes=MAX_USAGE_BYTES) for file in files], ImportKind.USAGE, source
    )


def import_activity(files: Files, *, source: Source = DEFAULT_SOURCE) -> None:
    """Keep how busy devices were: Prometheus, sacct, CloudWatch, Cloud Monitoring, W&B.

    For `--store` of cost utilization; safe to repeat.
    """
    _import(
        [read_named(file, most_bytes=MAX_USAGE_BYTES) for file in files],
        ImportKind.ACTIVITY,
        source,
    )


def import_jobs(files: Files, *, source: Source = DEFAULT_SOURCE) -> None:
    """Keep job logs (SWF, sacct, kubectl, Prometheus, ...); the newest of a source is replayed.

    For `--store` of cost queue and simulate; safe to repeat.
    """
    _import(
        [read_named(file, most_bytes=MAX_USAGE_BYTES) for file in files], ImportKind.JOBS, source
    )


def import_load(
    curves: Annotated[
        list[str], typer.Argument(help="load curves: FILE, or DEVICE=FILE as of cost rightsize")
    ],
    *,
    latency: Annotated[
        str, typer.Option(help="of other tools' files, what P99: request_latency, ttft, tpot, itl")
    ] = REQUEST_LATENCY,
    source: Source = DEFAULT_SOURCE,
) -> None:
    """Keep load curves, ours or another tool's; a later one of the same replica goes before.

    For `--store` of cost rightsize; safe to repeat.
    """
    with server_modules():
        from perfledger_service.usecases.importing import file_of_curves  # noqa: PLC0415 - server's
    found = read_load_curves(curves, latency=latency)
    _import([file_of_curves(", ".join(curves), found)], ImportKind.LOAD, source)


def import_list() -> None:
    """List what was imported."""
    with server_modules():
        from perfledger_service.store.database import reading  # noqa: PLC0415 - server modules
        from perfledger_service.store.imports import imports  # noqa: PLC0415
        from perfledger_service.store.migrating import open_current  # noqa: PLC0415
    with open_current(service_settings().database_url) as engine, reading(engine) as session:
        Console().print(imports_text(imports(session)))


def import_remove(
    number: Annotated[int, typer.Argument(help="as `perfledger import list` has it")],
) -> None:
    """Forget an imported file."""
    with server_modules():
        from perfledger_service.store.database import writing  # noqa: PLC0415 - server modules
        from perfledger_service.store.imports import remove_import  # noqa: PLC0415
        from perfledger_service.store.migrating import open_current  # noqa: PLC0415
    with open_current(service_settings().database_url) as engine, writing(engine) as session:
        remove_import(session, number)
        session.commit()
    typer.echo(f"import {number} is forgotten")


def _import(files: Sequence[NamedBytes], kind: ImportKind, source: str) -> None:
    with server_modules():
        from perfledger_service.store.migrating import open_current  # noqa: PLC0415 - server's
        from perfledger_service.usecases.importing import import_file  # noqa: PLC0415
    with open_current(service_settings().database_url) as engine:
        for file in files:
            kept, is_new = import_file(
                engine, file, kind=kind, source=source, now=datetime.now(UTC)
            )
            what = "imported" if is_new else "is there already"
            typer.echo(f"{kept.name}: {what} as {kept.id} of {kept.source}: {kept.summary}")
