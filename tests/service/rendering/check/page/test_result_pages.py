"""Tests that a large check's page is small, and that its pages together lose no result."""

import re
from dataclasses import replace
from datetime import date

import pytest

from perfledger.records import FailureReason
from perfledger_service.rendering.check.page import (
    RESULTS_PER_PAGE,
    pull_request_page,
    run_page,
)
from perfledger_service.usecases.check.report_builder import build_report
from perfledger_service.values.upload_views import PullRequestView
from tests.service.rendering.check.page.conftest import upload_of
from tests.service.rendering.example_views import bundle_of

pytestmark = pytest.mark.slow

WORKLOADS = tuple(f"benchmarks.attention:forward[case={case}]" for case in range(75))
PAGES = 2  # of two results a workload
MAX_BYTES = 150_000


@pytest.fixture(scope="module")
def large(make_bundle):
    """The judged report and the bundle of a check of many workloads, one of which is slower."""
    bundle = make_bundle(workloads=WORKLOADS, pairs=6, samples=1, ratio=1.0)
    slow = make_bundle(workloads=WORKLOADS[60:61], pairs=6, samples=1, ratio=1.5)
    runs = [run for run in bundle.runs if run.workload != WORKLOADS[60]]
    bundle = replace(bundle, runs=(*runs, *slow.runs))
    return build_report(bundle, today=date(2026, 11, 20), is_local=False), bundle


@pytest.fixture(scope="module")
def page(large):
    report, bundle = large
    upload = upload_of(report, 1)
    return lambda number: run_page(report, upload, bundle, page=number)


def results_of(text):
    """Return the workload and metric of each row of the results on a page."""
    table = text[text.index('<table class="results"') : text.index("</table>")]
    rows = []
    for group in table.split("<tbody")[1:]:
        workload = re.search(r"<code>([^<]*)</code>", group)
        assert workload is not None
        rows += [(workload[1], one) for one in re.findall(r'class="metric">(.*?)</td>', group)]
    return rows


def test_each_result_is_on_one_page_and_the_regression_on_the_first(page, large):
    results = [results_of(page(number)) for number in range(1, PAGES + 1)]

    assert results[0][0][0] == WORKLOADS[60]
    assert [len(one) for one in results] == [
        RESULTS_PER_PAGE,
        len(large[0].verdicts) - RESULTS_PER_PAGE,
    ]
    assert len({*results[0], *results[1]}) == len(large[0].verdicts)


def test_no_page_is_large_and_each_leads_to_the_next_without_a_script(page):
    first, second = page(1), page(2)

    assert max(len(one.encode()) for one in (first, second)) < MAX_BYTES
    assert "Results 1 to 100 of 150, those that need attention first" in first
    assert f'<a href="/runs/{1:032x}?page=2" rel="next">Further results</a>' in first
    assert f'<a href="/runs/{1:032x}?page=1" rel="prev">Previous results</a>' in second
    assert page(99) == second


def test_the_throughput_of_each_workload_is_beside_its_results(page):
    for number in range(1, PAGES + 1):
        text = page(number)
        throughputs = text[text.index("<h3>Throughput</h3>") :]

        for workload, _ in results_of(text):
            assert workload in throughputs


def test_a_check_of_few_workloads_has_all_on_one_page(make_bundle):
    bundle = make_bundle(pairs=2, samples=1)
    report = build_report(bundle, today=date(2026, 11, 20), is_local=False)
    text = run_page(report, upload_of(report, 1), bundle, page=3)

    assert len(results_of(text)) == len(report.verdicts)
    assert "Pages of results" not in text


def test_many_workloads_that_were_not_reached_are_one_card_of_one_page(unreached):
    report = unreached(400)

    text = run_page(report, upload_of(report, 1), bundle_of(report))

    assert "bench.w399:step" not in text
    assert "and 399 more workloads" in text
    assert "Pages of results" not in text


def test_a_pull_request_shows_what_to_do_as_long_as_its_check_does(reports):
    (busy,) = (one for one in reports["noisy"].host_findings if one.advice)
    advice = "set " + "x" * 450
    report = replace(reports["noisy"], host_findings=(replace(busy, advice=advice),))
    upload = upload_of(report, 2)
    view = PullRequestView(repository="acme/models", number=42, uploads=(upload,))

    assert advice in pull_request_page(view, reports={upload.id: report})


def test_the_comments_of_a_pull_request_are_those_of_its_check(reports):
    regressed = replace(reports["regressed"], takes_commands=True, pull_request=42)
    failure = replace(reports["not_measured"].failures[0], why=FailureReason.MISSING)
    removed = replace(
        reports["not_measured"],
        takes_commands=True,
        pull_request=42,
        failures=(failure,),
    )

    assert [one.split(maxsplit=2)[1] for one in comments_of(regressed)] == [
        "accept",
        "rerun",
        "bisect",
    ]
    assert [one.split(maxsplit=2)[1] for one in comments_of(removed)] == ["accept"]
    assert comments_of(replace(regressed, takes_commands=False)) == []


def comments_of(report):
    """Return the comments that the page of a report's pull request offers."""
    upload = upload_of(report, 2)
    view = PullRequestView(repository="acme/models", number=42, uploads=(upload,))
    text = pull_request_page(view, reports={upload.id: report})
    return re.findall(r'<li><code class="typed">(/perfledger[^<]*)</code>', text)
