"""`perfledger review` as a user runs it: on the example, from bundles, and what it refuses."""

import contextlib
import csv
import json
import re
import subprocess
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfledger.bundle import FleetUse, PricingConfig
from perfledger_cost_models.billing.focus import read_focus
from perfledger_cost_models.prices.packaged_sheet import packaged_text
from perfledger_service.cli.app import app
from perfledger_service.errors import NotFoundError, TooLargeError, UsageError

EXAMPLE = Path(__file__).parents[4] / "examples" / "review"
ARGUMENTS = ("--quarter", "2026Q3", "--as-of", "2026-11-22")
TEXTS = ("--format", "html", "--format", "json", "--format", "csv")
PLAN = """
[demand]
accelerator = "H100-80GB"
keep = "p5.48xlarge/on_demand"
growth = { low = 0.0, mode = 0.1, high = 0.3, source = "made up" }
hours = { low = 2e5, mode = 3e5, high = 4e5, source = "made up" }
commitment_utilization = { low = 0.5, mode = 0.7, high = 0.8, source = "made up" }
[[option]]
name = "today"
where = "p5.48xlarge/on_demand"
[[option]]
name = "three years"
where = "p5.48xlarge/savings_plan/3y_no_upfront"
"""


def run_in(folder, *words, code=0):
    words = tuple(map(str, ("review", *ARGUMENTS, "--output", folder / "out", *words)))
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": "80"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == code, done.stdout
    return done.stdout


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where there is no database
    return partial(run_in, tmp_path)


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The example's documents, by name."""
    folder = tmp_path_factory.mktemp("example")
    with contextlib.chdir(folder):  # where there is no database
        run_in(folder, "--plan", EXAMPLE / "plan.toml", "--bill", EXAMPLE / "bill.csv", *TEXTS)
    paths = (path for path in (folder / "out").iterdir() if path.is_file())
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


@pytest.mark.slow(ci_only=True)
def test_the_example_is_written_and_says_that_it_is_one(written):
    document = json.loads(written["review.json"])

    assert set(written) == {"review.html", "review.json", "focus.csv"}
    assert document["is_example"]
    assert "An example" in written["review.html"]
    assert document["recommendation"]["name"] in written["review.html"]
    assert len(document["options"]) == 8
    assert [one["name"] for one in document["unpriced"]] == ["TPU v5p", "TPU v4"]


@pytest.mark.slow
def test_the_document_is_one_file_that_loads_nothing(written):
    text = written["review.html"].replace("http://www.w3.org/2000/svg", "")

    assert not re.search(r"<script|<link|src=|url\(|@import", text)
    assert not re.search(r"href=\"(?!#|https://)", text)
    anchors = set(re.findall(r"id=\"([^\"]+)\"", text))
    assert set(re.findall(r"href=\"#([^\"]+)\"", text)) <= anchors


@pytest.mark.slow
def test_the_allocation_in_focus_sums_to_the_bill_and_can_be_read_again(written):
    rows = list(csv.DictReader(written["focus.csv"].splitlines()))
    bill = read_focus((EXAMPLE / "bill.csv").read_text().splitlines(keepends=True))
    again = read_focus(written["focus.csv"].splitlines(keepends=True))

    cent = Decimal("0.01")
    assert sum(Decimal(row["EffectiveCost"]) for row in rows) == bill.effective_usd.quantize(cent)
    assert sum(Decimal(row["BilledCost"]) for row in rows) == bill.billed_usd.quantize(cent)
    assert again.effective_usd == bill.effective_usd.quantize(cent)


@pytest.mark.slow
def test_the_next_review_reads_this_one(run, written, tmp_path, plan):
    last = tmp_path / "last.json"
    last.write_text(written["review.json"])

    run("--plan", plan, "--quarter", "2026Q4", "--previous", last, *TEXTS)
    previous = json.loads((tmp_path / "out" / "review.json").read_text())["previous"]
    assert previous["quarter"] == "2026Q3"
    assert previous["variance"]["unknown"] == "budget against actual"


