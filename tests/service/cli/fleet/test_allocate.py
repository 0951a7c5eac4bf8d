"""`perfledger fleet allocate` as a user runs it; bills and usage files are made here."""

import csv
import json
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from perfledger_cost_models.billing.focus import read_focus
from perfledger_service.errors import NotFoundError, UsageError

EXAMPLE = Path(__file__).parents[4] / "examples" / "review"
PAID = ("--amount-usd", "1000.01", "--devices", 2, "--start", "2026-07-01", "--end", "2026-07-08")
# https://focus.finops.org/focus-specification/v1-2/: columns that are there whatever the provider.
MUST_NOT_BE_NULL = (
    "BilledCost",
    "BillingAccountId",
    "BillingCurrency",
    "BillingPeriodEnd",
    "BillingPeriodStart",
    "ChargeCategory",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "ContractedCost",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "PublisherName",
    "ServiceCategory",
    "ServiceName",
)
MAY_BE_NULL = {"BillingAccountName", "ChargeClass", "ChargeDescription", "InvoiceId"}
USAGE = """start,end,team,epic,gpu_hours
2026-07-01,2026-07-03,vision,a,96
2026-07-03,2026-07-08,vision,b,60
2026-07-01,2026-07-08,[red]=speech,,24.5
2026-07-06,2026-07-08,,,12
"""


@pytest.fixture
def run(run):
    return partial(run, "fleet", "allocate")


@pytest.fixture
def usage(tmp_path):
    path = tmp_path / "usage.csv"
    path.write_text(USAGE)
    return path


@pytest.fixture
def entitlement(tmp_path):
    path = tmp_path / "entitled.csv"
    path.write_text("team,hours\nvision,3\nspeech,1\n")
    return path


def test_a_table_has_the_cost_of_each_owner_and_idle_devices(run, usage):
    output = run(usage, *PAID, "--overhead-usd", "100")

    words = " ".join(output.split())
    assert "[red]=speech 24.5 72.92 0.00 12.73 85.65" in words
    assert "vision 156.0" in words
    assert "(untagged) 12.0 35.71" in words
    assert "(unallocated) 0.0 0.00 427.09" in words
    assert "192.5 of 336.0 paid device-hours were allocated (57.3 %)" in words
    assert "No owner has a quota for the idle devices" in words
    assert max(map(len, output.splitlines())) <= 80


def test_rows_sum_to_the_amount_in_csv_and_json(run, usage, entitlement):
    words = (usage, *PAID, "--project-label", "epic", "--quotas", entitlement)
    rows = list(csv.DictReader(run(*words, "--format", "csv").splitlines()))
    document = json.loads(run(*words, "--format", "json"))

    assert sum(Decimal(row["total_usd"]) for row in rows) == Decimal("1000.01")
    assert sum(Decimal(row["total_usd"]) for row in document["rows"]) == Decimal("1000.01")
    assert [(row["team"], row["project"]) for row in document["rows"]] == [
        ("[red]=speech", None),
        ("speech", None),
        ("vision", None),
        ("vision", "a"),
        ("vision", "b"),
        (None, None),
    ]
    assert document["weeks"]["starts"] == ["2026-07-01", "2026-07-06"]
    assert document["weeks"]["teams"][0] == {"team": "vision", "hours": [132.0, 24.0]}


def test_the_rows_in_focus_are_read_again_and_sum_to_the_bill(run, tmp_path):
    path = tmp_path / "focus.csv"
    run(EXAMPLE / "usage.csv", "--project-label", "label_project", *_bill(), "--save-focus", path)

    rows = list(csv.DictReader(path.read_text().splitlines()))
    with (EXAMPLE / "bill.csv").open() as lines, path.open() as written:
        bill, again = read_focus(lines), read_focus(written)
    cent = Decimal("0.01")
    assert again.effective_usd == bill.effective_usd.quantize(cent)
    assert again.billed_usd == bill.billed_usd.quantize(cent)
    assert (again.start, again.end) == (bill.start, bill.end)
    ratios = [json.loads(row["AllocatedMethodDetails"])["Elements"][0] for row in rows]
    assert sum(each["AllocatedRatio"] for each in ratios) == pytest.approx(1)
    nobody = [row for row in rows if row["SubAccountId"] == "(unallocated)"]
    assert nobody
    assert all(row["AllocatedResourceId"] == "" for row in nobody)
    tags = [json.loads(row["AllocatedTags"]) for row in rows]
    assert {"team": "vision", "project": "video"} in tags


def test_the_rows_in_focus_have_what_the_specification_asks_of_every_row(run, usage, tmp_path):
    path = tmp_path / "focus.csv"
    run(usage, *PAID, "--project-label", "epic", "--save-focus", path)

    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert all(row[column] for row in rows for column in MUST_NOT_BE_NULL)
    assert set(rows[0]) >= MAY_BE_NULL
    assert "(empty)" not in path.read_text()
    assert all("." in row["PricingQuantity"] for row in rows)
    for column in ("BilledCost", "ContractedCost", "ListCost", "EffectiveCost"):
        assert sum(Decimal(row[column]) for row in rows) == Decimal("1000.01")


