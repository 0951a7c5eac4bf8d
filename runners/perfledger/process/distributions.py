"""Lists the installed distributions whose modules a process has loaded."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

MAX_DISTRIBUTIONS = 1000  # an environment with torch and JAX has some hundred
METADATA_SUFFIX = ".dist-info"
# Bytes read of a list of files: enough for the packages of a distribution that names them
# nowhere else.
RECORD_BYTES = 2**16


def loaded_distributions(modules: Collection[str], search_path: Iterable[str]) -> Mapping[str, str]:
    """Return the versions of distributions by name, for each name the first on the path.

    Only folder listings and small files are read; importlib.metadata would parse every RECORD,
    which takes half a second in each child.
    """
    loaded = {name.partition(".")[0] for name in modules}
    versions: dict[str, str] = {}
    for folder in _metadata_folders(search_path):
        name, _, version = folder.name.removesuffix(METADATA_SUFFIX).partition("-")
        if name not in versions and _is_loaded(folder, name, loaded):
            versions[name] = version
        if len(versions) == MAX_DISTRIBUTIONS:
            break
    return versions


def _metadata_folders(search_path: Iterable[str]) -> Iterator[Path]:
    for folder in dict.fromkeys(search_path):
        try:
            names = os.listdir(folder) if folder else ()  # noqa: PTH208 - strings sort much faster
        except (OSError, ValueError):  # a search path may hold any text
            continue
        for name in sorted(names):
            if name.endswith(METADATA_SUFFIX):
                yield Path(folder, name)


def _is_loaded(folder: Path, name: str, loaded: Collection[str]) -> bool:
    """Return whether a top-level module of the distribution is loaded."""
    if name in loaded or name.lower() in loaded:
        return True
    top_level = _start_of(folder / "top_level.txt")
    if top_level:
        return any(line.strip() in loaded for line in top_level.splitlines())
    starts = {line.partition("/")[0] for line in _start_of(folder / "RECORD").splitlines()}
    return any(start.partition(",")[0].removesuffix(".py") in loaded for start in starts)


def _start_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(RECORD_BYTES).decode(errors="replace")
    except OSError:
        return ""
