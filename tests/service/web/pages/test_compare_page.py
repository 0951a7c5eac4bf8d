"""The page that compares two checks of a project, over HTTP."""

import csv
import io
import re

import pytest
from sqlalchemy import event

from perfledger.records import Revision
from tests.cases import case

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def checks(site, make_bundle):
    """Judge a check of the commit bbb… and one of ccc…, which is slower; return their ids."""
    ids = []
    for digit, ratio in (("b", 1.0), ("c", 1.5)):
        head = Revision(sha=digit * 40, subject=HOSTILE, ref="topic")
        upload = site.upload(make_bundle(ratio=ratio, head=head)).json()
        site.judge(upload["id"])
        ids.append(upload["id"])
    return tuple(ids)


def test_two_commits_stand_side_by_side(site, checks):
    by_commit = site.get("/octo/models/compare?a=bbbbbbb&b=ccccccc")
    by_id = site.get(f"/octo/models/compare?a={checks[0]}&b={checks[1]}")

    assert by_commit.status_code == 200
    assert by_commit.text == by_id.text
    assert "gpt:step" in by_commit.text
    assert re.search(r"\+5\d(\.\d)?.%", by_commit.text)
    assert "Not measured in pairs" in by_commit.text
    assert ">Note</th>" not in by_commit.text  # each has its interval
    assert "<script>alert" not in by_commit.text


@pytest.mark.usefixtures("checks")
def test_the_results_are_also_csv_and_json(site):
    page = "/octo/models/compare?a=bbbbbbb&b=ccccccc"
    table = site.get(f"{page}&format=csv")
    document = site.get(f"{page}&format=json")

    rows = list(csv.DictReader(io.StringIO(table.text)))
    results = document.json()["results"]
    assert table.headers["content-type"].startswith("text/csv")
    assert [float(row["change"]) for row in rows] == [one["change"] for one in results]
    assert document.json()["is_paired"] is False
    assert "pairs" in document.json()["note"]


@pytest.mark.usefixtures("checks")
@pytest.mark.parametrize("output", ["html", "csv", "json"])
def test_runs_that_are_no_pairs_have_no_verdict(site, output):
    text = site.get(f"/octo/models/compare?a=bbbbbbb&b=ccccccc&format={output}").text

    assert not re.search("regressed|improved|verdict|outcome|exit_code", text)


def test_a_page_without_sides_asks_for_them(site):
    answer = site.get("/octo/models/compare")

    assert answer.status_code == 200
    assert "Choose two commits" in answer.text
    assert site.get("/octo/nothing/compare").status_code == 404


@pytest.mark.usefixtures("checks")
def test_sides_that_cannot_be_compared_are_refused(site):
    for sides, status in [
        ("a=bbbbbbb&b=ddddddd", 404),
        ("a=bbbbbbb&b=bbbbbbbb", 400),
        ("a=bbbbbb&b=ccccccc", 422),
        (f"a={'b' * 65}&b=ccccccc", 422),
        ("a=bbbbbb%25&b=ccccccc", 422),
        ("a=%3Cscript%3E&b=ccccccc", 422),
        ("a=bbbbbbb%00&b=ccccccc", 422),
        ("a=bbbbbbb&b=ccccccc&format=xml", 422),
    ]:
        with case(sides=sides, status=status):
            answer = site.get(f"/octo/models/compare?{sides}")

            assert answer.status_code == status
            assert "<script>" not in answer.text


@pytest.mark.usefixtures("checks")
def test_checks_of_another_project_are_not_found(site):
    assert site.get("/octo/other/compare?a=bbbbbbb&b=ccccccc").status_code == 404


def test_a_text_that_begins_several_commits_asks_for_more_of_it(site, make_bundle):
    for ending in "12":
        head = Revision(sha="b" * 39 + ending, subject="", ref="topic")
        site.judge(site.upload(make_bundle(head=head)).json()["id"])

    answer = site.get("/octo/models/compare?a=bbbbbbb&b=ccccccc")

    assert answer.status_code == 404
    assert "give more of the SHA" in answer.text


def test_a_check_links_to_its_comparison_with_the_commit_before(site, checks):
    page = site.get("/octo/models/pull/7").text

    (sides,) = re.findall(r"/octo/models/compare\?a=(\w{32})&b=(\w{32})", page)
    assert set(sides) == set(checks)  # both arrived at one time of this clock


@pytest.mark.usefixtures("checks")
def test_a_comparison_takes_a_fixed_number_of_queries(site):
    statements = []
    event.listen(site.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))

    site.get("/octo/models/compare?a=bbbbbbb&b=ccccccc")

    assert len([one for one in statements if one.startswith("SELECT")]) <= 11