SHEET = (
    "provider,sku,region,accelerator,count,pricing_model,term,usd_per_hour,"
    "usd_per_accelerator_hour,as_of_date,retrieved_at,confidence,source,note\n"
    "aws,p5.48xlarge,us-east-1,H100-80GB,8,{},2026-11-20,high,a list,\n"
)
OWN = """
[[price]]
provider = "aws"
sku = "p5.48xlarge"
region = "us-east-1"
accelerator = "H100-80GB"
count = 8
model = "{model}"
term = "{term}"
per_hour = {usd}
as_of = 2026-11-20
source = "quote 815"
"""


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("on_demand,,5.504,0.688,2026-11-20", "0.688 an accelerator is 10-fold below 6.88"),
        ("on_demand,,440.32,55.04,2026-11-20", "it is the price of the instance"),
        ("on_demand,,98.32,12.29,2026-11-20", "an old price under a new date"),
        ("on_demand,,55.04,6.88,20/11/2026", "'20/11/2026' is not a date"),
        ("on_demand,,55.04,6.88,2027-11-20", "dated 2027-11-20"),
    ],
)
def test_a_review_refuses_to_decide_on_a_rejected_price(run, plan, tmp_path, row, reason):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(SHEET.format(row))

    with pytest.raises(UsageError, match=r"line 2 .* is left out: .* confirmed_on") as caught:
        run("--plan", plan, "--prices", sheet, "--format", "json")

    assert reason in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_rejected_price_of_another_option_takes_only_that_one_out(run, plan, tmp_path):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(SHEET.format("savings_plan,3y_no_upfront,2.3777,0.29721,2026-11-20"))

    run("--plan", plan, "--prices", sheet, "--format", "json")

    document = json.loads((tmp_path / "out" / "review.json").read_text())
    assert [one["name"] for one in document["options"]] == ["today"]
    assert "10-fold below" in document["unpriced"][0]["reason"]


def test_a_price_without_a_list_date_is_decided_on_once_an_override_confirms_it(
    run, plan, tmp_path
):
    sheet, own = tmp_path / "sheet.csv", tmp_path / "own.toml"
    sheet.write_text(SHEET.format("savings_plan,1y_no_upfront,33,4.125,unknown"))
    own.write_text(OWN.format(model="savings_plan", term="1y_no_upfront", usd=33))
    plan.write_text(
        f"{PLAN}[[option]]\nname = 'one year'\nwhere = 'p5.48xlarge/savings_plan/1y_no_upfront'\n"
    )
    words = ("--plan", plan, "--prices", sheet, "--format", "json")

    run(*words)
    (refused,) = json.loads((tmp_path / "out" / "review.json").read_text())["unpriced"]
    run(*words, "--overrides", own)
    document = json.loads((tmp_path / "out" / "review.json").read_text())

    assert "read on 2026-11-20, list date unknown: confirm it" in refused["reason"]
    assert "one year" in [one["name"] for one in document["options"]]
    assert document["unpriced"] == []


