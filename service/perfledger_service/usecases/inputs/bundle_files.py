"""Spools bundles on disk and reads them."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from perfledger.bundle import Bundle
from perfledger_runners.bundles.files import MAX_PLAIN_BYTES, read_bundle, write_bundle
from perfledger_runners.user_folders import state_folder
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import errors_about, shown_path, unreadable_file

# A check takes minutes on an accelerator and about 100 kB on disk: this keeps weeks of checks.
SPOOLED_BUNDLES = 100
# Name of a kept bundle: neither a path nor an option.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def prepare_spool(environment: Mapping[str, str], *, also: Path | None = None) -> None:
    """Create the folders of `spool_bundle` before there is a bundle that could be lost.

    Raises UsageError if one cannot be written.
    """
    try:
        for folder in (_spool_folder(environment), *([also.parent] if also is not None else [])):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
    except (OSError, RuntimeError) as error:  # RuntimeError: the home folder is unknown
        msg = f"cannot keep the bundle: {error} (set XDG_STATE_HOME to another folder)"
        raise UsageError(msg) from error


def spool_bundle(
    bundle: Bundle, environment: Mapping[str, str], *, also: Path | None = None
) -> Path:
    """Write the bundle into the user's spool folder, and to `also`; return its path.

    The newest SPOOLED_BUNDLES stay, so that a failed upload can be repeated later; this one stays
    even if the clock went back and it looks older.
    """
    folder = _spool_folder(environment)
    path = folder / f"{bundle.created_at.replace(':', '')}-{bundle.id}.json"
    write_bundle(bundle, path)
    earlier = sorted(set(folder.glob("*.json")) - {path}, reverse=True)
    for old in earlier[SPOOLED_BUNDLES - 1 :]:
        old.unlink(missing_ok=True)
    if also is not None:
        write_bundle(bundle, also)
    return also or path


def named_bundle_path(name: str, environment: Mapping[str, str]) -> Path:
    """Return the file of a bundle kept under a name; raise UsageError unless the name is plain."""
    if not _NAME.fullmatch(name):
        msg = f"--save {name[:40]!r} is not a name: use up to 100 letters, digits, '-', '_' and '.'"
        raise UsageError(msg)
    with translate_errors():
        return state_folder(environment) / "named" / f"{name}.json"


def bundle_path(path: Path, environment: Mapping[str, str]) -> Path:
    """Return the path, or the bundle kept under this name if there is no such file."""
    if not path.exists() and _NAME.fullmatch(str(path)):
        named = named_bundle_path(str(path), environment)
        return named if named.exists() else path
    return path


def newest_bundle_path(earlier: Path, environment: Mapping[str, str]) -> Path:
    """Return the file of the last check of the repository that the `earlier` bundle is of.

    Raises NotFoundError and UsageError, also if no check is later.
    """
    if earlier.is_dir() or earlier.suffix.lower() == ".csv":
        msg = f"compared with what? Give a file of the same kind as {shown_path(earlier)}"
        raise UsageError(msg)
    before = read_bundle_file(earlier)
    for path in sorted(_spool_folder(environment).glob("*.json"), reverse=True):
        after = read_bundle_file(path)
        if after.created_at <= before.created_at:
            break
        if after.repository == before.repository:
            return path
    msg = (
        f"no later check of this repository than {shown_path(earlier)} is kept: run "
        "`perfledger check`, or give the other bundle"
    )
    raise UsageError(msg)


def read_bundle_file(path: Path) -> Bundle:
    """Read a bundle's file; raises NotFoundError and UsageError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_PLAIN_BYTES + 1)
    except OSError as error:
        raise unreadable_file(path, error) from error
    with errors_about(path):
        return read_bundle(data)


def _spool_folder(environment: Mapping[str, str]) -> Path:
    with translate_errors():
        return state_folder(environment) / "bundles"
