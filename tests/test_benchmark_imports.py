"""Benchmarks import what stands beside them, and of the judge only what commands run."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAMS = sorted((ROOT / "benchmarks").rglob("*.py"))
PAGES = ("service", "runners", "baselines", "cost_models", "examples", "benchmarks")
PRODUCT = ("service/perfledger_service", "runners/perfledger", "runners/perfledger_runners")
# Those whose tables are published as the rates of a check and of the history.
BENCHMARKS = sorted(
    path
    for pattern in ("judge_*.py", "history_*.py", "simulated_checks.py", "*_gate.py")
    for path in (ROOT / "benchmarks").rglob(pattern)
)


def judging_imports(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the module and name of whatever a file imports from perfledger_baselines."""
    text = path.read_text()
    if "perfledger_baselines" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.ImportFrom(module=str(module), names=names, level=0):
                if module.split(".")[0] == "perfledger_baselines":
                    yield from ((module, alias.name) for alias in names)
            case ast.Import(names=names):
                yield from (
                    (alias.name, "*")
                    for alias in names
                    if alias.name.split(".")[0] == "perfledger_baselines"
                )
            case _:
                pass


@pytest.fixture(scope="module")
def product_imports() -> frozenset[tuple[str, str]]:
    return frozenset(
        name
        for folder in PRODUCT
        for path in (ROOT / folder).rglob("*.py")
        for name in judging_imports(path)
    )


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_a_benchmark_imports_only_what_commands_and_service_import(path, product_imports):
    assert set(judging_imports(path)) <= product_imports


def test_an_import_of_anything_else_is_noticed(tmp_path, product_imports):
    module = "perfledger_baselines.significance.paired_t_tests"
    forms = (f"from {module} import t_tests", f"import {module}")
    for number, line in enumerate(forms):
        path = tmp_path / f"judge_{number}.py"
        path.write_text(line)

        assert not set(judging_imports(path)) <= product_imports


def test_the_figures_of_checks_come_from_the_stopping_rule_and_the_judge():
    """Each benchmark of whole checks measures through them, directly or by `simulated_checks`."""
    names = {path.stem: {name for _, name in judging_imports(path)} for path in BENCHMARKS}
    sources = {path.stem: path.read_text() for path in BENCHMARKS}

    assert "GroupSequentialStopping" in names["simulated_checks"]
    for stem in ("judge_error_rates", "judge_peers", "history_two_tiers"):
        assert "measured_check(" in sources[stem]
        assert names[stem] & {"judge_bundle", "judgement_of"}
    assert "judgement_of" in names["kernel_gate"]


def test_a_benchmark_imports_only_those_of_its_own_folder():
    """`python benchmarks/FOLDER/NAME.py` puts its own folder on the path, and no other.

    A package in that folder imports what stands beside the package.
    """
    programs = [path for path in PROGRAMS if not (path.parent / "__init__.py").exists()]
    folders = {path.stem: path.parent for path in programs}
    texts = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in PROGRAMS
        for name in re.findall(r"(?m)^(?:from|import) (\w+)", path.read_text())
        if name in folders and folders[name] not in path.parents[:3]
    ]

    assert len(folders) == len(programs)
    assert texts == []


def test_a_benchmark_that_a_page_or_the_makefile_names_is_there():
    folders = "|".join(sorted({path.parent.name for path in PROGRAMS} - {"benchmarks"}))
    pages = [
        *(ROOT / "Makefile", *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")),
        *(page for top in PAGES for page in (ROOT / top).rglob("*.md")),
    ]
    named = {
        name
        for page in pages
        for name in re.findall(rf"benchmarks/(?:{folders})/\w+\.py", page.read_text())
    }

    assert "benchmarks/checks/faults.py" in named
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
