"""The page of a project's machines, over HTTP."""

import csv
import io
from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger_service.usecases.people.audit import audit_log
from tests.service.canary_bundles import GPU, a_canary_bundle

PATH = "/octo/models/machines"
TOKEN = "pl_0123abcd_" + "s" * 43
OTHER_TOKEN = "pl_4567cdef_" + "t" * 43


def test_the_page_and_its_data_name_the_same_machine(site, make_bundle):
    upload = site.upload(make_bundle()).json()
    site.judge(upload["id"])

    page = site.get("/octo/models/machines")
    document = site.get("/octo/models/machines?format=json").json()
    table = site.get("/octo/models/machines?format=csv")

    assert page.status_code == 200
    assert f'href="/runs/{upload["id"]}"' in page.text
    (machine,) = document["machines"]
    assert machine["newest_check"] == upload["id"]
    assert machine["machine_class"] == "cpu:Test CPU:1"
    assert table.headers["content-type"].startswith("text/csv")
    (row,) = csv.DictReader(io.StringIO(table.text))
    assert float(row["noise"]) == machine["noise"]


def test_the_navigation_of_a_project_leads_there(site):
    assert 'href="/octo/models/machines"' in site.get("/octo/models").text


def test_an_unknown_project_and_format_are_errors(site):
    assert site.get("/octo/none/machines").status_code == 404
    assert site.get("/octo/models/machines?format=pdf").status_code == 422


@pytest.fixture
def with_canaries(people_site, clock):
    """Two projects whose people sign in, with canaries of a device of octo/models."""
    bundles = [a_canary_bundle(number) for number in range(6)]
    bundles += [a_canary_bundle(number, speed=0.7) for number in range(6, 8)]
    for bundle in bundles:
        clock.move(timedelta(hours=1))
        assert people_site.upload(bundle).status_code == 202
    return people_site


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("with_canaries")
def test_the_page_shows_canaries_drift_and_quarantine(browser_of):
    page = browser_of("vera").get(PATH).text

    assert "<code>GPU-0</code>" in page
    assert "quarantine" in page
    assert "slower than in 6 earlier runs" in page
    assert "since 2026-11-20 20:00 UTC by canaries" in page
    assert 'name="reason"' not in page


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("with_canaries")
def test_the_data_of_the_page_has_raw_values(browser_of):
    vera = browser_of("vera")
    document = vera.get(f"{PATH}?format=json").json()
    table = vera.get(f"{PATH}?format=csv").text

    (device,) = document["devices"]
    assert (device["device"], device["state"]) == ("GPU-0", "quarantine")
    assert device["quarantined_since"] == "2026-11-20T20:00:00+00:00"
    matmul, _ = document["canaries"]
    assert matmul["own_runs"] == 6
    assert -0.35 < matmul["own_change"] < -0.25
    assert matmul["is_slower"] is True
    assert 0.55 < matmul["share"] < 0.62
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row["table"] for row in rows].count("canaries") == 2


@pytest.mark.slow(ci_only=True)
def test_a_maintainer_releases_and_quarantines_a_device(with_canaries, browser_of):
    alice = browser_of("alice")
    assert f'action="{PATH}/release"' in alice.get(PATH).text

    answer = alice.post(f"{PATH}/release", device="GPU-0", reason="a <new> fan")
    assert (answer.status_code, answer.headers["location"]) == (303, PATH)
    assert f'action="{PATH}/release"' not in alice.get(PATH).text
    assert alice.post(f"{PATH}/quarantine", device="GPU-0", reason="no").status_code == 303
    page = alice.get(PATH).text
    assert "by alice: no" in page

    entries = audit_log(with_canaries.engine, repository="octo/models", most=9)
    assert [entry.detail for entry in entries][:2] == ["GPU-0: no", "GPU-0: a <new> fan"]
    assert {entry.address for entry in entries[:2]} == {"127.0.0.1"}


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("with_canaries")
def test_only_a_maintainer_with_a_form_of_ours_decides(browser_of):
    fields = {"device": "GPU-0", "reason": "it is mine"}

    assert browser_of("vera").post(f"{PATH}/release", **fields).status_code == 403
    assert browser_of("bob").post(f"{PATH}/release", **fields).status_code in {403, 404}
    alice = browser_of("alice")
    assert alice.post(f"{PATH}/release", token="0" * 64, **fields).status_code == 403
    for wrong in (
        {"device": "GPU-0"},
        {"device": "GPU-0", "reason": ""},
        fields | {"other": "field"},
    ):
        assert alice.post(f"{PATH}/release", **wrong).status_code == 400
    assert alice.post(f"{PATH}/release", device="GPU-9", reason="x").status_code == 404
    assert alice.post(f"{PATH}/quarantine", **fields).status_code == 409
    assert alice.post(f"{PATH}/destroy", **fields).status_code == 404


@pytest.mark.slow(ci_only=True)
def test_a_forged_canary_of_another_project_changes_nothing(with_canaries, browser_of):
    before = browser_of("vera").get(f"{PATH}?format=json").json()["devices"]
    for number in range(20, 30):
        forged = a_canary_bundle(number, speed=9.0, repository="octo/other")
        assert with_canaries.upload(forged, token=OTHER_TOKEN).status_code == 202
        stolen = a_canary_bundle(number, speed=9.0)
        assert with_canaries.upload(stolen, token=OTHER_TOKEN).status_code == 403

    assert browser_of("vera").get(f"{PATH}?format=json").json()["devices"] == before


@pytest.mark.slow(ci_only=True)
def test_names_of_devices_are_text_of_the_page(people_site, browser_of):
    evil = "<script>alert(1)</script>"
    machine = replace(GPU, uuid=evil, model=evil)
    assert people_site.upload(a_canary_bundle(1, machine=machine)).status_code == 202

    page = browser_of("alice").get(PATH).text

    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_the_answer_to_canaries_is_final_and_leads_to_the_page(site):
    answer = site.upload(a_canary_bundle(1))

    assert answer.status_code == 202
    assert (answer.json()["status"], answer.json()["conclusion"]) == ("judged", "neutral")
    assert answer.json()["url"] == "https://ledger.example/octo/models/machines"
    assert site.jobs.works == []


@pytest.mark.parametrize("number", ["NaN", "-1.0", "1e999"])
def test_canaries_that_are_no_rates_are_refused(site, number):
    bundle = a_canary_bundle(1)
    document = bundle.to_json().replace(repr(bundle.canaries[0].rates[0]), number)

    assert site.upload(document).status_code == 400
    assert site.get("/api/v1/devices", token=TOKEN).json()["devices"] == []