def test_an_implausible_override_is_used_once_a_person_confirmed_it(run, plan, tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(OWN.format(model="on_demand", term="", usd=5.5))
    words = ("--plan", plan, "--overrides", own, "--format", "json")

    with pytest.raises(UsageError, match="10-fold below"):
        run(*words)
    own.write_text(f"{own.read_text()}confirmed_on = 2026-11-21\n")
    run(*words)


def test_bundles_give_speeds_and_landed_changes(run, plan, tmp_path, make_bundle):
    folder = tmp_path / "bundles"
    folder.mkdir()
    fleet = FleetUse(workload="gpt:*", where="p5.48xlarge/on_demand", device_hours_per_year=9000.0)
    bundle = make_bundle(
        ratio=1.2,
        pull_request=None,
        created_at="2026-08-01T00:00:00+00:00",
        pricing=PricingConfig(fleet=(fleet,)),
    )
    other = make_bundle(seed=1, created_at="2026-11-01T00:00:00+00:00")
    (folder / "one.json").write_text(bundle.to_json())
    (folder / "after.json").write_text(other.to_json())

    run("--plan", plan, "--bundles", folder, *TEXTS)
    document = json.loads((tmp_path / "out" / "review.json").read_text())
    (change,) = document["demand"]["changes"]
    assert change["change"]["change"][1] == pytest.approx(0.2, abs=0.01)
    (price,) = change["prices"]
    assert "which says nothing about H100-80GB" in price["note"]  # measured on a processor
    (evidence,) = document["performance"]["evidence"]
    assert evidence["speed"]["units_per_second"][1] == pytest.approx(100, rel=0.01)
    assert evidence["speed"]["accelerator"] is None  # a processor has no price here
    assert document["demand"]["workloads"][0]["workload"] == "gpt:*"


def test_a_folder_without_bundles_is_refused(run, plan, tmp_path):
    with pytest.raises(NotFoundError, match="0 bundles"):
        run("--plan", plan, "--bundles", tmp_path)


def test_a_bill_whose_hours_are_in_another_unit_decides_nothing(run, plan, tmp_path):
    """Its hours would be the demand, a 3,600th of what is needed."""
    bill = tmp_path / "bill.csv"
    bill.write_text((EXAMPLE / "bill.csv").read_text().replace(",Hours,", ",Seconds,"))

    with pytest.raises(UsageError, match=r"the list says 55\.04: .* in another unit") as caught:
        run("--plan", plan, "--bill", bill, "--quarter", "2026Q3")
    assert "Nothing is decided on it" in str(caught.value)


@pytest.mark.slow
def test_exchange_rates_and_a_private_price_are_inputs_of_the_review(run, plan, tmp_path):
    """The bill's 12 USD an hour are a fifth of the list: the agreed price explains them."""
    header = packaged_text().splitlines()[0]
    row = "aws,p5.48xlarge,us-east-1,H100-80GB,8,on_demand,,30,3.75,2026-11-20,2026-11-20,high,q,,"
    own, rates, bill = (tmp_path / name for name in ("own.csv", "rates.csv", "bill.csv"))
    own.write_text(f"{header},currency\n{row},EUR\n")
    rates.write_text("Date,USD\n2026-11-20,1.2\n")
    first, *lines = (EXAMPLE / "bill.csv").read_text().splitlines()
    columns = first.split(",")
    rows = [dict(zip(columns, line.split(","), strict=True)) for line in lines]
    on_demand = next(each for each in rows if each["PricingCategory"] == "Standard")
    on_demand |= {"EffectiveCost": str(12 * float(on_demand["PricingQuantity"]))}
    bill.write_text(f"{first}\n{','.join(on_demand.values())}\n")
    plan.write_text("".join(one for one in PLAN.splitlines(True) if not one.startswith("hours")))
    words = ("--plan", plan, "--bill", bill, "--format", "json")

    with pytest.raises(UsageError, match="or give the price that was agreed on in --overrides"):
        run(*words)
    run(*words, "--overrides", own, "--exchange-rates", rates)

    sources = json.loads((tmp_path / "out" / "review.json").read_text())["sources"]
    (source,) = (each for each in sources if each["name"] == "exchange rates")
    assert source["origin"] == "rates.csv"
    assert source["sha256"] == sha256(rates.read_bytes()).hexdigest()


@pytest.mark.slow
def test_a_bill_in_euros_is_converted_and_its_rates_are_among_the_sources(run, tmp_path):
    bill, table = tmp_path / "bill.csv", tmp_path / "ecb.csv"
    bill.write_text((EXAMPLE / "bill.csv").read_text().replace("USD", "EUR"))
    days = [date(2026, 7, 1) + timedelta(days=day) for day in range(92)]
    table.write_text("".join(["Date,USD,DKK\n", *(f"{day},1.02,7.46\n" for day in days)]))

    words = ("--plan", EXAMPLE / "plan.toml", "--bill", bill, "--format", "json")
    run(*words, "--exchange-rates", table)

    document = json.loads((tmp_path / "out" / "review.json").read_text())
    names = [each["name"] for each in document["sources"]]
    assert "exchange rates" in names
    assert any("EUR at 1.02 USD" in name and "ecb.csv" in name for name in names)
    dollars = Decimal(document["allocation"]["effective_usd"])
    assert dollars == (Decimal("1.02") * Decimal("689479.28")).quantize(Decimal("0.01"))
    with pytest.raises(UsageError, match="is in 'EUR': give the ECB's table"):
        run(*words)


def test_a_bill_of_another_quarter_is_refused(run, plan):
    with pytest.raises(UsageError, match="not within 2026Q4"):
        run("--plan", plan, "--bill", EXAMPLE / "bill.csv", "--quarter", "2026Q4")


def test_prices_that_are_too_old_are_refused_unless_allowed(run, plan, tmp_path):
    with pytest.raises(UsageError, match="180 days"):
        run("--plan", plan, "--as-of", "2027-06-01", *TEXTS)

    run("--plan", plan, "--as-of", "2027-06-01", "--allow-stale-prices", *TEXTS)
    assert "Outdated prices were allowed" in (tmp_path / "out" / "review.html").read_text()


def test_own_prices_take_the_place_of_published_ones(run, plan, tmp_path):
    prices = tmp_path / "prices.toml"
    prices.write_text(
        '[[discount]]\nprovider = "aws"\nshare = 0.5\nas_of = 2026-10-01\nsource = "contract"\n'
        'models = ["on_demand"]\n'
    )

    output = run("--plan", plan, "--overrides", prices, *TEXTS)
    assert "Keep today's option" in output


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--quarter", "soon"), UsageError),
        (("--bill", "none.csv"), NotFoundError),
        (("--previous", "none.json"), NotFoundError),
        (("--overrides", "plan.toml"), UsageError),
        (("--plan", "none.toml"), NotFoundError),
    ],
)
def test_an_unusable_input_is_an_error(run, plan, words, error):
    with pytest.raises(error):
        run("--plan", plan, *words, *TEXTS)


