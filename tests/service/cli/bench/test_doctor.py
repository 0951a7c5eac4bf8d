"""`perfledger bench doctor` as a user runs it: a real repository, real child processes."""

import fcntl
import json
import subprocess
import sys
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from perfledger.metrics import CPU_TIME, PEAK_MEMORY, STEP_TIME
from perfledger.records import Device, FindingLevel, HostFinding, Machine
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.judge import judge_tests
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_runners.machine.device_locks import HOST, lock_file
from perfledger_service.cli.app import app
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.rendering.bench.doctor import doctor_document
from perfledger_service.rendering.layout.writers import (
    plain_lines,
    to_csv,
    to_json,
    to_markdown,
    to_terminal,
)
from perfledger_service.usecases.bench.doctor import DoctorRequest, examine_machine
from perfledger_service.usecases.bench.power import PowerRequest, power_of_spread
from perfledger_service.values.doctor_views import DoctorView, MetricNoise, NoiseFloor
from perfledger_service.values.power_views import SpreadView

WORKLOADS = """
import perfledger

@perfledger.workload(params={"size": [1, 2]})
def sums(size):
    return lambda: sum(range(10_000 * size))

@perfledger.workload()
def breaks():
    return lambda: 1 / 0
"""
pytestmark = pytest.mark.usefixtures("short_runs")
FEW = ("--pairs", "5", "--budget", "10h")  # however busy this machine is
NO_TIME = ("--pairs", "5", "--budget", "1ms")
BUSY = HostFinding(
    name="other programs",
    level=FindingLevel.BUSY,
    detail="they use 1.9 of 4 usable cores (cc1plus 1.9)",
    advice="stop the other programs, or pin to cores 2-3: taskset -c 2-3 perfledger check",
)
FINDINGS = (
    HostFinding(name="NUMA", level=FindingLevel.FINE, detail="all usable cores are on one node"),
    HostFinding(
        name="GPU clock",
        level=FindingLevel.UNKNOWN,
        detail="not known to be locked",
        advice="lock clocks: sudo nvidia-smi -lgc 1590",
    ),
    HostFinding(
        name="governor",
        level=FindingLevel.NOISY,
        detail="powersave",
        advice="sudo cpupower frequency-set -g performance",
    ),
    BUSY,
    replace(BUSY, name="other programs, afterwards"),
)


class Stages:
    """Remembers the stages, and does something at one of them."""

    def __init__(self, at="", do=lambda: None):
        self.names = []
        self.at, self.do = at, do

    def stage(self, name):
        self.names.append(name)
        if self.at and name.startswith(self.at):
            self.do()

    def measuring(self, workload, side, pair):
        pass

    def pair_done(self, *, pairs, waiting, seconds_left):
        pass


@pytest.fixture
def repository(tmp_path, monkeypatch):
    root = tmp_path / "repository"
    (root / "benchmarks").mkdir(parents=True)
    (root / "benchmarks" / "w.py").write_text(WORKLOADS)
    (root / "perfledger.toml").write_text(
        f'python = "{sys.executable}"\nmax_pairs = 30\nbudget = "10h"\n'
    )
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    monkeypatch.chdir(root)
    return root


