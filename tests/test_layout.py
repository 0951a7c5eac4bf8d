"""The layout of the repository: sizes, sub-packages, contracts, and tests that mirror the tree."""

import ast
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ("service", "runners", "baselines", "cost_models", "templates")
MAX_MODULES = 20
MAX_LINES = 400
# Where the tests of a package stand.
TESTS = {
    "runners/perfledger": "tests/runners/sdk",
    "runners/perfledger_runners": "tests/runners/agent",
    "runners/perfledger_profiles": "tests/runners/profiles",
    "baselines/perfledger_baselines": "tests/baselines",
    "cost_models/perfledger_cost_models": "tests/cost_models",
    "service/perfledger_service": "tests/service",
}
SERVICE = ROOT / "service" / "perfledger_service"
OTHER_CODE = ("tests", "benchmarks", "examples")
# Modules whose name needs a word of their folder: terms, names of other programs, modules that
# would be named like a framework, and two that an adjective alone would name.
FULL_NAMES = {
    *("price_list", "price_lists", "price_sheet", "flame_graph", "runner_job", "runner_jobs"),
    *("action_benchmark", "google_benchmark", "pytest_benchmark", "pytorch_benchmark"),
    *("jax_canaries", "torch_canaries", "workload_files", "new_workloads"),
}
SPECIAL_FILES = {"__init__.py", "__main__.py", "conftest.py"}  # their names are given
FOLDERS = sorted(
    {path.parent for source in SOURCES for path in (ROOT / source).rglob("*.py")}
    - {path.parent for path in (ROOT / "service").rglob("versions/*.py")}
)
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"]


def modules_in(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.py") if path.name not in SPECIAL_FILES]


def imported_packages(path: Path) -> set[str]:
    """Return the top-level packages that a module imports anywhere, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names


def mirrored(path: Path) -> Path | None:
    """Return the folder where a product folder's tests stand."""
    for package, tests in TESTS.items():
        if path.is_relative_to(ROOT / package):
            return ROOT / tests / path.relative_to(ROOT / package)
    return None


def test_a_folder_is_small_enough_to_take_in():
    others = {path.parent for top in OTHER_CODE for path in (ROOT / top).rglob("*.py")}
    counts = {
        str(folder.relative_to(ROOT)): len(modules_in(folder))
        for folder in (*FOLDERS, *sorted(others))
    }

    assert {folder: count for folder, count in counts.items() if count > MAX_MODULES} == {}


def singular_words(name: str) -> set[str]:
    return {
        word[:-3] + "y" if word.endswith("ies") else word.rstrip("s") for word in name.split("_")
    }


def test_a_module_does_not_repeat_a_word_of_its_folder():
    modules = [path for folder in FOLDERS for path in modules_in(folder) if "_" in path.stem]

    assert [
        str(path.relative_to(ROOT))
        for path in modules
        if singular_words(path.stem) & singular_words(path.parent.name)
        and path.stem not in FULL_NAMES
    ] == []
    assert {path.stem for path in modules} >= FULL_NAMES


def test_no_file_is_too_long_to_read():
    paths = [path for top in (*SOURCES, *OTHER_CODE) for path in (ROOT / top).rglob("*.py")]
    long = {
        str(path.relative_to(ROOT)): lines
        for path in paths
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }

    assert long == {}


def test_a_sub_package_says_what_it_owns():
    # A folder "init" holds the files that `perfledger init` writes.
    files = [folder / "__init__.py" for folder in FOLDERS if folder.name != "init"]
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in files}

    assert [
        str(path.relative_to(ROOT))
        for path, tree in trees.items()
        if not re.fullmatch(r"[A-Z`].*\.", ast.get_docstring(tree) or "", re.DOTALL)
    ] == []


def test_every_package_with_sub_packages_has_a_layers_contract():
    containers = {name for contract in CONTRACTS for name in contract.get("containers", ())}
    divided = Counter(
        ".".join(folder.parent.relative_to(ROOT).parts[1:])
        for folder in FOLDERS
        if modules_in(folder) and (folder.parent / "__init__.py").exists()
        if folder.name not in {"init", "migrations"}  # files that are copied, and Alembic's
    )

    assert set(divided) <= containers


def test_every_sub_package_has_a_layer():
    layers = {
        container: {name for layer in contract["layers"] for name in layer.split(" | ")}
        for contract in CONTRACTS
        for container in contract.get("containers", ())
    }
    packages = [
        tuple(folder.relative_to(ROOT).parts[1:]) for folder in FOLDERS if folder.name != "init"
    ]

    assert [
        ".".join(names)
        for names in packages
        if names[-1] not in layers.get(".".join(names[:-1]), {names[-1]})
    ] == []


def test_the_sdk_imports_the_standard_library_only():
    imported = {
        (path.name, name)
        for path in (ROOT / "runners" / "perfledger").rglob("*.py")
        for name in imported_packages(path)
        if name not in sys.stdlib_module_names and name != "perfledger"
    }

    assert imported == {("pytest_plugin.py", "pytest")}  # pytest loads it


def test_tests_stand_where_the_modules_stand_that_they_test():
    places = {mirrored(folder) for folder in FOLDERS}
    places |= {
        place.joinpath(path.stem)
        for folder in FOLDERS
        if (place := mirrored(folder)) is not None
        for path in modules_in(folder)
    }
    stray = [
        str(path.relative_to(ROOT))
        for tests in TESTS.values()
        for path in (ROOT / tests).rglob("test_*.py")
        if path.parent not in places
    ]

    assert stray == []


def has_functions(path: Path) -> bool:
    """Return whether a module does anything: a protocol's methods only say what others do."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    promised = {
        method
        for node in nodes
        if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases)
        for method in node.body
    }
    return any(isinstance(node, ast.FunctionDef) and node not in promised for node in nodes)


def places_of_tests(path: Path) -> list[Path]:
    """Return where a module's tests may stand: a file or a folder of its name.

    A command's tests are those of its use case and its rendering as well.
    """
    part, *rest = path.relative_to(ROOT).parts[2:]
    command = SERVICE.joinpath("cli", *rest)
    paths = [path, command] if part in {"usecases", "rendering"} and command.exists() else [path]
    folders = [(mirrored(each.parent), each.stem) for each in paths]
    return [
        folder / name
        for folder, stem in folders
        if folder is not None
        for name in (f"test_{stem}.py", stem)
    ]


def test_every_module_with_functions_has_tests_of_its_name():
    untested = [
        str(path.relative_to(ROOT))
        for folder in FOLDERS
        if mirrored(folder) is not None
        for path in modules_in(folder)
        if not any(place.exists() for place in places_of_tests(path))
        if has_functions(path)
    ]

    assert untested == []


def test_contributing_tells_the_layers_as_the_contracts_have_them():
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    missing = [
        line
        for contract in CONTRACTS
        if contract["type"] == "layers"
        for container in contract.get("containers", ["packages"])
        if (line := f"{container}: {' > '.join(contract['layers'])}") not in text
    ]

    assert missing == []