def test_list_prices_are_shared_where_the_bill_has_them(run, tmp_path):
    bill, path = tmp_path / "bill.csv", tmp_path / "focus.csv"
    header, *rows = (EXAMPLE / "bill.csv").read_text().splitlines()
    messages = [f"{header},ListCost,ContractedCost", *(f"{row},100.005,90" for row in rows)]
    bill.write_text("\n".join(messages))

    run("--bill", bill, "--overhead-usd", "1", "--save-focus", path)

    written = list(csv.DictReader(path.read_text().splitlines()))
    sums = [sum(Decimal(row[name]) for row in written) for name in ("ListCost", "ContractedCost")]
    assert sums == [round(len(rows) * Decimal("100.005") + 1, 2), 90 * len(rows) + 1]


def test_a_period_in_which_nobody_used_anything_is_idle(run, usage):
    usage.write_text("start,end,team,gpu_hours\n2026-07-01,2026-07-08,vision,0\n")

    document = json.loads(run(usage, *PAID, "--format", "json"))

    assert [(row["team"], row["idle_usd"]) for row in document["rows"]] == [
        ("(unallocated)", "1000.01")
    ]
    assert "<svg" in run(usage, "--format", "svg")


def test_overhead_that_nobody_used_anything_for_is_no_idle(run, usage):
    usage.write_text("start,end,team,gpu_hours\n2026-07-01,2026-07-08,vision,0\n")
    paid = ("--amount-usd", "0", *PAID[2:], "--overhead-usd", "7")

    output = run(usage, *paid)

    assert "No usage to share the overhead by" in output
    assert "entitled" not in output


def test_a_bill_without_usage_files_is_its_own_teams(run):
    document = json.loads(run(*_bill(), "--format", "json"))

    assert document["effective_usd"] == "689479.28"
    assert document["source"] == "the bill's own teams"
    assert document["weeks"] is None


def test_hours_of_a_bill_in_another_unit_are_named(run, tmp_path):
    bill = tmp_path / "bill.csv"
    bill.write_text((EXAMPLE / "bill.csv").read_text().replace(",Hours,", ",Seconds,"))

    words = " ".join(run("--bill", bill).split())

    assert "the list says 55.04: the bill's hours or costs are in another unit" in words
    assert "in another unit" not in " ".join(run(*_bill()).split())


AGREEMENT = """
[[discount]]
provider = "aws"
share = 0.1
models = ["on_demand"]
as_of = 2026-07-01
source = "EDP 4711"
"""


def test_prices_that_were_agreed_are_held_against_the_bills(run, tmp_path):
    contract = tmp_path / "contract.toml"
    contract.write_text(AGREEMENT)

    words = " ".join(run(*_bill(), "--contract", contract).split())

    assert "aws:p5.48xlarge on_demand: 55.04 USD an hour were paid, 11.1 % above agreed" in words
    assert "agreed" not in " ".join(run(*_bill()).split())
    with pytest.raises(UsageError, match="--contract: a bill's prices are compared with these"):
        run("usage.csv", "--amount-usd", "1", "--devices", "1", "--contract", contract)


def test_a_bill_in_euros_is_converted_and_says_at_which_rates(run, tmp_path):
    """The example's bill in USD, with all costs called EUR: each is 1.25 times as much."""
    bill, table = tmp_path / "bill.csv", tmp_path / "ecb.csv"
    bill.write_text((EXAMPLE / "bill.csv").read_text().replace("USD", "EUR"))
    days = [date(2026, 7, 1) + timedelta(days=day) for day in range(92)]
    table.write_text("".join(["Date,USD,DKK\n", *(f"{day},1.25,7.46\n" for day in days)]))

    document = json.loads(run("--bill", bill, "--exchange-rates", table, "--format", "json"))

    assert Decimal(document["effective_usd"]) == Decimal("1.25") * Decimal("689479.28")
    assert any("EUR at 1.25 USD" in note and "ecb.csv" in note for note in document["notes"])
    with pytest.raises(UsageError, match="is in 'EUR': give the ECB's table"):
        run("--bill", bill)


def test_two_overlapping_bills_count_once(run, tmp_path):
    header, *rows = (EXAMPLE / "bill.csv").read_text().splitlines()
    part = tmp_path / "part.csv"
    part.write_text("\n".join([header, *rows[:3], ""]))

    with pytest.raises(UsageError, match=r"part.csv and bill.csv both contain .*would count twice"):
        run(EXAMPLE / "bill.csv", part, *_bill(), "--team-label", "account")


def test_a_bill_alone_says_nothing_of_allocated_hours(run):
    words = " ".join(run(*_bill()).split())

    assert "paid device-hours; how many were allocated is unknown." in words
    assert "100 %" not in words


