"""`perfledger plan elastic` as a user runs it, on a log and speeds that are made up."""

import json
from functools import partial

import pytest

from perfledger_service.errors import NotFoundError, UsageError

SPEEDS = "accelerator,devices,speed\nA100-80GB,1,1\nA100-80GB,4,3.4\nH100-80GB,1,2\nH100-80GB,4,6\n"


@pytest.fixture
def run(run, log, tmp_path):
    speeds = tmp_path / "speeds.csv"
    speeds.write_text(SPEEDS)
    return partial(run, "plan", "elastic", log, "--speeds", speeds)


@pytest.mark.slow(ci_only=True)
def test_policies_are_compared_in_time_and_device_hours(run):
    output = run("--capacity", "A100-80GB=4", "--capacity", "H100-80GB=2")

    assert "84 jobs on 4 A100-80GB, 2 H100-80GB" in output
    assert "With sia a job ends" in output
    assert max(map(len, output.splitlines())) <= 80


def test_a_policy_with_the_same_result_is_neither_sooner_nor_later(run, log):
    log.write_text("submit_time,duration,gpus\n0,3600,1\n100,3600,1\n")
    output = " ".join(run("--capacity", "A100-80GB=4").split())

    assert "With gavel a job ends 1.00 h after its submission on average, as with fifo." in output
    assert "sooner than with fifo" in output  # sia's


@pytest.mark.slow(ci_only=True)
def test_what_jobs_held_is_priced_where_every_class_has_a_price(run):
    words = ("--capacity", "A100-80GB=4", "--capacity", "H100-80GB=2", "--json")

    some = json.loads(run(*words, "--purchase-option", "p5.48xlarge/on_demand"))["policies"]
    both = json.loads(
        run(
            *words,
            *("--purchase-option", "p5.48xlarge/on_demand"),
            *("--purchase-option", "p4de.24xlarge/on_demand"),
        )
    )["policies"]

    assert [row["policy"] for row in both] == ["fifo", "gavel", "sia"]
    assert {row["usd"] for row in some} == {None}
    for row in both:
        hours = row["device_hours"]
        expected = 6.88 * hours["H100-80GB"] + 27.44705 / 8 * hours["A100-80GB"]
        assert float(row["usd"]) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--capacity", "A100-80GB"), "ACCELERATOR=COUNT"),
        (("--capacity", "A100-80GB=0"), "ACCELERATOR=COUNT"),
        (("--capacity", "B200=4"), "no speed on 'B200'"),
        (("--capacity", "A100-80GB=4", "--capacity", "A100-80GB=4"), "twice"),
        (("--capacity", "A100-80GB=4", "--recorded-on", "T4"), "no speed on 'T4'"),
        (("--capacity", "A100-80GB=4", "--restart-seconds", "-1"), "restart of -1 s"),
        (
            ("--capacity", "A100-80GB=4", "--purchase-option", "p5.48xlarge/on_demand"),
            "price of H100-80GB",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_name(run, words, problem):
    with pytest.raises(UsageError, match=problem):
        run(*words)


def test_an_option_without_a_price_is_not_found(run):
    with pytest.raises(NotFoundError, match="no-such"):
        run("--capacity", "A100-80GB=4", "--purchase-option", "no-such/on_demand")


def test_a_job_that_was_left_out_counts_once(run, tmp_path):
    log = tmp_path / "jobs.txt"
    ended = "2026-07-01T00:00:00|2026-07-01T00:10:00|2026-07-01T01:00:00|gres/gpu=1"
    running = ended.replace("2026-07-01T01:00:00", "Unknown")
    rows = (f"1|{ended}", f"1.batch|{ended}", f"2|{running}")
    log.write_text("\n".join(("JobID|Submit|Start|End|AllocTRES", *rows)) + "\n")
    run = partial(run.func, *run.args[:2], log, *run.args[3:])

    text = " ".join(run("--capacity", "A100-80GB=4").split())

    assert "Left out: 1 job without a run time, whole devices or a speed." in text


def test_price_files_without_an_option_to_price_are_refused(run):
    with pytest.raises(UsageError, match="--contract: without --purchase-option"):
        run("--capacity", "A100-80GB=4", "--contract", "contract.toml")
