"""Reads which distributions folders of packages hold, from what their installers recorded."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from perfledger_runners.children.interpreter import CONDA_RECORDS

RECORD_SUFFIX = ".dist-info"
# Of setuptools: what was installed without pip, and with pip before 2013.
LEGACY_SUFFIX = ".egg-info"
FILE_LIST = "RECORD"
DIGEST_DIGITS = 12
# Files that differ between two installations of the same code: bytecode has no hash in the list,
# and scripts outside the folder begin with the path of their interpreter.
OUTSIDE, BYTECODE = "../", ".pyc"


def distribution_records(folders: Iterable[str]) -> Iterator[Path]:
    """Yield the folders in which installers record the distributions."""
    for folder in folders:
        yield from sorted(Path(folder).glob(f"*{RECORD_SUFFIX}"))


def name_and_version(record: Path) -> tuple[str, str]:
    """Return the name of a record's distribution as in uv.lock, and its version."""
    name, _, version = record.name.removesuffix(RECORD_SUFFIX).partition("-")
    return re.sub(r"[-_.]+", "-", name).lower(), version


def distribution_versions(folders: Iterable[str]) -> dict[str, str]:
    """Return the versions by name; of equal names the first is imported."""
    versions: dict[str, str] = {}
    for record in distribution_records(folders):
        name, version = name_and_version(record)
        versions.setdefault(name, version)
    return versions


def distribution_contents(folders: Iterable[str]) -> dict[str, str]:
    """Return a digest of each distribution's files by name, without those that describe it.

    The list of files has their hashes. A distribution without such a list, or with a file whose
    hash is not listed, has no digest.
    """
    contents: dict[str, str] = {}
    for record in distribution_records(folders):
        name, _ = name_and_version(record)
        if name not in contents:
            contents[name] = _content(record)
    return {name: content for name, content in contents.items() if content}


def installed_packages(folders: Iterable[str], environments: Iterable[Path]) -> dict[str, str]:
    """Return each installed package's version and the digest of its files, by name.

    `environments` may hold packages that conda installed.
    """
    paths = tuple(folders)
    contents = distribution_contents(paths)
    packages: dict[str, str] = {}
    for environment in environments:
        packages |= conda_packages(environment)
    for folder in paths:
        for path in sorted(Path(folder).glob(f"*{LEGACY_SUFFIX}")):
            packages.setdefault(path.stem.partition("-")[0].lower(), path.stem.partition("-")[2])
    for name, version in distribution_versions(paths).items():
        packages[name] = f"{version} ({contents[name]})" if name in contents else version
    return packages


def conda_packages(environment: Path) -> Mapping[str, str]:
    """Return the versions of conda's packages by name: NAME-VERSION-BUILD.json records each."""
    records = (environment / CONDA_RECORDS).glob("*-*-*.json")
    return dict(path.stem.rsplit("-", 2)[:2] for path in records)


def _content(record: Path) -> str:
    """Return the digest of the files that a distribution's list names, "" if it is not known."""
    lines: list[str] = []
    with suppress(OSError):
        lines = (record / FILE_LIST).read_text(encoding="utf-8", errors="replace").splitlines()
    files = sorted(
        line
        for line in lines
        if not line.startswith((OUTSIDE, f"{record.name}/"))
        and not line.partition(",")[0].endswith(BYTECODE)
    )
    if not files or not all(map(_has_hash, files)):
        return ""
    return sha256("\n".join(files).encode()).hexdigest()[:DIGEST_DIGITS]


def _has_hash(line: str) -> bool:
    """Return whether a line of a list of files has the hash: path, hash, size."""
    _, *facts = line.rsplit(",", 2)
    return len(facts) > 1 and bool(facts[0])
