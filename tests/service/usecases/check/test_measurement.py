"""What a check says where there is nothing to measure; measuring itself is tested end to end."""

import subprocess
import sys

import pytest

from perfledger.records import FailureReason
from perfledger_runners.measuring.rounds.progress import NoProgress
from perfledger_service.errors import UsageError
from perfledger_service.usecases.check import child_requests
from perfledger_service.usecases.check.check import check
from perfledger_service.usecases.check.measurement import CheckRequest
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

pytestmark = pytest.mark.slow

IDENTITY = ("-c", "user.name=test", "-c", "user.email=test@example.invalid")
WORKLOAD = """
import perfledger

@perfledger.workload()
def add():
    return lambda: sum(range(1000))
"""
READS = """
from pathlib import Path
import perfledger

@perfledger.workload()
def count():
    text = Path(__file__).with_name("rows.txt").read_text()
    return lambda: sum(map(ord, text * 9))
"""
POINTER = "version https://git-lfs.github.com/spec/v1"
BENCHMARK = "def test_sum(benchmark):\n    benchmark(sum, range(1000))\n"


class NoStages(NoProgress):
    def stage(self, name):
        pass


@pytest.fixture(autouse=True)
def short_turns(monkeypatch):
    """Measure for a twentieth of the usual time: no verdict on a time is tested here."""
    monkeypatch.setattr(child_requests, "INTERLEAVED_SECONDS", 0.04)


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "sums.py").write_text(WORKLOAD)
    (tmp_path / "perfledger.toml").write_text(
        f'python = "{sys.executable}"\npaths = ["bench"]\nbudget_usd = 1\n'
    )
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "base")):
        subprocess.run(["git", *IDENTITY, *arguments], cwd=tmp_path, check=True)
    return tmp_path


def fail(repository, request, **flags):
    (repository / "README").write_text("a change")
    with pytest.raises(UsageError) as raised:
        check(repository, request, flags=flags, progress=NoStages())
    return str(raised.value)


@pytest.mark.slow(ci_only=True)
def test_a_pattern_that_chooses_no_workload_is_named_with_the_command_that_lists_them(repository):
    message = fail(repository, CheckRequest(choice=WorkloadChoice(globs=("*:multiply",))))

    assert "no workload in bench matches --workload *:multiply" in message
    assert "perfledger bench list" in message


@pytest.mark.slow(ci_only=True)
def test_folders_without_a_workload_are_named_with_what_to_do(repository):
    (repository / "bench" / "sums.py").write_text("")
    subprocess.run(["git", *IDENTITY, "commit", "-qam", "none"], cwd=repository, check=True)

    message = fail(repository, CheckRequest())

    assert message == "no workload is registered in bench: run perfledger init, or set `paths`"


@pytest.mark.slow(ci_only=True)
def test_another_suite_without_a_benchmark_names_its_folders_and_the_command_that_lists(repository):
    config = repository / "perfledger.toml"
    config.write_text(config.read_text().replace('paths = ["bench"]', ""))
    (repository / "benchmarks").mkdir()
    (repository / "benchmarks" / "sizes.py").write_text("def track_size():\n    return 3\n")
    subprocess.run(["git", *IDENTITY, "add", "-A"], cwd=repository, check=True)
    subprocess.run(["git", *IDENTITY, "commit", "-qm", "sizes"], cwd=repository, check=True)

    message = fail(repository, CheckRequest(), suite="asv")

    assert message.startswith("the folders that asv is configured for have no benchmark that can")
    assert "perfledger bench list --asv names what is left out and why" in message


@pytest.mark.slow(ci_only=True)
def test_benchmarks_of_another_tool_are_compared_with_the_merge_base_at_first_use(repository):
    """What the branch did before it got its configuration is not left out."""

    def git(*words):
        subprocess.run(["git", *IDENTITY, *words], cwd=repository, check=True)

    (repository / "perfledger.toml").rename(repository.parent / "later.toml")
    git("rm", "-q", "-r", "--cached", ".")
    git("commit", "-q", "--amend", "--allow-empty", "-m", "theirs")
    git("switch", "-q", "-c", "topic")
    (repository / "test_sum.py").write_text(BENCHMARK)
    git("add", "test_sum.py")
    git("commit", "-qm", "a change")
    (repository / "perfledger.toml").write_text(
        f'python = "{sys.executable}"\nmargin = 0.5\nmax_pairs = 4\nlock_folder = ""\n'
    )
    git("add", "-A")
    git("commit", "-qm", "perfledger")

    bundle, _ = check(repository, CheckRequest(), flags={"suite": "pytest"}, progress=NoStages())

    assert bundle.base.ref == "merge-base with main"
    assert bundle.new_workloads == ("test_sum:test_sum",)


@pytest.mark.slow(ci_only=True)
def test_a_limit_in_money_needs_the_price_of_the_device_before_anything_is_measured(repository):
    assert "set device_price to its price in USD per hour" in fail(repository, CheckRequest())


@pytest.mark.slow(ci_only=True)
def test_workloads_that_neither_side_has_are_measured_on_both(repository, tmp_path_factory):
    folder = tmp_path_factory.mktemp("today")
    (folder / "new").mkdir()
    (folder / "new" / "total.py").write_text(WORKLOAD)
    (folder / "perfledger.toml").write_text(
        f'python = "{sys.executable}"\npaths = ["new"]\nmargin = 0.3\nmax_pairs = 5\n'
    )
    (repository / "README").write_text("a change")
    request = CheckRequest(workloads_from=str(folder))

    bundle, report = check(repository, request, flags={}, progress=NoStages())

    assert [spec.id for spec in bundle.workloads] == ["new.total:add"]
    assert (bundle.failures, bundle.new_workloads) == ((), ())
    assert bundle.laid_over is not None
    assert list(bundle.laid_over.files) == ["new/total.py"]
    assert report.laid_over == bundle.laid_over
    assert "laid over both sides" in report.notes[0]


@pytest.mark.slow(ci_only=True)
def test_only_a_workload_whose_process_opens_a_pointer_of_git_lfs_is_not_measured(repository):
    (repository / "perfledger.toml").write_text(
        f'python = "{sys.executable}"\npaths = ["bench"]\nmargin = 0.5\nmax_pairs = 4\n'
        'lock_folder = ""\n'
    )
    (repository / "bench" / "rows.txt").write_text(f"{POINTER}\noid sha256:{'a' * 64}\nsize 9\n")
    (repository / "bench" / "rows.py").write_text(READS)
    subprocess.run(["git", *IDENTITY, "add", "-A"], cwd=repository, check=True)
    subprocess.run(["git", *IDENTITY, "commit", "-qm", "rows"], cwd=repository, check=True)
    (repository / "README").write_text("a change")

    bundle, _ = check(repository, CheckRequest(), flags={"skip": False}, progress=NoStages())

    assert {failure.workload for failure in bundle.failures} == {"bench.rows:count"}
    assert bundle.failures[0].why is FailureReason.WRONG_CODE
    assert (
        "opened bench/rows.txt while this file of workloads ran, and the"
        in bundle.failures[0].detail
    )
    assert {"bench.sums:add"} <= {run.workload for run in bundle.runs}
