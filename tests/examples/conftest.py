"""The demo's modules, which are no package, and a small repository that needs no framework."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPIN = """
import perfledger

@perfledger.workload(unit="sums")
def add(device):  # any device: it is plain Python
    return lambda: sum(range({count}))
"""


@pytest.fixture(scope="session")
def examples():
    """The folder that make demo runs from."""
    return ROOT / "examples"


@pytest.fixture(scope="session")
def demo(examples):
    """The demo's modules by name; they import each other as `python examples/demo.py` lets them."""
    names = (
        *(
            "demo",
            "demo_checks",
            "demo_commits",
            "demo_history",
            "demo_machines",
            "demo_pages",
            "demo_pictures",
        ),
        *("demo_repository", "demo_service", "recorded_checks"),
    )
    sys.path.insert(0, str(examples))
    try:
        modules = {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(str(examples))
    return SimpleNamespace(main=modules["demo"], **modules)


@pytest.fixture(scope="session")
def branch(demo):
    """A pull request that slows a workload."""
    return demo.demo_repository.Branch(
        name="topic",
        pull_request=7,
        overlay=Path("overlay"),
        subject="Add more",
        body="",
        slower="benchmarks.spin:add",
    )


@pytest.fixture(scope="session")
def make_spinning(demo):
    """Return a function that makes a git repository whose one workload adds numbers.

    It adds more of them on the branch topic.
    """

    def make(folder):
        git = demo.demo_repository.git
        module = folder / "benchmarks" / "spin.py"
        module.parent.mkdir(parents=True)
        settings = "[tool.perfledger]\nmax_pairs = 4\nmargin = 0.2\nfloor = 0.1\n"
        (folder / "pyproject.toml").write_text(settings, encoding="utf-8")
        git(folder, "init", "--quiet", "--initial-branch=main")
        for revision, count in (("main", 20_000), ("topic", 60_000)):
            if revision != "main":
                git(folder, "switch", "--quiet", "--create", revision)
            module.write_text(SPIN.format(count=count), encoding="utf-8")
            git(folder, "add", "--all")
            git(folder, "commit", "--quiet", "--message", revision)
        git(folder, "switch", "--quiet", "main")
        return folder

    return make


@pytest.fixture
def spinning(make_spinning, tmp_path):
    return make_spinning(tmp_path / "repository")