def test_what_the_bill_says_of_itself_can_be_the_usage(run):
    document = json.loads(
        run(EXAMPLE / "bill.csv", *_bill(), "--team-label", "account", "--format", "json")
    )

    assert document["effective_usd"] == "689479.28"
    assert document["used_hours"] == document["paid_hours"]


def test_a_bill_that_nobody_pays_anything_of_is_still_invoiced(run, tmp_path):
    bill, path = tmp_path / "bill.csv", tmp_path / "focus.csv"
    header, first, *_ = (EXAMPLE / "bill.csv").read_text().splitlines()
    cells = first.split(",")
    cells[1], cells[2], cells[5] = "7.50", "Purchase", "0"
    bill.write_text(f"{header}\n{','.join(cells)}\n")

    run("--bill", bill, "--save-focus", path)
    (row,) = csv.DictReader(path.read_text().splitlines())
    assert (row["BilledCost"], row["EffectiveCost"]) == ("7.50", "0.00")


def test_the_heat_map_is_valid_and_escapes_foreign_text(run, usage):
    usage.write_text(USAGE.replace("vision", "<b>&amp;"))

    output = run(usage, "--format", "svg")
    root = ElementTree.fromstring(output)
    texts = ["".join(each.itertext()) for each in root.iter() if each.tag.endswith("text")]
    assert "<b>&amp;" in texts
    assert "(untagged)" in texts
    assert {"01 Jul", "06 Jul", "132", "24"} <= set(texts)
    assert "prefers-color-scheme: dark" in output


def test_very_many_teams_are_one_row_and_a_short_week_has_a_week_s_colour(run, usage):
    rows = [f"2026-07-01,2026-07-08,team {place:03},,{place}" for place in range(1, 40)]
    usage.write_text("\n".join(["start,end,team,epic,gpu_hours", *rows]))

    output = run(usage, "--format", "svg")
    assert "(20 others)" in output
    assert output.count('fill-opacity="0.5"') == 3  # both weeks of the most, and the legend's


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (("USAGE",), UsageError, "--bill FILE, or --amount-usd"),
        (("--amount-usd", "1", "--devices", "2"), UsageError, "no usage file"),
        (("USAGE", "--amount-usd", "1"), UsageError, "--devices N"),
        (("USAGE", "--amount-usd", "lots", "--devices", "2"), UsageError, "--amount-usd is 'lots'"),
        (("USAGE", "--amount-usd", "nan", "--devices", "2"), UsageError, "--amount-usd is 'nan'"),
        (("USAGE", "--amount-usd", "1e99", "--devices", "2"), UsageError, "not an amount"),
        (("USAGE", "--amount-usd", "1", "--devices", "0"), UsageError, "0 devices"),
        (("USAGE", "--amount-usd", "1", "--devices", "1"), UsageError, "counts twice"),
        (
            ("USAGE", "--amount-usd", "1", "--devices", "2", "--overhead-usd", "x"),
            UsageError,
            "overhead",
        ),
        (("USAGE", *PAID, "--team-label", "owner"), UsageError, "no job has the label 'owner'"),
        (("USAGE", *PAID, "--quotas", "USAGE"), UsageError, "team,hours"),
        (("USAGE", *PAID, "--quotas", "none.csv"), NotFoundError, "none.csv"),
        (("USAGE", "--bill", "BILL", "--amount-usd", "1"), UsageError, "its own"),
        (("USAGE", "--bill", "BILL", *PAID[4:]), UsageError, "its own"),
        (("USAGE", "--bill", "none.csv"), NotFoundError, "none.csv"),
        (("none.csv", *PAID), NotFoundError, "none.csv"),
        (("BILL", "--bill", "USAGE"), UsageError, "FOCUS"),
        (("USAGE", "--start", "2026-07-02"), UsageError, "go together"),
        (("USAGE", "--start", "2026-07-02", "--end", "2026-07-02"), UsageError, "is not before"),
        (("--format", "svg"), UsageError, "heat map"),
        (
            ("USAGE", "--format", "svg", "--save-focus", "x.csv"),
            UsageError,
            "--save-focus: .*not cost",
        ),
        (
            ("USAGE", *PAID, "--format", "svg", "--overhead-usd", "3", "--quotas", "QUOTAS"),
            UsageError,
            "--amount-usd, --devices, --overhead-usd, --quotas: the heat map shows hours",
        ),
        (
            ("USAGE", "--bill", "BILL", "--team-tag", "team"),
            UsageError,
            "--team-tag: with usage files",
        ),
        (
            ("--bill", "BILL", "--team-label", "team", "--project-label", "app"),
            UsageError,
            "--team-label, --project-label: labels are those of usage files",
        ),
        (("USAGE", *PAID, "--save-focus", "no/folder/x.csv"), UsageError, "cannot write"),
    ],
)
def test_a_bill_that_cannot_be_allocated_is_an_error(run, usage, words, error, message):
    files = {"USAGE": usage, "BILL": EXAMPLE / "bill.csv"}

    with pytest.raises(error, match=message):
        run(*(files.get(word, word) for word in words))


def _bill():
    return "--bill", EXAMPLE / "bill.csv"
