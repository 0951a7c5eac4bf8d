"""Bundles on disk: spooled, read again, uploaded."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from perfledger.bundle import Bundle
from perfledger_runners.bundles import MAX_PLAIN_BYTES, read_bundle, write_bundle
from perfledger_runners.upload import upload
from perfledger_service.errors import NotFoundError
from perfledger_service.report import Report
from perfledger_service.usecases.reporting import report_on
from perfledger_service.usecases.translating import translated

# A check is a few minutes of an accelerator and some 100 kB: weeks of them fit, and none is lost.
SPOOLED_BUNDLES = 100


def spool(bundle: Bundle, environment: Mapping[str, str], *, also: Path | None = None) -> Path:
    """Write the bundle into the user's spool folder, and to `also`; return where it can be found.

    The newest SPOOLED_BUNDLES stay: what could not be uploaded can be submitted later.
    """
    folder = _spool_folder(environment)
    path = folder / f"{bundle.created_at.replace(':', '')}-{bundle.id}.json"
    write_bundle(bundle, path)
    for old in sorted(folder.glob("*.json"))[:-SPOOLED_BUNDLES]:
        old.unlink(missing_ok=True)
    if also is not None:
        write_bundle(bundle, also)
    return also or path


def read(path: Path) -> Bundle:
    """Read a bundle's file; raises NotFoundError and UsageError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_PLAIN_BYTES + 1)
    except OSError as error:
        msg = f"cannot read the bundle {path}: {error.strerror}"
        raise NotFoundError(msg) from error
    with translated():
        return read_bundle(data)


def report_of(path: Path) -> Report:
    """Judge, explain and price a bundle from its file."""
    bundle = read(path)
    with translated():
        return report_on(bundle, today=datetime.now(UTC).date(), is_local=True)


def submit(path: Path, url: str, token: str) -> str:
    """Upload a bundle's file and return the address of its page."""
    read(path)  # what the service would refuse is said here, without a round trip
    with translated():
        return upload(path, url, token).url


def _spool_folder(environment: Mapping[str, str]) -> Path:
    state = environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "perfledger" / "bundles"
