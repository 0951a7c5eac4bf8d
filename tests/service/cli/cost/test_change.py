"""`perfledger cost change` and `fleet hours` as a user runs them; the usage files are made here."""

import csv
import io
import json

import pytest

from perfledger.records import Device, Machine
from perfledger_cost_models.prices.packaged_sheet import packaged_text
from perfledger_service.errors import UsageError

RATIO = ("--ratio", "1.12", "--interval", "1.10", "1.14")


HOURS = ("--device-hours", "20000", "--purchase-option", "p5.48xlarge/on_demand")


H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", memory_bytes=85_520_809_984)
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


def test_a_ratio_with_its_interval_is_priced_on_hours(run):
    output = run("cost", "change", *RATIO, *HOURS)

    assert "+16,500\N{NO-BREAK SPACE}USD" in output
    assert "13,800\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}19,300" in output
    assert max(map(len, output.splitlines())) <= 80


def test_a_ratio_without_its_interval_is_refused(run):
    with pytest.raises(UsageError, match="a change is not priced without its interval"):
        run("cost", "change", "--ratio", "1.12", *HOURS)


@pytest.mark.parametrize(
    "words", [("--interval", "1", "2"), ("--workload", "m:f"), ("--measured-on", "H100-80GB")]
)
def test_options_of_a_ratio_are_refused_with_a_bundle(run, words):
    with pytest.raises(UsageError, match=f"{words[0]}: a bundle has its own changes"):
        run("cost", "change", "bundle.json", *words)


def test_a_ratio_without_its_device_says_that_it_is_taken_as_that_of_the_fleet(run):
    assert "--measured-on names another" in " ".join(run("cost", "change", *RATIO, *HOURS).split())


def test_a_ratio_of_the_same_device_is_as_measured_and_of_another_projected(run):
    same = run("cost", "change", *RATIO, *HOURS, "--measured-on", "NVIDIA H100 80GB HBM3")
    other = run("cost", "change", *RATIO, *HOURS, "--measured-on", "A100-80GB", "--json")

    assert "--measured-on" not in same
    assert "13,800\N{NO-BREAK SPACE}to\N{NO-BREAK SPACE}19,300" in same
    (price,) = json.loads(other)["prices"]
    assert price["projected_from"] == "A100-80GB"
    assert float(price["low"]) < 13_760
    assert float(price["high"]) > 19_264


def test_a_ratio_of_an_unknown_device_has_no_price_elsewhere(run):
    output = run("cost", "change", *RATIO, *HOURS, "--measured-on", "Strange Device", code=3)

    assert "the peaks of Strange Device are unknown" in " ".join(output.split())


@pytest.mark.parametrize(
    ("ratio", "interval"),
    [
        ("1e6", (9e5, 1.1e6)),
        ("1e-6", (0.9e-6, 1.1e-6)),
        ("1000.1", (1000, 1001)),
        ("0.0009", (0.0008, 0.001)),
    ],
)
def test_a_ratio_that_no_change_of_code_has_is_refused_and_says_what_to_give(run, ratio, interval):
    with pytest.raises(UsageError, match=r"of workload says that .* 1,000 times .* in one unit"):
        run("cost", "change", "--ratio", ratio, "--interval", *interval, *HOURS)


@pytest.mark.parametrize("ratio", ["1000", "0.001"])
def test_a_thousandfold_ratio_is_priced(run, ratio):
    low, high = float(ratio) * 0.9, float(ratio) * 1.1

    assert "USD" in run("cost", "change", "--ratio", ratio, "--interval", low, high, *HOURS)


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
    assert [row["table"] for row in rows] == ["prices", "total"]
    assert rows[0]["hours_source"] == "as given on the command line"
    assert rows[0]["rate_as_of"] == "2026-11-09"


def test_the_picture_has_the_price_its_interval_and_the_limit(run, written, tmp_path):
    file, picture = written(POLICY + "fail_above_usd_per_year = 15000"), tmp_path / "change.svg"

    words = (*RATIO, *HOURS, "--config", file, "--format", "svg", "--output", picture)
    run("cost", "change", *words, code=3)

    text = picture.read_text()
    assert "+16,500 USD" in text
    assert "Policy of nlp" in text
    assert "fails above 15,000 USD" in text


def test_a_name_that_a_spreadsheet_would_run_is_text(run):
    output = run("cost", "change", *RATIO, *HOURS, "--workload", "=1+1", "--format", "csv")

    assert ",'=1+1," in output


def test_a_range_of_hours_widens_the_interval(run):
    words = (
        "cost",
        "change",
        *RATIO,
        *HOURS,
        "--device-hours-range",
        15_000,
        30_000,
        "--format",
        "json",
    )

    (price,) = json.loads(run(*words))["prices"]

    assert float(price["low"]) < 13_760
    assert float(price["high"]) > 19_264


