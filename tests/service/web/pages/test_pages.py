import gzip
import re

import pytest

from perfledger.bundle import FleetUse, PricingConfig
from perfledger.records import Device, Machine, Revision
from perfledger_service.store.database import write_session
from perfledger_service.store.uploads import set_status
from perfledger_service.values.upload_views import UploadStatus
from tests.cases import case

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "</title><svg onload=alert(1)>",
    "{{ 7 * 7 }}",
    "\u202egnp.exe",
)


@pytest.fixture
def upload(site, make_bundle):
    document = site.upload(make_bundle(ratio=1.2)).json()
    site.judge(document["id"])
    return document


def pages_of(site, upload_id):
    return {
        path: site.get(path)
        for path in ("/", "/octo/models/pull/7", f"/runs/{upload_id}", "/series/1")
    }


@pytest.mark.slow(ci_only=True)
def test_every_page_is_there(site, upload):
    for path, answer in pages_of(site, upload["id"]).items():
        assert answer.status_code == 200, path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.text.startswith("<!doctype html>")
        assert "gpt:step" in answer.text


def test_a_page_of_results_past_the_end_is_the_last_one(site, upload):
    address = f"/runs/{upload['id']}"

    assert site.get(f"{address}?page=9").text == site.get(address).text
    assert site.get(f"{address}?page=0").status_code == 422


@pytest.mark.usefixtures("upload")
@pytest.mark.parametrize("address", ["/octo/models/pulls", "/octo/models/workloads"])
def test_a_page_of_a_list_past_its_end_is_the_last_one(site, address):
    assert site.get(f"{address}?page=1000000000").text == site.get(address).text


def test_the_pull_requests_page_says_the_verdict(site, upload):
    page = site.get("/octo/models/pull/7").text

    assert "regressed" in page
    assert f"/runs/{upload['id']}" in page


def test_the_chart_of_a_series_has_its_points_from_an_address_of_their_own(site, upload):
    page, answer = site.get("/series/1").text, site.get("/series/1/points.json")

    assert 'data-points="/series/1/points.json"' in page
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["links"] == [f"/runs/{upload['id']}"] * 2
    assert site.get("/series/99/points.json").status_code == 404


def test_only_a_checks_page_may_speak_to_a_window_that_it_opens(site, upload):
    policies = {
        path: answer.headers["cross-origin-opener-policy"]
        for path, answer in pages_of(site, upload["id"]).items()
    }

    assert policies.pop(f"/runs/{upload['id']}") == "same-origin-allow-popups"
    assert set(policies.values()) == {"same-origin"}


@pytest.mark.usefixtures("upload")
def test_names_of_repositories_have_no_case(site):
    assert site.get("/OCTO/Models/pull/7").status_code == 200


@pytest.mark.usefixtures("upload")
def test_what_is_not_there_is_not_found_in_plain_text(site):
    for path in [
        "/octo/models/pull/8",
        "/octo/nothing/pull/7",
        "/octo/models/pull/0",
        "/octo/models/pull/99999999999999999999",
        "/octo/models/pull/seven",
        f"/runs/{'f' * 32}",
        "/runs/..%2f..",
        "/runs/" + "a" * 4096,
        "/series/99",
        "/series/99999999999999999999",
        "/series/-1",
        "/static/../../secrets",
        "/static/%2e%2e/%2e%2e/pyproject.toml",
        "/nothing",
        "/docs",
    ]:
        with case(path=path):
            answer = site.get(path)

            assert answer.status_code == 404
            assert answer.headers["content-type"] == "text/plain; charset=utf-8"
            assert "Traceback" not in answer.text


def test_an_upload_that_is_not_judged_yet_says_so(site, make_bundle):
    document = site.upload(make_bundle()).json()
    answer = site.get(f"/runs/{document['id']}")

    assert answer.status_code == 404
    assert "not judged yet (received): reload in a moment" in answer.text


def test_a_refused_upload_shows_why(site, upload):
    with write_session(site.engine) as session:
        set_status(session, upload["id"], UploadStatus.REFUSED, reason="moved on & away")
        session.commit()

    assert "moved on &amp; away" in site.get(f"/runs/{upload['id']}").text


def test_hostile_names_stay_text_on_every_page(site, make_bundle):
    bundle = make_bundle(
        workloads=HOSTILE,
        head=Revision(sha="b" * 40, subject=HOSTILE[0], ref=HOSTILE[1]),
        notes=HOSTILE,
        logs={"1": "".join(HOSTILE)},
    )
    document = site.upload(bundle).json()
    site.judge(document["id"])

    for path, answer in pages_of(site, document["id"]).items():
        assert answer.status_code == 200, path
        page = answer.text
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "<svg onload" not in page
        assert not re.search(r"<[^>]+\son\w+=", page)
        assert 'href="javascript' not in page
        assert "\u202e" not in page


