"""`perfledger cost change` and `cost fleet` as a user runs them; the usage files are made here."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from typer.testing import CliRunner

from perfledger_cost_models.sheet import packaged_text
from perfledger_service.cli.app import app
from perfledger_service.errors import NotFoundError, SettingsError, TooLargeError, UsageError
from perfledger_service.settings import MAX_CONFIG_BYTES

RATIO = ("--ratio", "1.12", "--interval", "1.10", "1.14")
HOURS = ("--hours", "20000", "--where", "p5.48xlarge/on_demand")
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
IDLE = """
[[fleet]]
workload = "*"
where = "onprem-8xH100"
device_hours_per_year = 20000

[[commitment]]
where = "onprem-8xH100"
devices = 64
busy_hours_per_year = 500000
overflow = "p5.48xlarge/on_demand"
devices_per_job = 8
job_hours = 12
"""


@pytest.fixture
def run():
    def run(*words, code=0):
        done = CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "80"})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.stdout
        return done.stdout

    return run


@pytest.fixture
def written(tmp_path):
    def written(text, name="perfledger.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


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


def test_a_ratio_with_its_interval_is_priced_on_hours(run):
    shown = run("cost", "change", *RATIO, *HOURS)

    assert "+16,500\N{NO-BREAK SPACE}USD" in shown
    assert "13,800\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}19,300" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_ratio_without_its_interval_is_refused(run):
    with pytest.raises(UsageError, match="no change is priced without its interval"):
        run("cost", "change", "--ratio", "1.12", *HOURS)


@pytest.mark.parametrize("ratio", ["nan", "0.5", "inf"])
def test_a_ratio_outside_of_its_interval_is_refused(run, ratio):
    with pytest.raises(UsageError, match="0 <= low <= ratio <= high"):
        run("cost", "change", "--ratio", ratio, "--interval", 1, 2, *HOURS)


def test_json_and_csv_carry_amounts_to_the_last_digit_and_the_source(run):
    document = json.loads(run("cost", "change", *RATIO, *HOURS, "--format", "json"))
    rows = list(
        csv.DictReader(io.StringIO(run("cost", "change", *RATIO, *HOURS, "--format", "csv")))
    )

    (price,) = document["prices"]
    assert float(price["usd_per_year"]) == float(rows[0]["usd_per_year"]) == 16_512
    assert float(document["total_price"]["low"]) == float(rows[1]["low"]) == 13_760
    assert rows[1]["workload"] == "(together)"
    assert rows[0]["hours_source"] == "told on the command line"
    assert rows[0]["price_as_of"] == "2026-11-09"


def test_the_picture_has_the_price_its_interval_and_the_limit(run, written, tmp_path):
    file, picture = written(POLICY + "fail_above_usd_per_year = 15000"), tmp_path / "change.svg"

    words = (*RATIO, *HOURS, "--fleet", file, "--format", "svg", "--output", picture)
    run("cost", "change", *words, code=3)

    drawn = picture.read_text()
    assert "+16,500\N{NO-BREAK SPACE}USD" in drawn
    assert "Policy of nlp" in drawn
    assert drawn.count('class="limit fails"') == 1


def test_a_name_that_a_spreadsheet_would_run_is_text(run):
    shown = run("cost", "change", *RATIO, *HOURS, "--workload", "=1+1", "--format", "csv")

    assert "\n'=1+1," in shown


def test_a_range_of_hours_widens_the_interval(run):
    words = ("cost", "change", *RATIO, *HOURS, "--hours-range", 15_000, 30_000, "--format", "json")

    (price,) = json.loads(run(*words))["prices"]

    assert float(price["low"]) < 13_760
    assert float(price["high"]) > 19_264


def test_a_price_list_of_one_s_own_is_used(run, written):
    lines = [line for line in packaged_text().splitlines() if "2026-11-09" not in line]
    sheet = written("\n".join(lines), "own.csv")

    shown = json.loads(run("cost", "change", *RATIO, *HOURS, "--prices", sheet, "--format", "json"))

    assert shown["prices"][0]["rate"]["as_of"] != "2026-11-09"


def test_what_has_no_price_exits_with_3(run):
    shown = run("cost", "change", *RATIO, "--hours", 1, "--where", "p5/on_demand", code=3)

    assert "no price" in shown


def test_hours_need_to_say_where(run):
    with pytest.raises(UsageError, match="--hours and --where go together"):
        run("cost", "change", *RATIO, "--hours", 1)


@pytest.mark.parametrize(
    ("limits", "code", "said"),
    [
        ("fail_above_usd_per_year = 10000", 1, "Policy of nlp fails"),
        ("fail_above_usd_per_year = 15000", 3, "Policy of nlp asks for approval"),
        ("ask_above_usd_per_year = 20000", 0, "Policy of nlp passes"),
    ],
)
def test_a_policy_is_the_exit_code(run, written, limits, code, said):
    file = written(POLICY + limits)

    assert said in run("cost", "change", *RATIO, *HOURS, "--fleet", file, code=code)


def test_an_idle_commitment_costs_waiting_and_no_cash(run, written):
    shown = " ".join(run("cost", "change", *RATIO, "--fleet", written(IDLE)).split())

    assert "costs no cash" in shown
    assert "Idle devices that are paid for take 2,400 device-hours a year" in shown
    assert "a job waits about" in shown
    assert "a screening by M/M/c" in shown


def test_hours_that_are_freed_save_no_cash(run, written):
    words = ("--ratio", "0.9", "--interval", "0.88", "0.92", "--fleet", written(IDLE))

    shown = " ".join(run("cost", "change", *words).split())

    assert "workload: 2,000 device-hours a year (1," in shown
    assert "are freed on devices that are paid for anyway" in shown
    assert "shorter than" in shown


def test_a_bundle_is_priced_as_its_check_priced_it(run, written, make_bundle):
    bundle = written(make_bundle(ratio=1.2).to_json(), "bundle.json")

    document = json.loads(run("cost", "change", bundle, "--format", "json", *HOURS))

    assert float(document["prices"][0]["usd_per_year"]) == pytest.approx(
        20_000 * 0.2 * 6.88, rel=0.02
    )
    assert run("cost", "change", bundle, code=3).count("no price") == 1


def test_usage_becomes_the_fleet_that_a_change_is_priced_on(run, written, sacct, tmp_path):
    config, fleet = written(USAGE), tmp_path / "fleet.toml"

    shown = run("cost", "fleet", sacct, "--config", config)
    run("cost", "fleet", sacct, "--config", config, "--format", "toml", "--output", fleet)
    words = ("--workload", "gpt:a", "--fleet", fleet, "--format", "json")
    (price,) = json.loads(run("cost", "change", *RATIO, *words))["prices"]

    assert "70,080" in shown
    assert "720 device-hours of the period are nobody's: job=eval 720" in shown
    assert price["device_hours_per_year"] == 8 * 8760
    assert price["hours_source"].startswith("Slurm accounting, 2026-09-01 to 2026-10-01")


@pytest.mark.parametrize("form", ["table", "toml", "json", "csv"])
def test_a_table_that_no_record_matches_is_left_out_and_said(run, written, sacct, tmp_path, form):
    config = written(USAGE + SILENT_USAGE)
    words = ("cost", "fleet", sacct, "--config", config, "--format", form)

    said = " ".join(CliRunner().invoke(app, [str(word) for word in words]).output.split())
    run(*words, "--output", tmp_path / "fleet")
    kept = (tmp_path / "fleet").read_text()

    assert "job=<i>none-*, account=a (bert:* on p4d.24xlarge/on_demand): left out" in said
    assert ("bert:*" in kept) == (form in {"table", "json"})


def test_what_no_record_matches_has_no_price(run, written, sacct, tmp_path):
    config, fleet = written(USAGE + SILENT_USAGE), tmp_path / "fleet.toml"

    run("cost", "fleet", sacct, "--config", config, "--format", "toml", "--output", fleet)
    shown = run("cost", "change", *RATIO, "--workload", "bert:a", "--fleet", fleet, code=3)

    assert "no price" in shown
    assert "0.00" not in shown


def test_a_fleet_profile_has_unit_source_and_as_of(run, written, sacct):
    words = ("cost", "fleet", sacct, "--config", written(USAGE), "--format")

    document = json.loads(run(*words, "json"))
    (row,) = csv.DictReader(io.StringIO(run(*words, "csv")))

    assert (document["unit"], document["as_of"]) == ("device-hours", "2026-10-01T00:00:00+00:00")
    assert float(row["per_year"]) == document["fleet"][0]["per_year"] == 8 * 8760
    assert row["as_of"] == "2026-10-01"


def test_a_window_cuts_the_period(run, written, sacct):
    window = ("--start", "2026-09-10", "--end", "2026-09-20")

    shown = run("cost", "fleet", sacct, "--config", written(USAGE), *window)

    assert "2026-09-10 to 2026-09-20, scaled to a year: 10 days" in shown


def test_half_a_window_is_refused(run, written, sacct):
    with pytest.raises(UsageError, match="go together"):
        run("cost", "fleet", sacct, "--config", written(USAGE), "--start", "2026-09-10")


def test_jobs_that_nobody_claims_are_no_fleet(run, written, sacct):
    with pytest.raises(SettingsError, match=r"no \[\[usage\]\] table"):
        run("cost", "fleet", sacct, "--config", written(POLICY + "ask_above_usd_per_year = 1"))


def test_a_file_that_is_none_is_an_error(run, written, tmp_path):
    config = written(USAGE)

    with pytest.raises(NotFoundError, match="no file"):
        run("cost", "fleet", tmp_path / "none.txt", "--config", config)
    with pytest.raises(UsageError, match="no usage file that is known"):
        run("cost", "fleet", written("hello", "x.txt"), "--config", config)
    with pytest.raises(TooLargeError, match="larger than"):
        run("cost", "change", *RATIO, "--fleet", written("#" * (MAX_CONFIG_BYTES + 1)))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--hours", "nan", "--where", "p5.48xlarge/on_demand"), "nan hours a year"),
        (("--hours", "-5", "--where", "p5.48xlarge/on_demand"), "-5 hours a year"),
        ((*HOURS, "--hours-range", "30000", "40000"), "low <= hours <= high"),
        (("--hours", "5"), "go together"),
        (("--where", "p5.48xlarge/on_demand"), "go together"),
        (("--hours-range", "1", "2"), "go together"),
    ],
)
def test_hours_that_cannot_be_are_refused_and_never_left_out(run, words, said):
    with pytest.raises(UsageError, match=said):
        run("cost", "change", *RATIO, *words)


def test_a_price_says_where_it_was_read(run):
    shown = " ".join(run("cost", "change", *RATIO, *HOURS).split())

    assert "6.88 USD a device-hour, as of 2026-11-09: us-east-1; " in shown


def test_a_period_that_ends_before_it_starts_is_refused(run, written, sacct):
    words = ("--config", written(USAGE), "--start", "2026-09-20", "--end", "2026-09-10")

    with pytest.raises(UsageError, match="is not before"):
        run("cost", "fleet", sacct, *words)


def test_a_usage_file_counts_once(run, written, sacct):
    with pytest.raises(UsageError, match="given twice"):
        run("cost", "fleet", sacct, sacct, "--config", written(USAGE))


def test_help_names_the_usage_tables(run):
    shown = run("cost", "fleet", "--help").replace("│", " ")

    assert "whose usage tables claim jobs" in " ".join(shown.split())