def run(*words, status=0):
    done = CliRunner().invoke(app, ["bench", "doctor", *words], env={"COLUMNS": "80"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done.stdout


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("repository")
def test_a_workload_measured_against_itself_tells_what_pairs_find():
    document = json.loads(run("benchmarks.w:sums[size=2]", *FEW, "--json"))

    noise = document["noise_floor"]
    assert noise["workload"] == "benchmarks.w:sums[size=2]"
    assert (noise["pairs"], noise["max_pairs"], noise["failures"]) == (5, 30, [])
    assert noise["check_pairs"] == 30
    assert {each["level"] for each in document["findings"]} <= set(FindingLevel)
    assert document["level"] == min(
        (each["level"] for each in document["findings"]), key=list(FindingLevel).index
    )
    step_time = noise["metrics"][0]
    assert step_time["metric"] == STEP_TIME.name
    assert len(step_time["changes"]) == 5
    request = PowerRequest(counts=(10, 30), tests=len(noise["metrics"]))
    (expected,) = power_of_spread(step_time["sd"], request).spreads
    changes = {each["pairs"]: each["change"] for each in step_time["detectable"]}
    assert {pairs: changes[pairs] for pairs in (10, 30)} == pytest.approx(dict(expected.detectable))
    ten = next(each for each in step_time["detectable"] if each["pairs"] == 10)
    assert ten["seconds"] == pytest.approx(10 * noise["seconds_per_pair"])


@pytest.mark.slow(ci_only=True)
def test_a_workload_that_skips_itself_says_why(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "perfledger.toml").write_text(f'python = "{sys.executable}"\nsuite = "asv"\n')
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "w.py").write_text(
        "class Absent:\n    def setup(self):\n        raise NotImplementedError('no GPU')\n"
        "    def time_it(self):\n        pass\n"
    )

    text = " ".join(run(*FEW, status=3).split())

    assert "benchmarks.w:Absent.time_it skipped itself: its setup raised" in text
    assert "NotImplementedError no GPU" in text


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("repository")
def test_the_budget_ends_a_pair():
    text = " ".join(run(*NO_TIME, status=3).split())

    assert "Not measured: benchmarks.w:sums[size=1]" in text
    assert "budget" in text


@pytest.mark.slow(ci_only=True)
def test_without_a_workload_a_built_in_step_is_measured_and_said_to_be(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    output = run(*FEW)

    assert "no workload is registered in benchmarks" in " ".join(output.split())
    assert "built_in:square_roots" in output
    assert "detects changes in" in output
    assert max(map(len, output.splitlines())) <= 80
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow(ci_only=True)
def test_the_built_in_step_needs_none_of_the_repositorys_settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "perfledger.toml"
    config.write_text('suite = "pytest"\n')
    assert "Not measured: built_in:square_roots" in " ".join(run(*NO_TIME, status=3).split())
    config.write_text('suite = "asv"\nimport_paths = ["src"]\nfloor = 0.5\nbudget = "1s"\n')
    noise = json.loads(run(*FEW, "--json"))["noise_floor"]

    assert noise["workload"] == "built_in:square_roots"
    assert noise["check_pairs"] == int(1 / noise["seconds_per_pair"])
    assert all(each["change"] > 0.5 for metric in noise["metrics"] for each in metric["detectable"])


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("repository")
def test_nothing_is_measured_if_only_the_machine_is_asked_for():
    document = json.loads(run("--pairs", "0", "--json"))

    assert document["noise_floor"] is None
    assert document["machine"]["device"] == "cpu"
    assert "other programs" in {each["name"] for each in document["findings"]}


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("repository")
def test_a_workload_that_fails_has_no_noise_floor():
    output = run("benchmarks.w:breaks", *FEW, status=3)

    assert "Not measured: benchmarks.w:breaks" in output
    assert "ZeroDivisionError" in output


@pytest.mark.slow
@pytest.mark.usefixtures("repository")
def test_a_workload_that_is_not_there_is_an_error():
    with pytest.raises(NotFoundError, match="perfledger bench list lists them"):
        run("benchmarks.w:nothing", "--pairs", "0")


@pytest.mark.parametrize("words", [("--pairs", "4"), ("--pairs", "1001"), ("--budget", "soon")])
def test_what_is_no_number_of_pairs_or_no_time_is_refused(words):
    with pytest.raises(UsageError, match=words[0]):
        run(*words)


@pytest.mark.slow(ci_only=True)
def test_it_waits_for_a_check_that_measures(repository, monkeypatch):
    path = lock_file(repository, HOST)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (repository / "perfledger.toml").write_text(
            f'python = "{sys.executable}"\nlock_folder = "{repository}"\n'
        )
        stages = Stages("waiting", lambda: fcntl.flock(lock, fcntl.LOCK_UN))
        monkeypatch.delenv("PERFLEDGER_LOCK_FOLDER")
        examine_machine(repository, DoctorRequest(pairs=0), progress=stages)

    assert stages.names[0].startswith("waiting for another perfledger check on the cores of this")
    assert stages.names[-1] == "looking at the machine"


def a_noise_floor(
    *,
    factors,
    metric=STEP_TIME,
    detectable=(),
    source="from 6 pairs",
    failures=(),
    check_pairs=20,
):
    pairs = len(factors)
    test = PairedTest(
        workload="benchmarks.gpt:step",
        metric=metric,
        base=(0.01,) * pairs,
        head=tuple(0.01 * factor for factor in factors),
        numbers=tuple(range(1, pairs + 1)),
    )
    rule = DecisionRule(looks=(max(pairs, 5),), alpha=0.05, margin=0.01, floor=0.003)
    (verdict,) = judge_tests([test], rule=rule)
    spread = SpreadView(
        name="x", sd=0.01 if detectable else None, source=source, detectable=detectable
    )
    return NoiseFloor(
        workload="benchmarks.gpt:step",
        pairs=pairs,
        seconds_per_pair=2.5,
        margin=0.01,
        max_pairs=20,
        check_pairs=check_pairs,
        metrics=(MetricNoise(test=test, verdict=verdict, spread=spread),),
        failures=failures,
    )


QUIET = (1.004, 0.997, 1.001, 0.999, 1.003, 0.996)
DETECTABLE = ((5, 0.031), (10, 0.018), (20, 0.0118), (240, 0.0035))


def a_view(**values):
    defaults = {
        "machine": Machine(device=Device.CPU, model="AMD EPYC 9654", cores=4),
        "findings": FINDINGS,
        "noise": a_noise_floor(factors=QUIET, detectable=DETECTABLE),
        "notes": ("a built-in step was measured",),
    }
    return DoctorView(**(defaults | values))


def text_of(view):
    return plain_lines(to_terminal(doctor_document(view)))


def test_the_worst_comes_first_and_each_advice_once():
    lines = text_of(a_view()).splitlines()

    assert lines[0] == "This machine is busy: measurements taken now are uncertain"
    text = " ".join(" ".join(lines).split())
    assert (
        "A check of 20 pairs, 50 s for one workload, detects changes in step time of 1.2 % or more."
        in text.replace("\u00a0", " ")
    )
    most, governor, clock = (
        text.index(words)
        for words in (
            "What would help most: stop the other programs, or pin to cores 2-3",
            "Then: sudo cpupower frequency-set -g performance (governor).",
            "Then: lock clocks: sudo nvidia-smi -lgc 1590 (GPU clock).",
        )
    )
    assert most < governor < clock
    assert max(map(len, lines)) <= 80


def test_an_advice_stands_where_the_worst_finding_has_it():
    noisy = replace(FINDINGS[0], level=FindingLevel.NOISY, advice=BUSY.advice)
    findings = (BUSY, replace(FINDINGS[2], advice="sudo cpupower"), noisy)

    text = " ".join(text_of(a_view(findings=findings)).split())

    assert text.index("What would help most: stop the other") < text.index("Then: sudo cpupower")


@pytest.mark.parametrize(
    ("places", "beginning"),
    [
        ((0,), "This machine is quiet and fit"),
        ((0, 1), "No disturbance found on this machine"),
        ((0, 1, 2), "This machine is quiet, but"),
        ((), "No disturbance found on this machine"),
    ],
)
def test_what_is_unknown_is_not_called_fit(places, beginning):
    view = a_view(findings=tuple(FINDINGS[place] for place in places), noise=None, notes=())

    assert text_of(view).startswith(beginning)


def test_pairs_take_time_and_find_changes():
    lines = text_of(a_view()).replace("\u00a0", " ").splitlines()

    row = next(line for line in lines if line.split()[:1] == ["240"])
    assert row.split()[1:5] == ["10", "min", "0.35", "%"]
    assert any("\N{BULLET}" in line for line in lines)


def test_the_same_code_that_differs_is_a_false_alarm():
    view = a_view(noise=a_noise_floor(factors=(1.05, 1.051, 1.049, 1.05, 1.052, 1.05)))

    assert view.noise.metrics[0].verdict.outcome is Outcome.REGRESSED
    text = " ".join(text_of(view).replace("\u00a0", " ").split())
    assert "step time of the same code differs by +5.0 %: a check on this machine would" in text
    assert text.startswith("This machine shows changes between two runs of the same code")


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        (10, "changes in step time of 1.8 % or more, in CPU time of 1.8 %."),
        (1, "A check's budget allows 1 pair of this workload"),
    ],
)
def test_a_check_has_no_more_pairs_than_its_budget_allows(pairs, sentence):
    noise = a_noise_floor(factors=QUIET, detectable=DETECTABLE, check_pairs=pairs)
    cpu_time = a_noise_floor(factors=QUIET, detectable=DETECTABLE, metric=CPU_TIME)
    view = a_view(noise=replace(noise, metrics=noise.metrics + cpu_time.metrics))

    assert sentence in " ".join(text_of(view).replace("\u00a0", " ").split())


def test_too_few_pairs_have_no_smallest_change():
    noise = a_noise_floor(factors=QUIET[:3], metric=PEAK_MEMORY, source="3 pairs are too few")

    text = text_of(a_view(noise=noise))

    assert "peak memory: 3 pairs are too few." in text
    assert "detects changes in" not in text
    assert "A check of" not in text


def test_every_format_has_the_findings():
    document = doctor_document(a_view())

    record = json.loads(to_json(document))
    assert (record["format"], record["level"]) == ("perfledger-doctor", "busy")
    assert record["findings"][0] == {
        "name": BUSY.name,
        "level": "busy",
        "detail": BUSY.detail,
        "advice": BUSY.advice,
    }
    assert record["noise_floor"]["metrics"][0]["detectable"][0] == {
        "pairs": 5,
        "seconds": 12.5,
        "change": 0.031,
    }
    assert to_csv(document).splitlines()[0] == "name,level,detail,advice"
    assert "taskset" in to_markdown(document)


def test_a_failure_is_said():
    noise = replace(a_noise_floor(factors=QUIET, failures=("it raised: boom",)), metrics=())

    assert "Not measured: it raised: boom" in text_of(a_view(noise=noise))
