"""Writes the files that make a repository measurable."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from perfledger_service.usecases.inputs.repository_config import configured_table

_FILES = {
    "perfledger.toml": "perfledger.toml",
    "benchmarks/example.py": "example.py",
    ".github/workflows/perfledger.yml": "workflow.yml",
}


@dataclass(frozen=True, slots=True)
class SetupFile:
    """One file of the set-up; `is_new` is False if the user's own file was kept."""

    path: str
    is_new: bool


def write_setup(root: Path) -> tuple[SetupFile, ...]:
    """Write a configuration, an example workload and a workflow below `root`.

    Existing files are never changed: a file of the same name, a configuration table in
    pyproject.toml, or a folder that already contains workloads.
    """
    written: list[SetupFile] = []
    for path, template in _FILES.items():
        is_new = not _is_there(root, path)
        if is_new:
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            source = files("perfledger_templates").joinpath("init", template)
            target.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        written.append(SetupFile(path, is_new))
    return tuple(written)


def _is_there(root: Path, path: str) -> bool:
    match path:
        case "perfledger.toml":
            return configured_table(root) is not None
        case "benchmarks/example.py":
            return any((root / "benchmarks").glob("*.py"))
        case _:
            return (root / path).exists()
