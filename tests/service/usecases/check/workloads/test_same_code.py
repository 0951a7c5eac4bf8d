"""Real checks of changes that leave the code of some workloads, or of all, as it is."""

import json
import subprocess
import sys

import pytest

from perfledger_runners.measuring.rounds.progress import NoProgress
from perfledger_service.rendering.check.report_json import report_json
from perfledger_service.usecases.check import child_requests
from perfledger_service.usecases.check.check import check
from perfledger_service.usecases.check.measurement import CheckRequest
from perfledger_service.values.report import Conclusion, ExitCode

pytestmark = pytest.mark.slow

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
WORKLOAD = """
import perfledger
from pkg import {module}

@perfledger.workload()
def one():
    return lambda: sum({module}.numbers())

@perfledger.workload(margin={margin})
def two():
    return lambda: sum({module}.numbers())
"""
NUMBERS = "def numbers():\n    return range(1000)\n"
FROM_PROSE = WORKLOAD.format(module="fast", margin='float(open("MARGIN.md").read())')
FILES = {
    "bench/read.py": FROM_PROSE.replace("@perfledger.workload()\ndef one", "def one"),
    "MARGIN.md": "0.5",
    "bench/fast.py": WORKLOAD.format(module="fast", margin=0.5),
    "bench/slow.py": WORKLOAD.format(module="slow", margin=0.5),
    "src/pkg/__init__.py": "",
    "src/pkg/fast.py": NUMBERS,
    "src/pkg/slow.py": NUMBERS,
    "README.md": "Hello",
}
COMMENT = {"src/pkg/fast.py": f"# a comment\n\n{NUMBERS}", "README.md": "Hello there"}
NAMES = {"bench.read:two", "bench.fast:one", "bench.fast:two", "bench.slow:one", "bench.slow:two"}


class NoStages(NoProgress):
    def stage(self, name):
        pass


@pytest.fixture(autouse=True)
def short_turns(monkeypatch):
    """Measure for a twentieth of the usual time: no verdict on a time is tested here."""
    monkeypatch.setattr(child_requests, "INTERLEAVED_SECONDS", 0.04)


def write(root, files):
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def repository(tmp_path):
    config = f'python = "{sys.executable}"\npaths = ["bench"]\nmargin = 0.5\nmax_pairs = 4\n'
    write(tmp_path, FILES | {"perfledger.toml": config})
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "base")):
        subprocess.run(["git", *IDENTITY, *arguments], cwd=tmp_path, check=True)
    return tmp_path


def checked(repository, changes, **flags):
    write(repository, changes)
    return check(repository, CheckRequest(), flags=flags, progress=NoStages())


@pytest.mark.slow(ci_only=True)
def test_a_change_of_comments_is_skipped_and_measures_nothing(repository):
    bundle, report = checked(repository, COMMENT)

    assert set(bundle.same_code) == NAMES
    assert bundle.skipped == dict.fromkeys(NAMES, "same code")
    assert (bundle.runs, bundle.failures, bundle.work, report.verdicts) == ((), (), (), ())
    assert {spec.id for spec in bundle.workloads} == NAMES
    assert (report.conclusion, report.exit_code) == (Conclusion.NEUTRAL, ExitCode.OK)
    assert report.title == "Same code: nothing was measured"


@pytest.mark.slow(ci_only=True)
def test_a_change_of_code_is_measured_whatever_reads_it(repository):
    bundle, report = checked(repository, {"src/pkg/slow.py": NUMBERS.replace("1000", "1001")})

    assert bundle.same_code == ()
    assert {run.workload for run in bundle.runs} == NAMES
    assert json.loads(report_json(report))["code_differences"] == [
        {"workload": name, "reason": "src/pkg/slow.py differs"} for name in sorted(NAMES)
    ]


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(
    ("changes", "flags", "reason"),
    [
        (COMMENT, {"skip": False}, None),
        ({"NEW.md": ""}, {}, "NEW.md exists on one side only, or is a different kind of file"),
        (COMMENT, {"build": "true"}, "each side runs in an environment that was built for it"),
        (
            {"bench/fast.py": WORKLOAD.format(module="fast", margin=0.4)},
            {},
            "bench/fast.py differs",
        ),
        ({"MARGIN.md": "0.4"}, {}, "MARGIN.md differs and was read"),
    ],
    ids=["--no-skip", "a new file", "environments", "another margin", "read prose"],
)
def test_what_may_differ_is_measured_and_says_why(repository, changes, flags, reason):
    bundle, _ = checked(repository, changes, **flags)

    assert "bench.fast:two" in {run.workload for run in bundle.runs}
    assert "bench.fast:two" not in bundle.same_code
    assert bundle.code_differences.get("bench.fast:two") == reason


@pytest.mark.slow(ci_only=True)
def test_a_workload_that_prose_registers_in_another_way_is_measured(repository):
    bundle, _ = checked(repository, {"MARGIN.md": "0.4"})

    assert bundle.code_differences["bench.read:two"] == "base registers it in another way"


@pytest.mark.slow(ci_only=True)
def test_a_commit_against_itself_is_measured_to_see_the_noise(repository):
    request = CheckRequest(base="HEAD", head="HEAD")

    bundle, _ = check(repository, request, flags={}, progress=NoStages())

    assert bundle.same_code == ()
    assert bundle.base.sha == bundle.head.sha
    assert {run.workload for run in bundle.runs} == NAMES
