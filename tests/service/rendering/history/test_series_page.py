import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger.metrics import WorseDirection
from perfledger.records import Side
from perfledger_service.rendering.history.series_page import (
    change_rows,
    search_sentence,
    series_page,
    transient_rows,
)
from perfledger_service.rendering.layout import number_format
from perfledger_service.values.upload_views import SeriesSummary, SeriesTransient


def test_a_page_has_the_newest_commits_and_leads_to_the_older_ones(history):
    first, last = series_page(history), series_page(history, page=2)

    assert 'href="/series/1?page=2"' in first
    assert 'href="/series/1?page=1"' in last
    assert "cb0000000000" in first
    assert "cb0000000000" not in last.partition("Commits, newest first")[2]


def test_a_head_leads_to_its_pull_request(history):
    assert 'of <a href="/acme/models/pull/51">#51</a>' in series_page(history)


@pytest.mark.parametrize(
    ("worse", "word"), [(WorseDirection.HIGHER, "worse"), (WorseDirection.LOWER, "better")]
)
def test_a_change_is_worse_or_better_by_the_metric(history, worse, word):
    (row,) = change_rows(replace(history, series=replace(history.series, worse=worse)))

    assert (row.word, row.size) == (word, "+14.6\u00a0%")
    assert row.commits == "7b0000000000..8b0000000000"


@pytest.mark.parametrize(
    ("worse", "word"), [(WorseDirection.HIGHER, "worse"), (WorseDirection.LOWER, "better")]
)
def test_a_change_from_nothing_is_a_rise_without_a_size(history, worse, word):
    nothing = float("nan")
    changes = tuple(
        replace(one, change=nothing, low=nothing, high=nothing) for one in history.changes
    )
    series = replace(history.series, worse=worse)

    (row,) = change_rows(replace(history, series=series, changes=changes))

    assert (row.word, row.size, row.interval) == (word, number_format.NOT_KNOWN, "")


def test_a_change_to_nothing_has_no_interval(history):
    changes = tuple(replace(one, change=-1.0, low=-1.0, high=-1.0) for one in history.changes)

    (row,) = change_rows(replace(history, changes=changes))

    assert (row.size, row.interval) == ("-100\N{NO-BREAK SPACE}%", "")


@pytest.mark.parametrize(
    ("searched", "is_unattested", "sentence"),
    [
        (24, False, "No change of level found over 24 commits of the default branch."),
        (1, False, "1 commit of the default branch: a search for changes needs 8."),
        (0, True, "Not searched for changes: only its bundles state that these commits are on the"),
        (0, False, ""),
    ],
)
def test_a_series_without_a_change_says_how_far_it_was_searched(
    history, searched, is_unattested, sentence
):
    commits = tuple(replace(one, is_unattested=is_unattested) for one in history.commits)
    unchanged = replace(history, commits=commits, changes=(), new_machines=(), searched=searched)

    assert search_sentence(unchanged)[: len(sentence)] == sentence
    assert sentence in series_page(unchanged)


def test_an_excursion_that_came_back_is_named_where_no_level_changed(history):
    shas = [one.sha for one in history.commits if one.is_on_branch]
    longer = SeriesTransient(first_sha=shas[2], last_sha=shas[7], commits=6, change=0.182)
    single = SeriesTransient(first_sha=shas[9], last_sha=shas[9], commits=1, change=-0.3)
    unchanged = replace(history, changes=(), new_machines=(), transients=(longer, single))

    page = series_page(unchanged)

    assert "No change of level" not in page
    assert [(row.size, row.commits, row.length) for row in transient_rows(unchanged)] == [
        ("-30.0\u00a0%", shas[9][:12], "1 measured commit"),
        ("+18.2\u00a0%", f"{shas[2][:12]} to {shas[7][:12]}", "6 measured commits"),
    ]
    assert f"<code>{shas[9][:12]}</code>: the level came back" in page


def test_commits_that_only_bundles_place_are_not_counted_as_the_branchs(history):
    commits = tuple(replace(one, is_unattested=one.is_on_branch) for one in history.commits)
    number = sum(one.is_on_branch for one in commits)
    page = series_page(replace(history, commits=commits))

    assert "<span>0 commits of the default branch</span>" in page
    assert f"<span>{number} unattested</span>" in page


def test_another_series_of_the_workload_is_chosen_and_laid_beside_it(history):
    series = history.series
    summary = SeriesSummary(
        id=2,
        workload=series.workload,
        metric="peak_memory",
        unit="B",
        machine_class="cuda:A100:1",
        points=3,
        last=1.0,
        measured_at=datetime(2026, 11, 20, tzinfo=UTC),
    )
    other = replace(history, series=replace(series, id=2, machine_class="cuda:A200:1"))
    apart = replace(other, commits=())

    alone = series_page(history, siblings=(summary, replace(summary, id=series.id)))
    both = series_page(history, siblings=(summary,), second=other)
    nothing = series_page(history, siblings=(summary,), second=apart)

    assert alone.count("<option") == 1
    assert "each relative to the first" not in alone
    assert "each relative to the first" in both
    legend = re.findall(r"<text[^>]*>(step time on [^<]*)", both)
    assert [re.sub(r".* on (.*) \(cuda\)", r"\1", one) for one in legend] == [
        "NVIDIA H100 80GB HBM3",
        "A200",
    ]
    assert 'href="/series/2?with=1"' in both
    assert "Nothing to compare" in nothing


def test_a_commit_is_compared_with_the_one_measured_before_it(history):
    shas = [one.sha for one in history.commits if one.is_on_branch]
    page, without = (
        series_page(
            replace(
                history,
                series=replace(
                    history.series,
                    points=tuple(one._replace(side=side) for one in history.series.points),
                ),
            )
        )
        for side in (Side.HEAD, Side.BASE)
    )

    assert f"/compare?a={shas[-2][:12]}&b={shas[-1][:12]}" in page
    assert "compare with the one before" not in without
