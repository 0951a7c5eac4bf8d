"""The page that compares two checks of a project, over HTTP."""

import csv
import io
import re

import pytest
from sqlalchemy import event

from perfledger.records import Device, Machine, Revision
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


def test_commits_that_one_check_measured_have_its_verdicts_first(site, make_bundle):
    base = Revision(sha="b" * 40, subject="", ref="main")
    head = Revision(sha="c" * 40, subject="", ref="topic")
    ids = []
    for seed, values in enumerate(({"head": base}, {"base": base, "head": head})):
        upload = site.upload(make_bundle(seed=seed, ratio=1.5, **values)).json()
        site.judge(upload["id"])
        ids.append(upload["id"])

    page = site.get("/octo/models/compare?a=bbbbbbb&b=ccccccc")
    facts = site.get("/octo/models/compare?a=bbbbbbb&b=ccccccc&format=json").json()

    assert page.text.index("Measured in pairs") < page.text.index("each in its own check")
    assert "regressed" in page.text
    assert "is unknown until" not in page.text
    assert facts["paired_checks"] == [{"check": ids[1], "machine_class": "cpu:Test CPU:1"}]
    swapped = site.get("/octo/models/compare?a=ccccccc&b=bbbbbbb").text
    assert "Measured in pairs" not in swapped


def test_two_kinds_of_machine_are_said_first_and_no_speed_is_compared(site, make_bundle):
    for digit, model in (("b", "Old CPU"), ("c", "New CPU")):
        bundle = make_bundle(
            head=Revision(sha=digit * 40, subject="", ref="topic"),
            machine=Machine(device=Device.CPU, model=model),
        )
        site.judge(site.upload(bundle).json()["id"])

    text = site.get("/octo/models/compare?a=bbbbbbb&b=ccccccc").text

    assert text.index("Different kinds of machine") < text.index("Side by side")
    assert "A ran on Old CPU (cpu), B on New CPU (cpu)" in text
    assert "Not comparable: A ran on" in text
    assert "<td" not in text  # no figures beside each other


def test_a_commit_is_compared_on_the_machine_that_both_were_measured_on(site, make_bundle):
    shared, newer = Machine(device=Device.CPU, model="A"), Machine(device=Device.CPU, model="B")
    for number, (digit, machine) in enumerate((("b", shared), ("c", shared), ("c", newer))):
        bundle = make_bundle(
            seed=number,
            head=Revision(sha=digit * 40, subject="", ref="topic"),
            machine=machine,
            created_at=f"2026-11-20T1{number}:00:00+00:00",
        )
        site.judge(site.upload(bundle).json()["id"])

    text = site.get("/octo/models/compare?a=bbbbbbb&b=ccccccc").text

    assert "Different kinds of machine" not in text
    assert "also measured on" in text


def test_a_machine_that_was_updated_is_part_of_the_change(site, make_bundle):
    for digit, kernel in (("b", "6.1"), ("c", "6.12")):
        bundle = make_bundle(
            head=Revision(sha=digit * 40, subject="", ref="topic"),
            machine=Machine(device=Device.CPU, model="Test CPU", kernel=kernel),
        )
        site.judge(site.upload(bundle).json()["id"])

    text = site.get("/octo/models/compare?a=bbbbbbb&b=ccccccc").text

    assert "The machines differ" in text
    assert "6.1 → 6.12" in text


@pytest.mark.usefixtures("checks")
def test_what_lacks_a_profile_is_named_with_the_command_that_settles_it(site):
    text = site.get("/octo/models/compare?a=bbbbbbb&b=ccccccc").text

    assert "Without a profile of both sides" in text
    assert "nothing changed there" in text
    assert "perfledger check --base bbbbbbbbbbbb --head cccccccccccc" in text


@pytest.mark.usefixtures("checks")
def test_a_comparison_takes_a_fixed_number_of_queries(site):
    statements = []
    event.listen(site.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))

    site.get("/octo/models/compare?a=bbbbbbb&b=ccccccc")

    assert len([one for one in statements if one.startswith("SELECT")]) <= 17
