"""`perfledger compare FOLDER BUNDLE`: a head against earlier checks, without pairs."""

import json
from dataclasses import replace
from random import Random

import pytest
from typer.testing import CliRunner

from perfledger.records import Device, Failure, FailureReason, Machine, Revision, Side
from perfledger_service.cli.app import app
from perfledger_service.errors import UsageError

CHECKS = 12


def sha(commit):
    return f"{commit:040x}"


class Folder:
    """Checks of one commit after another, each in a bundle; processes of one share a state."""

    def __init__(self, path, make_bundle):
        self.path, self.make_bundle = path, make_bundle
        (path / "earlier").mkdir()
        self.noise = Random(7)

    def bundle(self, commit, *, level=1.0, **values):
        made_bundle = self.make_bundle(
            **{
                "ratio": 1.0,
                "pairs": 6,
                "samples": 2,
                "seed": commit,
                "pull_request": None,
                "created_at": f"2026-11-{commit + 1:02}T12:00:00+00:00",
                "base": Revision(sha=sha(commit)),
                "head": Revision(sha=sha(commit + 1)),
                **values,
            }
        )
        state = level * (1 + 0.002 * self.noise.gauss())
        runs = tuple(
            replace(
                run,
                samples={
                    name: tuple(state * one for one in values)
                    for name, values in run.samples.items()
                },
            )
            for run in made_bundle.runs
        )
        return replace(made_bundle, runs=runs)

    def earlier(self, commits=range(CHECKS), **values):
        for commit in commits:
            path = self.path / "earlier" / f"{commit:02}.json"
            path.write_text(self.bundle(commit, **values).to_json())

    def compare(self, head, *options, codes=(0, 3)):
        path = self.path / "head.json"
        path.write_text(head.to_json())
        words = ["compare", str(self.path / "earlier"), str(path), "--format", "json", *options]
        done = CliRunner().invoke(app, words)
        if isinstance(done.exception, UsageError):
            raise done.exception
        assert done.exit_code in codes, done.output
        return json.loads(done.stdout)


@pytest.fixture
def folder(tmp_path, make_bundle):
    return Folder(tmp_path, make_bundle)


def reasons(text):
    return {one["series"]: one["reason"] for one in text["baselines"]}


@pytest.mark.slow
def test_a_slower_head_regresses_against_the_newest_checks_of_its_level(folder):
    folder.earlier()

    comparison = folder.compare(folder.bundle(CHECKS, level=1.05), codes=(1,))

    assert comparison["verdicts"][0]["outcome"] == "regressed"
    assert comparison["verdicts"][0]["estimate"]["change"] == pytest.approx(0.05, abs=0.01)
    reason = reasons(comparison)["gpt:step step_time_p50"]
    assert "72 runs of the newest 12 checks of this level and epoch" in reason
    assert "not paired" in reason


def test_a_head_without_a_baseline_is_not_measured_and_counts_the_rejected_runs(folder):
    folder.earlier(range(2), machine=Machine(device=Device.CPU, model="Another CPU"))

    comparison = folder.compare(folder.bundle(2))

    verdict = comparison["verdicts"][0]
    assert verdict["outcome"] == "not measured"
    assert "12 runs of another machine class" in verdict["reason"]


def test_a_workload_that_failed_in_the_head_is_not_measured(folder):
    folder.earlier(range(2))
    failure = Failure(workload="gpt:step", side=Side.HEAD, why=FailureReason.RAISED, detail="boom")
    head = replace(folder.bundle(2), runs=(), failures=(failure,))

    [verdict] = folder.compare(head, codes=(3,))["verdicts"]

    assert (verdict["outcome"], verdict["reason"]) == ("not measured", "failed in B")
    assert verdict["metric"] == "step_time_p50"


def test_the_table_names_the_baseline(folder):
    folder.earlier(range(2))
    path = folder.path / "head.json"
    path.write_text(folder.bundle(2).to_json())

    words = ["compare", str(folder.path / "earlier"), str(path)]
    done = CliRunner().invoke(app, words, env={"COLUMNS": "80"})
    marked = CliRunner().invoke(app, [*words, "--format", "markdown"])

    assert "A, for 2 of 2: 6 runs" in " ".join(done.stdout.split())
    assert "the nearest measured commit" in " ".join(marked.stdout.split())


def test_a_pinned_check_is_the_baseline(folder):
    folder.earlier(range(3))

    comparison = folder.compare(folder.bundle(3), "--baseline", sha(1))

    assert (
        ", 2 commits before the merge base, pinned;"
        in reasons(comparison)["gpt:step step_time_p50"]
    )


def test_baseline_options_apply_to_folders(folder):
    path = folder.path / "head.json"
    path.write_text(folder.bundle(3).to_json())

    done = CliRunner().invoke(app, ["compare", str(path), str(path), "--baseline", "abcd"])

    assert isinstance(done.exception, UsageError)
    assert "give a folder as A" in str(done.exception)
