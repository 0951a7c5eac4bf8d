"""The page of costs over HTTP: its comparison, its form, and the prices of changes."""

import csv
import io
import json
import re
import shlex
from decimal import Decimal
from html import unescape

import pytest

from perfledger.bundle import FleetUse, PricingConfig
from perfledger.records import Device, Machine
from perfledger_service.store.database import read_session
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.uploads.reports import UploadReports
from tests.cases import case

H100 = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", count=8)
FLEET = FleetUse(workload="*", where="p5.48xlarge/on_demand", device_hours_per_year=50_000.0)
COSTS = "/octo/models/costs"
CONTRACT = """
[[price]]
provider = "aws"
sku = "p5.48xlarge"
region = "us-east-1"
accelerator = "H100-80GB"
count = 8
model = "on_demand"
per_hour = 30
currency = "USD"
as_of = 2026-11-01
source = "secret deal"
"""
FIGURES = ("name", "mode_usd", "p5_usd", "p50_usd", "p95_usd", "chance_cheapest", "break_even")


@pytest.fixture(autouse=True)
def packaged_prices(monkeypatch):
    for name in ("PRICES", "OVERRIDES", "CONTRACT", "EXCHANGE_RATES", "SHOW_OWN_PRICES"):
        monkeypatch.delenv(f"PERFLEDGER_{name}", raising=False)


def figures(document):
    return [[option[key] for key in FIGURES] for option in document["options"]]


def upload_change(site, make_bundle, **values):
    """Upload and judge a check of a change on the declared fleet, and return its id."""
    pricing = PricingConfig(fleet=(FLEET,))
    bundle = make_bundle(**{"machine": H100, "pricing": pricing} | values)
    upload_id = site.upload(bundle).json()["id"]
    site.judge(upload_id)
    return upload_id


@pytest.mark.slow
@pytest.mark.parametrize(
    "address",
    [
        pytest.param("", marks=pytest.mark.slow(ci_only=True)),
        "?allocated_percent=60&years=3&at=p5&at=tpu-v4&all=true",
    ],
)
def test_the_page_has_the_numbers_of_the_command_that_it_names(site, run, address):
    page = site.get(COSTS + address)
    [command] = map(
        unescape, re.findall(r"<pre[^>]*>(perfledger cost compare.*?)</pre>", page.text)
    )
    data = unescape(re.findall(r'href="([^"]*format=json)"', page.text)[0])
    printed = json.loads(run(*shlex.split(command)[1:], "--json"))
    served = site.get(data).json()
    by_hand = site.get(f"{COSTS}{address}{'&' if address else '?'}format=csv").text

    assert page.status_code == 200
    assert figures(served) == figures(printed)
    assert [row["name"] for row in csv.DictReader(io.StringIO(by_hand))] == [
        option["name"] for option in printed["options"]
    ]
    for option in printed["options"]:
        assert address == "" or option["name"] in page.text  # with all=true


@pytest.mark.slow(ci_only=True)
def test_the_answer_stands_before_the_form_and_unknown_prices_are_named(site):
    page = site.get(f"{COSTS}?allocated_percent=60").text

    content = page[page.index("<main") :]  # the head has a form of its own, to search
    assert content.index("a useful hour of one H100-80GB costs least") < content.index("<form")
    assert "us-east-1, as of 2026-11-09; datareceipts" in page
    assert "gcp:tpu-v4/committed_use/1y" in page[page.index("Unknown prices") :]
    assert "60 %: 101 of 168 hours a week" in page
    assert page.count('class="picture-frame"') == 2


@pytest.mark.slow(ci_only=True)
def test_what_is_wrong_is_said_beside_its_field_and_is_an_error_as_data(site):
    for address, field, words in [
        ("allocated_percent=0", "allocated_percent", "give a percentage above 0"),
        ("allocated_percent=nan", "allocated_percent", "is not a number"),
        ("allocated_percent=%3Cscript%3E", "allocated_percent", "&lt;script&gt;"),
        ("years=4", "years", "give 3 or 5"),
        ("job_hours=-1", "job_hours", "give a number above 0"),
        ("job_hours=1e-300", "job_hours", "give at least 0.01"),
        ("checkpoint_seconds=-1&interruptions_per_hour=1", "checkpoint_seconds", "above 0"),
        ("checkpoint_seconds=0&interruptions_per_hour=1", "checkpoint_seconds", "above 0"),
        ("job_hours=30000&years=3", "job_hours", "does not end within 3 years"),
        ("at=nowhere", "at", "o price at"),
        ("at=a%00b", "at", "o price at"),
        ("interruptions_per_hour=0.1", "checkpoint_seconds", "needs the time to save a checkpoint"),
        ("checkpoint_seconds=5", "interruptions_per_hour", "needs a rate of interruptions"),
        ("interruptions_per_hour=9e9&checkpoint_seconds=500", "checkpoint_seconds", "save more"),
    ]:
        with case(address=address, field=field, words=words):
            page = site.get(f"{COSTS}?{address}")
            [problem] = re.findall(rf'id="problem-{field}">(.*?)</span>', page.text)
            data = site.get(f"{COSTS}?{address}&format=json")

            assert page.status_code == 422
            assert words in problem
            assert f'aria-describedby="problem-{field}"' in page.text
            assert "<script>" not in page.text
            assert data.status_code == 400
            assert field in data.text


