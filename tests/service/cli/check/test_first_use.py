"""The first use, word by word as the README says: init, commit, change something, check."""

import json
import os
import shutil
import subprocess
import sys

import pytest

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")


@pytest.fixture
def clone(tmp_path):
    """Return a clone of a repository that has never heard of perfledger."""
    origin = tmp_path / "origin"
    origin.mkdir()
    (origin / "model.py").write_text("SIZE = 100\n")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-qm", "theirs")):
        git(origin, *arguments)
    git(tmp_path, "clone", "-q", str(origin), "clone")
    return tmp_path / "clone"


def git(folder, *arguments):
    done = subprocess.run(
        ["git", *IDENTITY, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def perfledger(clone, *arguments, **variables):
    environment = {
        name: value
        for name, value in os.environ.items()
        if name == "PERFLEDGER_LOCK_FOLDER" or not name.startswith(("PERFLEDGER_", "GITHUB_"))
    }
    return subprocess.run(
        [sys.executable, "-m", "perfledger_service", *arguments],
        cwd=clone,
        capture_output=True,
        text=True,
        check=False,
        env=environment | {"XDG_STATE_HOME": str(clone.parent / "state")} | variables,
    )


@pytest.mark.slow(ci_only=True)
def test_the_readme_leads_to_a_comparison(clone):
    assert perfledger(clone, "init").returncode == 0
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "perfledger")
    first = perfledger(clone, "check", "--json")

    (clone / "model.py").write_text("SIZE = 200\n")
    second = perfledger(clone, "check", "--json", "--budget", "20s")

    report = json.loads(first.stdout)
    assert (first.returncode, report["title"]) == (0, "Nothing to compare yet: 1 new workload")
    assert any("then change something else" in note for note in report["notes"])
    assert not any("OpenMP" in note or "easured on core" in note for note in report["notes"])
    report = json.loads(second.stdout)
    assert report["base"]["sha"] == git(clone, "rev-parse", "HEAD")
    assert any("has no workloads yet: base is HEAD" in note for note in report["notes"])
    assert {verdict["workload"] for verdict in report["verdicts"]} == {
        "benchmarks.example:square_roots"
    }


@pytest.mark.slow(ci_only=True)
def test_a_first_use_needs_no_tool_for_a_changed_lock(clone, tmp_path):
    """Without pdm nothing can be built, and nothing has to be."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").symlink_to(shutil.which("git"))
    (clone / "pyproject.toml").write_text('[project]\nname = "theirs"\nversion = "1"\n')
    (clone / "pdm.lock").write_text("# one\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "lock")
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/locked")
    assert perfledger(clone, "init").returncode == 0
    (clone / "pdm.lock").write_text("# two\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "perfledger")

    done = perfledger(
        clone, "check", "--base", "origin/locked", "--head", "HEAD", "--json", PATH=str(programs)
    )

    report = json.loads(done.stdout)
    assert (done.returncode, report["title"]) == (0, "Nothing to compare yet: 1 new workload")
    assert any("pdm.lock needs pdm, which is not on PATH" in note for note in report["notes"])
