"""The search over HTTP: what it finds, in which projects, and what it makes of hostile texts."""

import csv
import io

import pytest

from perfledger_service.store.search_queries import MAX_HITS
from tests.cases import case

HEADS = ("1b2f" + "a" * 36, "1b2f" + "c" * 36)


def hits(answer):
    return {(one["kind"], one["repository"], one["name"]) for one in answer.json()["hits"]}


@pytest.fixture
def search_hits(site, make_bundle):
    upload = site.upload(make_bundle(workloads=("gpt:train_step", "100%_done:x"))).json()
    site.judge(upload["id"])

    def search_hits(text):
        return hits(site.client.get("/search", params={"q": text, "format": "json"}))

    return search_hits


def test_each_kind_is_found_by_part_of_its_name(search_hits):
    for text, kind, name in [
        ("OCTO", "project", "octo/models"),
        ("train gpt", "workload", "gpt:train_step"),
        ("#7", "pull request", "#7"),
        ("octo/models#7", "pull request", "#7"),
        ("models 7", "pull request", "#7"),
        ("test cpu", "machine class", "cpu:Test CPU:1"),
    ]:
        with case(text=text, kind=kind, name=name):
            assert (kind, "octo/models", name) in search_hits(text)


@pytest.mark.slow(ci_only=True)
def test_a_text_that_names_nothing_finds_nothing(search_hits):
    for text in ["", "   ", "\0", "%", "_", "models 8", "#99999999999", "zzzz"]:
        with case(text=text):
            assert {kind for kind, _, _ in search_hits(text)} <= {"workload"}
            assert ("workload", "octo/models", "gpt:train_step") not in search_hits(
                text
            ) - search_hits("gpt")


def test_a_percent_sign_and_an_underscore_are_only_themselves(search_hits):
    assert search_hits("%_") == {("workload", "octo/models", "100%_done:x")}


@pytest.mark.slow(ci_only=True)
def test_a_commit_is_found_by_its_start_and_leads_to_its_newest_check(
    site, search_hits, make_bundle
):
    first = site.get("/search?q=head&format=json").json()["hits"]
    head = make_bundle().head.sha
    [hit] = site.get(f"/search?q={head[:7].upper()}&format=json").json()["hits"]

    assert first == []
    assert (hit["kind"], hit["name"]) == ("commit", head)
    assert site.get(hit["address"]).status_code == 200
    assert search_hits(head[:3]) == search_hits("zzzz")  # too short for a commit


@pytest.mark.usefixtures("search_hits")
def test_the_page_leads_to_each_result_and_its_data(site):
    page = site.get("/search?q=gpt")
    rows = list(csv.DictReader(io.StringIO(site.get("/search?q=gpt&format=csv").text)))

    assert 'href="/octo/models/workloads/gpt%3Atrain_step"' in page.text
    assert "/search?q=gpt&amp;format=json" in page.text
    assert 'value="gpt"' in page.text
    assert [row["address"] for row in rows] == ["/octo/models/workloads/gpt%3Atrain_step"]
    assert site.get(rows[0]["address"]).status_code == 200


def test_more_than_a_page_shows_is_said_to_be_more(site, make_bundle):
    names = tuple(f"gpt:step{number:02}" for number in range(MAX_HITS + 2))
    site.judge(site.upload(make_bundle(workloads=names, pairs=4)).json()["id"])
    document = site.get("/search?q=step&format=json").json()

    assert len(document["hits"]) == MAX_HITS
    assert document["cut"] == ["workload"]
    assert "There are more: type more of the name." in site.get("/search?q=step").text
    assert "There are more" not in site.get("/search?q=step01").text


def test_an_empty_search_and_one_without_results_say_what_to_type(site):
    empty = site.get("/search").text
    assert "first four or more digits" in empty
    assert 'type="search" maxlength="200" value=""' in empty
    page = site.client.get("/search", params={"q": "<script>alert(1)</script>"}).text
    assert "Nothing that you may view matches <code>&lt;script&gt;" in page
    assert "<script>alert" not in page


def test_a_text_beyond_the_limit_is_refused(site):
    assert site.get("/search?q=" + "a" * 201).status_code == 422
    assert site.get("/search?q=" + "a+" * 100).status_code == 200


def test_every_page_has_the_box(site):
    for path in ("/", "/capacity", "/account", "/search"):
        assert 'action="/search" role="search"' in site.get(path).text, path


@pytest.mark.slow(ci_only=True)
def test_nobody_finds_anything_of_a_project_that_they_may_not_view(browser_of, make_bundle):
    alice, bob = browser_of("alice"), browser_of("bob")
    head = make_bundle().head.sha
    for text in ("octo", "gpt", "#7", "cpu", head[:7]):
        for browser, own, other in ((alice, "models", "other"), (bob, "other", "models")):
            answer = browser.client.get("/search", params={"q": text, "format": "json"})
            assert {one["repository"] for one in answer.json()["hits"]} == {f"octo/{own}"}, text
            assert f"octo/{other}" not in answer.text
            assert f"octo/{other}" not in browser.client.get("/search", params={"q": text}).text
    stranger = browser_of("x", is_signed_in=False)
    assert stranger.get("/search?q=gpt").status_code == 303