def test_texts_and_lists_of_the_form_have_a_limit(site):
    longest, longer = (site.get(f"{COSTS}?years={'9' * length}") for length in (80, 81))
    assert (longest.status_code, longer.status_code) == (422, 422)
    assert "problem-years" in longest.text  # it was read, and is no number of years
    assert "problem-years" not in longer.text
    assert site.get(f"{COSTS}?{'&'.join(['at=p5'] * 13)}").status_code == 422
    assert site.get(f"{COSTS}?format=pdf").status_code == 422
    assert site.get("/octo/none/costs").status_code == 404
    assert site.get("/octo/none/costs/changes").status_code == 404


def test_the_forms_own_requests_get_the_part_that_changes(site):
    part = site.client.get(f"{COSTS}?at=tpu-v4", headers={"HX-Request": "true"})
    restored = site.client.get(
        f"{COSTS}?at=tpu-v4",
        headers={"HX-Request": "true", "HX-History-Restore-Request": "true"},
    )

    assert "<html" not in part.text
    assert 'id="what-if"' in part.text
    assert part.headers["vary"] == "HX-Request"
    assert "<html" in restored.text
    assert "gcp:tpu-v4/on_demand" in restored.text


@pytest.mark.slow(ci_only=True)
def test_own_prices_are_for_maintainers_unless_all_may_see_them(browser_of, tmp_path, monkeypatch):
    contract = tmp_path / "contract.toml"
    contract.write_text(CONTRACT)
    monkeypatch.setenv("PERFLEDGER_CONTRACT", str(contract))
    vera, alice = browser_of("vera"), browser_of("alice")

    def sees_them(browser):
        data = browser.get(f"{COSTS}?at=p5&format=json&all=true").text
        page = browser.get(f"{COSTS}?at=p5&all=true").text
        is_seen = "secret deal" in page
        assert is_seen is ("secret deal" in data)
        assert is_seen is not ("own prices are shown to its maintainers" in page)
        return is_seen

    assert (sees_them(vera), sees_them(alice)) == (False, True)
    monkeypatch.setenv("PERFLEDGER_SHOW_OWN_PRICES", "true")
    assert sees_them(vera)


def test_without_changes_the_page_says_what_to_do(site):
    page = site.get(f"{COSTS}?at=tpu-v4").text

    assert "No check has found a change in step time yet" in page
    assert site.get(f"{COSTS}/changes").json()["changes"] == []
    assert 'href="/octo/models/costs" aria-current="page"' in page


def test_a_change_has_the_price_of_its_report(site, make_bundle):
    upload_id = upload_change(site, make_bundle, pull_request=7)
    with read_session(site.engine) as session:
        report, _ = UploadReports(build_report).report(session, upload_by_id(session, upload_id))
    [expected] = report.change_prices
    page = site.get(f"{COSTS}?at=tpu-v4").text
    [change] = site.get(f"{COSTS}/changes").json()["changes"]
    [row] = csv.DictReader(io.StringIO(site.get(f"{COSTS}/changes?format=csv").text))

    assert expected.usd is not None
    assert expected.low is not None
    assert Decimal(str(change["usd_per_year"])) == expected.usd > 0
    assert float(row["low"]) == float(expected.low)
    assert (change["upload_id"], change["pull_request"]) == (upload_id, 7)
    assert change["option"] == "p5.48xlarge/on_demand"
    assert "The one change has a price; the most expensive is gpt:step in #7" in page
    assert "Chart of the prices of changes" in page
    assert site.get(f"{COSTS}/changes?format=html").status_code in {200, 303}


def test_a_change_without_a_price_is_listed_with_its_reason(site, make_bundle):
    upload_change(site, make_bundle, pricing=PricingConfig())
    upload_change(site, make_bundle, ratio=1.0, seed=1)
    page = site.get(f"{COSTS}?at=tpu-v4").text
    [change] = site.get(f"{COSTS}/changes").json()["changes"]

    assert change["usd_per_year"] is None
    assert "no fleet entry matches" in change["note"]
    assert "None of 1 changes has a price" in page
    assert "no fleet entry matches" in page[page.index("Not priced") :]


def test_savings_cost_nothing(site, make_bundle):
    upload_change(site, make_bundle, ratio=0.8)

    assert "and none costs anything" in site.get(f"{COSTS}?at=tpu-v4").text