def test_a_day_that_cannot_be_parsed_exits_with_code_2(plan):
    done = CliRunner().invoke(app, ["review", *ARGUMENTS, "--plan", str(plan), "--as-of", "soon"])

    assert done.exit_code == 2
    assert "--as-of" in done.stderr
    assert "soon" in done.stderr


def test_files_that_are_not_text_or_too_large_are_refused(run, plan, tmp_path):
    bad, large = tmp_path / "bad.csv", tmp_path / "large.json"
    bad.write_bytes(b"\xff")
    with large.open("wb") as file:
        file.truncate(64 * 2**20)

    with pytest.raises(UsageError, match="UTF-8"):
        run("--plan", plan, "--bill", bad, *TEXTS)
    with pytest.raises(UsageError, match="UTF-8"):
        run("--plan", bad, *TEXTS)
    with pytest.raises(TooLargeError):
        run("--plan", plan, "--previous", large, *TEXTS)


def test_names_that_others_wrote_are_never_markup(run, plan, tmp_path):
    text = plan.read_text().replace("made up", "<script>alert(1)</script>\\u202e")
    plan.write_text(f'title = "<img src=x>"\n{text}')

    run("--plan", plan, *TEXTS)
    shown_text = (tmp_path / "out" / "review.html").read_text()
    assert "<script" not in shown_text
    assert "<img" not in shown_text
    assert "\u202e" not in shown_text


@pytest.mark.slow(ci_only=True)
def test_the_pdf_has_the_decision_on_its_first_page(run, plan, tmp_path, require_system):
    reader = require_system("pdftotext", package="poppler-utils")
    decision = run("--plan", plan, "--format", "pdf").splitlines()[0]

    pdf = tmp_path / "out" / "review.pdf"
    first = subprocess.run(
        [str(reader), "-l", "1", str(pdf), "-"], check=True, capture_output=True, text=True
    ).stdout
    assert decision in " ".join(first.split())
    assert "Procurement: name, date" in first


def test_progress_is_shown_on_standard_error(plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where there is no database
    words = ("--plan", str(plan), "--output", str(plan.parent / "out"), *TEXTS)

    done = CliRunner().invoke(app, ["review", *ARGUMENTS, *words])

    assert "reading measurements and payments" in done.stderr
    assert "reading" not in done.stdout


def test_assumptions_are_figures_that_people_read(run, plan, tmp_path):
    run("--plan", plan, *TEXTS)

    assert "Growth of the hours: 10 % a year." in (tmp_path / "out" / "review.html").read_text()


def test_json_beside_another_format_is_refused(run, plan):
    with pytest.raises(UsageError, match="leave out --json or --format html"):
        run("--plan", plan, "--json", "--format", "html")


def test_the_tag_of_a_bill_needs_a_bill(run, plan):
    with pytest.raises(UsageError, match="--team-tag: the tag is the bill's: give --bill"):
        run("--plan", plan, "--team-tag", "team")
