"""A repository in, the files that make it measurable out."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from perfledger_runners.git import RepositoryError
from perfledger_runners.repository import Repository
from perfledger_service.settings import CONFIG_FILES, MAX_CONFIG_BYTES, file_table

_FILES = {
    "perfledger.toml": "perfledger.toml",
    "benchmarks/example.py": "example.py",
    ".github/workflows/perfledger.yml": "workflow.yml",
}


@dataclass(frozen=True, slots=True)
class Written:
    """One file of the set-up; `is_new` is False where the user's own was left alone."""

    path: str
    is_new: bool


def init(root: Path) -> tuple[Written, ...]:
    """Write a configuration, an example workload and a workflow below `root`.

    What is there already is never touched: neither a file of the same name, nor a configuration
    table in pyproject.toml, nor a folder that already holds workloads.
    """
    written: list[Written] = []
    for path, template in _FILES.items():
        is_new = not _is_there(root, path)
        if is_new:
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            source = files("perfledger_templates").joinpath("init", template)
            target.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        written.append(Written(path, is_new))
    return tuple(written)


def configured_table(root: Path) -> tuple[str, dict[str, object]] | None:
    """Return the name and the perfledger table of the configuration file below `root`, if any.

    Raises SettingsError for one that cannot be read.
    """
    for name in CONFIG_FILES:
        path = root / name
        if path.is_file():
            with path.open("rb") as file:
                table = file_table(name, file.read(MAX_CONFIG_BYTES + 1))
            if table is not None:
                return name, table
    return None


def root_of(folder: Path) -> Path:
    """Return the top of the repository that `folder` is in, or `folder` where it is in none."""
    try:
        return Repository.open(folder).root
    except RepositoryError:
        return folder


def _is_there(root: Path, path: str) -> bool:
    match path:
        case "perfledger.toml":
            return configured_table(root) is not None
        case "benchmarks/example.py":
            return any((root / "benchmarks").glob("*.py"))
        case _:
            return (root / path).exists()