def test_a_price_list_of_one_s_own_is_used(run, written):
    lines = [line for line in packaged_text().splitlines() if "2026-11-09" not in line]
    sheet = written("\n".join(lines), "own.csv")

    document = json.loads(
        run("cost", "change", *RATIO, *HOURS, "--prices", sheet, "--format", "json")
    )

    assert document["prices"][0]["rate"]["as_of"] != "2026-11-09"


def test_what_has_no_price_exits_with_3(run):
    output = run(
        "cost", "change", *RATIO, "--device-hours", 1, "--purchase-option", "p5/on_demand", code=3
    )

    assert "no price" in output


def test_hours_need_to_say_where(run):
    with pytest.raises(UsageError, match="give --device-hours and --purchase-option together"):
        run("cost", "change", *RATIO, "--device-hours", 1)


@pytest.mark.parametrize(
    ("limits", "code", "text"),
    [
        ("fail_above_usd_per_year = 10000", 1, "Policy of nlp fails"),
        ("fail_above_usd_per_year = 15000", 3, "Policy of nlp asks for approval"),
        ("ask_above_usd_per_year = 20000", 0, "Policy of nlp passes"),
    ],
)
def test_a_policy_is_the_exit_code(run, written, limits, code, text):
    file = written(POLICY + limits)

    assert text in run("cost", "change", *RATIO, *HOURS, "--config", file, code=code)


def test_an_idle_commitment_costs_waiting_and_no_cash(run, written):
    text = " ".join(run("cost", "change", *RATIO, "--config", written(IDLE)).split())

    assert "costs no cash" in text
    assert "Idle devices that are paid for absorb 2,400 device-hours a year" in text
    assert "a job waits about" in text
    assert "an M/M/c estimate" in text


def test_a_named_workload_gets_its_part_of_a_wildcard_entry_or_no_price(run, written):
    entry = """
[[fleet]]
workload = "gpt:*"
where = "p5.48xlarge/on_demand"
device_hours_per_year = 20000
"""
    words = ("cost", "change", *RATIO, "--workload", "gpt:train", "--json", "--config")

    unpriced = json.loads(run(*words, written(entry), code=3))["prices"]
    weighted = entry + 'weights = { "gpt:train" = 1, "gpt:eval" = 3 }\n'
    part = json.loads(run(*words, written(weighted)))["prices"]

    assert [each["usd_per_year"] for each in unpriced] == [None]
    assert "20,000 hours for all workloads that it matches" in unpriced[0]["note"]
    assert [float(each["usd_per_year"]) for each in part] == [pytest.approx(5_000 * 0.12 * 6.88)]


def test_hours_that_are_freed_save_no_cash(run, written):
    words = ("--ratio", "0.9", "--interval", "0.88", "0.92", "--config", written(IDLE))

    text = " ".join(run("cost", "change", *words).split())

    assert "workload: 2,000 device-hours a year (1," in text
    assert "are freed on devices that are paid for anyway" in text
    assert "shorter than" in text


def test_a_bundle_is_priced_as_its_check_priced_it(run, written, make_bundle):
    bundle = written(make_bundle(ratio=1.2, machine=H100).to_json(), "bundle.json")

    document = json.loads(run("cost", "change", bundle, "--format", "json", *HOURS))

    assert float(document["prices"][0]["usd_per_year"]) == pytest.approx(
        20_000 * 0.2 * 6.88, rel=0.02
    )
    assert run("cost", "change", bundle, code=3).count("no price") == 1


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ("--device-hours", "nan", "--purchase-option", "p5.48xlarge/on_demand"),
            "NaN hours a year",
        ),
        (("--device-hours", "-5", "--purchase-option", "p5.48xlarge/on_demand"), "-5 hours a year"),
        (
            (*HOURS, "--device-hours-range", "30000", "40000"),
            "give 0 <= low <= hours <= high, at most",
        ),
        (("--device-hours", "5"), "give --device-hours and"),
        (("--purchase-option", "p5.48xlarge/on_demand"), "give --device-hours and"),
        (("--device-hours-range", "1", "2"), "give --device-hours and"),
    ],
)
def test_hours_that_cannot_be_are_refused_and_never_left_out(run, words, text):
    with pytest.raises(UsageError, match=text):
        run("cost", "change", *RATIO, *words)


def test_a_price_says_where_it_was_read(run):
    text = " ".join(run("cost", "change", *RATIO, *HOURS).split())

    assert "6.88 USD a device-hour, as of 2026-11-09: us-east-1; " in text
