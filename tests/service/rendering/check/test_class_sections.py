"""The comment of several machine classes: a row and a section each, within GitHub's limits."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from perfledger_service.rendering.check.class_sections import (
    class_sentence,
    classes_comment,
    classes_summary,
)
from perfledger_service.rendering.check.comment import (
    MARKER,
    MAX_COMMENT,
    MAX_SUMMARY,
    check_summary,
    comment,
)
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.usecases.uploads.machine_classes import conclude
from perfledger_service.values.pull_request_report import ClassReport, ClassStatus
from perfledger_service.values.report import Conclusion

PLACES: dict[str, Any] = {
    "public_url": "https://ledger.example",
    "url": "https://ledger.example/o/r/pull/7",
}
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
PENDING = ClassReport(machine_class="tpu:TPU v4:4", status=ClassStatus.PENDING, deadline=NOON)


@pytest.fixture(scope="module")
def report(make_bundle):
    return build_report(make_bundle(), today=NOON.date(), is_local=False)


def reported(report, machine_class, number=1):
    return ClassReport(
        machine_class=machine_class,
        status=ClassStatus.REPORTED,
        report=report,
        upload_id=f"{number:032x}",
    )


def test_one_class_has_the_comment_of_its_check(report):
    result = conclude((reported(report, "cuda:H100:1"),))

    assert classes_comment(result, **PLACES) == comment(report, url=PLACES["url"])
    summary = classes_summary(result, public_url=PLACES["public_url"], url=PLACES["url"])
    assert summary == check_summary(report, url=PLACES["url"])


def test_two_machine_classes_and_a_pending_one_are_as_agreed(reports, matches_golden):
    regressed = replace(reports["regressed"], takes_commands=True)
    slow = reported(regressed, "cuda:NVIDIA H100 80GB HBM3:1")
    same = reported(reports["unchanged"], "cuda:NVIDIA A100-SXM4-80GB:1", number=2)

    text = classes_comment(conclude((slow, same, PENDING)), **PLACES)

    matches_golden("comment_machine_classes.md", text)


def test_each_class_has_a_section_and_each_report_a_link_to_its_page(report):
    text = classes_comment(conclude((reported(report, "cuda:H100:1"), PENDING)), **PLACES)

    headings = [line for line in text.splitlines() if line.startswith("### ")]
    assert text.splitlines()[:2] == [MARKER, headings[0]]
    assert ["`H100 (cuda)`" in headings[0], "`4 x TPU v4 (tpu)`" in headings[1]] == [True, True]
    assert f"https://ledger.example/runs/{1:032x}" in text


def test_only_a_class_that_passed_is_folded(report):
    passed = replace(
        report, conclusion=Conclusion.SUCCESS, title="Performance unchanged", exit_code=0
    )
    classes = reported(report, "cuda:H100:1"), reported(passed, "cuda:A100:1", number=2)

    slow, same = classes_comment(conclude(classes), **PLACES).split("\n### ")[1:]

    assert "on 1, performance unchanged on 1" in slow
    assert "machine classes" not in same
    assert same.count("<details>") == same.count("</details>") == slow.count("<details>") + 1


def test_a_class_without_a_report_says_first_what_came_of_all():
    text = classes_comment(conclude((PENDING, replace(PENDING, machine_class="a:b:1"))), **PLACES)

    assert "\n\n2 machine classes: pending on 2\n" in text


def test_the_worst_class_comes_first(report):
    quiet = replace(report, conclusion="success", title="Performance unchanged", exit_code=0)
    result = conclude((reported(quiet, "a:a:1"), PENDING, reported(report, "z:z:1")))

    assert [one.machine_class for one in result.classes] == ["z:z:1", "tpu:TPU v4:4", "a:a:1"]


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(
    ("write", "limit"),
    [
        (classes_comment, MAX_COMMENT),
        (classes_summary, MAX_SUMMARY),
    ],
)
def test_many_classes_fit_github_and_say_what_is_left_out(report, write, limit):
    notes = tuple(f"note {number} " + "long " * 700 for number in range(20))
    long = replace(report, notes=notes)
    result = conclude([reported(long, f"cuda:GPU {number}:1", number) for number in range(32)])

    text = write(result, **PLACES)

    assert len(text.encode()) <= limit
    assert text.count("`GPU ") >= 32


def test_a_class_that_is_not_measured_says_why():
    missing = ClassReport(
        machine_class="cuda:x:1", status=ClassStatus.NOT_MEASURED, reason="no report arrived"
    )

    assert class_sentence(missing) == "not measured: no report arrived"
    assert class_sentence(PENDING) == "pending until 2026-11-20 12:00 UTC"


def test_a_hostile_name_of_a_class_stays_code(report):
    hostile = "cuda:x`](https://evil) | <img src=x> @octocat:1"
    missing = ClassReport(machine_class=hostile, status=ClassStatus.NOT_MEASURED, reason=hostile)
    text = classes_comment(conclude((reported(report, hostile), missing)), **PLACES)

    for heading in (line for line in text.splitlines() if "evil" in line):
        assert heading.startswith("### ")
        assert re.sub(r"(`+).*?\1", "", heading).find("evil") == -1