def test_pages_hold_nothing_inline_and_nothing_from_elsewhere(site, upload):
    for answer in pages_of(site, upload["id"]).values():
        assert not re.search(r"<script(?![^>]*(src=|application/json))", answer.text)
        assert not re.search(r"<[^>]+\sstyle=", answer.text)
        assert "<style" not in answer.text
        assert not re.search(r'(src|href)="(https?:)?//', answer.text)


def test_a_bundle_is_handed_out_as_a_file(site, upload, make_bundle):
    answer = site.get(f"/runs/{upload['id']}/bundle.json")

    assert answer.text == make_bundle(ratio=1.2).to_json()
    assert answer.headers["content-disposition"] == f'attachment; filename="{upload["id"]}.json"'


def test_a_bundle_that_came_gzipped_is_handed_out_unpacked(site, make_bundle):
    document = site.upload(gzip.compress(make_bundle().to_json().encode())).json()

    assert site.get(f"/runs/{document['id']}/bundle.json").text == make_bundle().to_json()


@pytest.mark.parametrize("path", ["/octo%00/models", "/octo/mod%00els", "/octo/%00/pull/7"])
def test_a_name_that_no_database_stores_is_not_found(any_engine, start_site, path):
    with start_site(any_engine) as site:
        assert site.get(path).status_code == 404


def test_a_pull_request_has_causes_prices_and_commands_of_its_newest_commit(site, make_bundle):
    fleet = FleetUse(workload="*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0)
    ids = []
    for seed, digit in enumerate("bc"):
        bundle = make_bundle(
            seed=seed,
            head=Revision(sha=digit * 40, subject="", ref="topic"),
            machine=Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3"),
            pricing=PricingConfig(fleet=(fleet,)),
            created_at=f"2026-11-20T1{seed}:00:00+00:00",
        )
        ids.append(site.upload(bundle).json()["id"])
        site.judge(ids[-1])

    page = site.get("/octo/models/pull/7").text

    current, _, earlier = page.partition("Earlier checks")
    newest, oldest = sorted(ids, key=lambda one: page.index(f"/runs/{one}"))  # of one moment here
    digit = "bc"[ids.index(newest)]
    assert f"/runs/{newest}" in current
    assert f"/runs/{oldest}" not in current
    assert f"/runs/{oldest}" in earlier
    assert "USD" in current
    assert f"perfledger check --base {'a' * 12} --head {digit * 12}" in current
    assert "USD" not in earlier


def test_every_kind_of_page_has_its_data_as_csv_and_json_and_links_to_both(site, upload):
    run = f"/runs/{upload['id']}"
    for page, key in (
        ("/?", "checks"),
        (f"{run}?", "verdicts"),
        ("/octo/models/pull/7?", "verdicts"),
        ("/octo/models/pulls?page=1&", "checks"),
        ("/octo/models/workloads?page=1&", "series"),
        ("/octo/models/workloads/gpt%3Astep?", "series"),
        ("/series/1?", "commits"),
        ("/octo/models?part=to-decide&order=newest&", "events"),
        ("/octo/models/events/1?", "notes"),
    ):
        with case(page=page):
            html = site.get(page.rstrip("?&"))
            table, document = (site.get(f"{page}format={kind}") for kind in ("csv", "json"))

            assert html.headers["content-type"].startswith("text/html")
            assert f"{page}format=csv" in html.text.replace("&amp;", "&")
            assert f"{page}format=json" in html.text.replace("&amp;", "&")
            assert table.headers["content-type"].startswith("text/csv")
            assert len(table.text.splitlines()) > 1
            assert document.json()[key]


def test_the_json_of_a_check_is_its_report(site, upload):
    document = site.get(f"/runs/{upload['id']}?format=json").json()

    assert document["format"] == "perfledger-report"
    assert document["is_local"] is False
    assert document["verdicts"][0]["outcome"] == "regressed"
    assert site.get(f"/runs/{upload['id']}?format=xml").status_code == 422


def test_a_series_beside_another_is_one_of_its_project(site, upload):
    page = site.get("/series/1?with=2")

    assert upload["id"]
    assert page.status_code == 200
    assert '<option value="2" selected>' in page.text
    assert site.get("/series/1?with=999").status_code == 404
    assert site.get("/series/1?with=0").status_code == 422
