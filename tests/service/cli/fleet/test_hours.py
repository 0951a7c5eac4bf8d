"""`perfledger fleet hours` as a user runs it; the usage files are made here."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
from perfledger_service.errors import NotFoundError, SettingsError, TooLargeError, UsageError
from perfledger_service.settings.sources import MAX_CONFIG_BYTES

RATIO = ("--ratio", "1.12", "--interval", "1.10", "1.14")


USAGE = """
[[usage]]
match = { job = "train-*" }
workload = "gpt:*"
where = "p5.48xlarge/on_demand"
"""


SILENT_USAGE = """
[[usage]]
match = { job = "<i>none-*", account = "a" }
workload = "bert:*"
where = "p4d.24xlarge/on_demand"
"""


POLICY = '[[policy]]\nteam = "nlp"\n'


@pytest.fixture
def sacct(written):
    start = datetime(2026, 9, 1, tzinfo=UTC)
    rows = ["JobID|JobName|Start|End|AllocTRES"]
    for day in range(30):
        begun = start + timedelta(days=day)
        for name, gpus in (("train-gpt", 8), ("eval", 1)):
            times = (f"{each:%Y-%m-%dT%H:%M:%S}" for each in (begun, begun + timedelta(days=1)))
            rows.append("|".join((f"{day}{gpus}", name, *times, f"gres/gpu={gpus}")))
    return written("\n".join(rows) + "\n", "sacct.txt")


def test_usage_becomes_the_fleet_that_a_change_is_priced_on(run, written, sacct, tmp_path):
    usage = USAGE.replace("gpt:*", "gpt:a")  # all workloads of gpt:* have its hours together
    config, fleet = written(usage), tmp_path / "fleet.toml"

    output = run("fleet", "hours", sacct, "--config", config)
    run("fleet", "hours", sacct, "--config", config, "--format", "toml", "--output", fleet)
    words = ("--workload", "gpt:a", "--config", fleet, "--format", "json")
    (price,) = json.loads(run("cost", "change", *RATIO, *words))["prices"]

    assert "70,080" in output
    assert "720 device-hours of the period match no workload: job=eval 720" in output
    assert price["device_hours_per_year"] == 8 * 8760
    assert price["hours_source"].startswith("Slurm accounting, 2026-09-01 to 2026-10-01")


@pytest.mark.parametrize("form", ["table", "toml", "json", "csv"])
def test_a_table_without_matching_records_is_left_out_with_a_note(
    run, written, sacct, tmp_path, form
):
    config = written(USAGE + SILENT_USAGE)
    words = ("fleet", "hours", sacct, "--config", config, "--format", form)

    text = " ".join(CliRunner().invoke(app, [str(word) for word in words]).output.split())
    run(*words, "--output", tmp_path / "fleet")
    kept_text = (tmp_path / "fleet").read_text()

    assert "job=<i>none-*, account=a (bert:* on p4d.24xlarge/on_demand): left out" in text
    assert ("bert:*" in kept_text) == (form in {"table", "json"})


def test_an_entry_without_matching_records_has_no_price(run, written, sacct, tmp_path):
    config, fleet = written(USAGE + SILENT_USAGE), tmp_path / "fleet.toml"

    run("fleet", "hours", sacct, "--config", config, "--format", "toml", "--output", fleet)
    output = run("cost", "change", *RATIO, "--workload", "bert:a", "--config", fleet, code=3)

    assert "no price" in output
    assert "0.00" not in output


def test_a_fleet_profile_has_unit_source_and_as_of(run, written, sacct):
    words = ("fleet", "hours", sacct, "--config", written(USAGE), "--format")

    document = json.loads(run(*words, "json"))
    (row,) = csv.DictReader(io.StringIO(run(*words, "csv")))

    assert (document["unit"], document["as_of"]) == ("device-hours", "2026-10-01T00:00:00+00:00")
    assert float(row["hours_per_year"]) == document["fleet"][0]["hours_per_year"] == 8 * 8760
    assert row["as_of"] == document["as_of"]


def test_a_window_cuts_the_period(run, written, sacct):
    window = ("--start", "2026-09-10", "--end", "2026-09-20")

    output = run("fleet", "hours", sacct, "--config", written(USAGE), *window)

    assert "2026-09-10 to 2026-09-20, scaled to a year: 10 days" in output


def test_half_a_window_is_refused(run, written, sacct):
    with pytest.raises(UsageError, match="go together"):
        run("fleet", "hours", sacct, "--config", written(USAGE), "--start", "2026-09-10")


def test_jobs_that_nobody_claims_are_no_fleet(run, written, sacct):
    with pytest.raises(SettingsError, match=r"no \[\[usage\]\] table"):
        run("fleet", "hours", sacct, "--config", written(POLICY + "ask_above_usd_per_year = 1"))


def test_a_file_that_is_none_is_an_error(run, written, tmp_path):
    config = written(USAGE)

    with pytest.raises(NotFoundError, match="no file"):
        run("fleet", "hours", tmp_path / "none.txt", "--config", config)
    with pytest.raises(UsageError, match="not a known usage file"):
        run("fleet", "hours", written("hello", "x.txt"), "--config", config)
    with pytest.raises(TooLargeError, match="larger than"):
        run("cost", "change", *RATIO, "--config", written("#" * (MAX_CONFIG_BYTES + 1)))


def test_a_period_that_ends_before_it_starts_is_refused(run, written, sacct):
    words = ("--config", written(USAGE), "--start", "2026-09-20", "--end", "2026-09-10")

    with pytest.raises(UsageError, match="is not before"):
        run("fleet", "hours", sacct, *words)


def test_a_usage_file_counts_once(run, written, sacct):
    with pytest.raises(UsageError, match="given twice"):
        run("fleet", "hours", sacct, sacct, "--config", written(USAGE))


def test_a_job_of_two_overlapping_exports_counts_once(run, written, sacct):
    longer = sacct.with_name("longer.txt")
    header, first, *_ = sacct.read_text().splitlines()
    longer.write_text(f"{header}\n{first}\n")

    with pytest.raises(UsageError, match=r"longer.txt and .* both contain .* from the same time"):
        run("fleet", "hours", sacct, longer, "--config", written(USAGE))


def test_help_names_the_usage_tables(run):
    text = run("fleet", "hours", "--help").replace("│", " ")

    assert "which map jobs to workloads" in " ".join(text.split())
