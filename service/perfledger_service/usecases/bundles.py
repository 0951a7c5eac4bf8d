"""Bundles on disk: spooled, read again, uploaded."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from perfledger.bundle import Bundle
from perfledger_runners.bundles import MAX_PLAIN_BYTES, read_bundle, write_bundle
from perfledger_runners.upload import TOKEN, UploadError, check_url, upload
from perfledger_service.errors import NotFoundError, SettingsError, UsageError
from perfledger_service.report import Report
from perfledger_service.settings import UploadSettings
from perfledger_service.usecases.reporting import report_on
from perfledger_service.usecases.translating import translated

# A check is a few minutes of an accelerator and some 100 kB: weeks of them fit, and none is lost.
SPOOLED_BUNDLES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A service that bundles are uploaded to, and the project's token for it."""

    url: str
    token: str = field(repr=False)


def target_of(url: str | None, settings: UploadSettings) -> Target | None:
    """Return where to upload: `url`, else what is set; None where no service is named.

    Raises UsageError for an address that a token must not be sent to, and SettingsError without a
    token that can be one: both are known before anything is measured.
    """
    address = url or settings.upload_url
    if not address:
        return None
    try:
        check_url(address)
    except UploadError as error:
        raise UsageError(str(error)) from error
    token = settings.upload_token.get_secret_value() if settings.upload_token else ""
    if not TOKEN.fullmatch(token):
        state = "has characters that no token has" if token else "is not set"
        msg = f"PERFLEDGER_UPLOAD_TOKEN {state}: perfledger project add prints a token"
        raise SettingsError(msg)
    return Target(url=address, token=token)


def make_room(environment: Mapping[str, str], *, also: Path | None = None) -> None:
    """Make the folders that `spool` writes into, before there is a bundle that could be lost.

    Raises UsageError where one cannot be written.
    """
    try:
        for folder in (_spool_folder(environment), *([also.parent] if also is not None else [])):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
    except (OSError, RuntimeError) as error:  # RuntimeError: nobody's home is known
        msg = f"cannot keep the bundle: {error} (XDG_STATE_HOME names another place)"
        raise UsageError(msg) from error


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


def report_of(path: Path) -> tuple[Bundle, Report]:
    """Judge, explain and price a bundle from its file."""
    bundle = read(path)
    with translated():
        return bundle, report_on(bundle, today=datetime.now(UTC).date(), is_local=True)


def submit(path: Path, target: Target) -> str:
    """Upload a bundle's file and return the address of its page."""
    read(path)  # what the service would refuse is said here, without a round trip
    with translated():
        return upload(path, target.url, target.token).url


def _spool_folder(environment: Mapping[str, str]) -> Path:
    state = environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "perfledger" / "bundles"
