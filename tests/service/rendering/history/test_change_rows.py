import math
from dataclasses import replace

import pytest

from perfledger_baselines.history.detection.changes import (
    ConfoundedChange,
    Cycle,
    SeriesFindings,
    Suspect,
)
from perfledger_service.rendering.history.change_rows import (
    MIN_POINTS,
    finding_rows,
    findings_sentence,
    mark_of,
)
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.values.measured_series import MeasuredSeries, SearchedSeries


def spaced(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_marks_run_out_politely_and_numbers_have_their_plural():
    assert (mark_of(0), mark_of(9), mark_of(500)) == ("1", "a", "^")
    assert quantity(2, "transient") == "2 transients"
    assert quantity(1, "gap") == "1 gap"


@pytest.mark.parametrize(
    ("number", "word", "phrase"),
    [
        (0, "point", "0 points"),
        (1, "change of states", "1 change of states"),
        (2, "change of states", "2 changes of states"),
        (2, "change point", "2 change points"),
        (12_345, "gap", "12,345 gaps"),
    ],
)
def test_what_is_counted_has_its_plural(number, word, phrase):
    assert quantity(number, word) == phrase


def test_findings_are_in_the_order_of_their_place(everything):
    rows = finding_rows(everything)

    assert [row.index for row in rows] == sorted(row.index for row in rows)
    assert [(row.what, row.mark) for row in rows] == [
        ("drift", ""),
        ("came back", ""),
        ("came back", ""),
        ("noisier", ""),
        ("quieter", ""),
        ("two states", ""),
        ("up", "1"),
        ("down", "2"),
    ]


def test_points_are_counted_from_one_and_a_change_says_how_sure_its_place_is(everything):
    by_what = {row.what: row for row in finding_rows(everything)}

    up = by_what["up"]
    texts = (up.place, up.size, up.interval, up.detail, up.confidence)
    assert tuple(map(spaced, texts)) == (
        "point 51 (50 to 52)",
        "+10.0 %",
        "+9.0 to +11.0",
        "10 → 11",
        "98.7 %",
    )
    assert by_what["came back"].place == "point 10"
    assert by_what["two states"].place == "from point 41 on"


def test_a_change_without_a_relative_size_has_its_step(everything):
    down = finding_rows(everything)[-1]

    assert (down.size, down.interval, down.detail) == ("-11", "", "10 → -1")


def test_a_change_says_that_the_machine_changed_there_too(everything):
    up, down = finding_rows(replace(everything, new_machines=frozenset({50})))[-2:]

    assert up.detail == "10 → 11; the machine changed there too"
    assert down.detail == "10 → -1"


def test_a_place_without_doubt_is_one_point(everything):
    change = everything.history.changes[0]
    sure = replace(change, earliest=change.index, latest=change.index)
    searched = replace(everything, history=SeriesFindings(changes=(sure,)))

    assert [row.place for row in finding_rows(searched)] == ["point 51"]


def test_labels_are_those_of_the_first_point(everything):
    labels = tuple(f"c{place:03}" for place in range(80))
    labelled = replace(everything, series=replace(everything.series, labels=labels))

    assert [row.label for row in finding_rows(labelled)][-2:] == ["c050", "c060"]
    assert {row.label for row in finding_rows(everything)} == {""}


@pytest.mark.parametrize(
    ("observations", "place", "sentence"),
    [(1, "point 80", "the last one is suspect"), (3, "from point 80 on", "the last 3 are suspect")],
)
def test_an_odd_end_is_suspect_and_no_change(everything, observations, place, sentence):
    suspect = Suspect(index=79, observations=observations, change=0.08, strength=5.0)
    searched = replace(everything, history=SeriesFindings(changes=()), suspect=suspect)

    (row,) = finding_rows(searched)

    assert (row.what, row.place, row.confidence) == ("suspect", place, "")
    assert findings_sentence(searched) == f"80 points: nothing moved; {sentence}"


def test_a_cycle_and_what_it_may_hide_are_named(everything):
    series_findings = SeriesFindings(
        changes=(),
        cycles=(Cycle(period="day", size=0.015), Cycle(period="week", size=0.02)),
        confounded_changes=(ConfoundedChange(index=40, change=0.03),),
    )
    searched = replace(everything, history=series_findings)

    daily, weekly, suspect = finding_rows(searched)

    assert (daily.what, daily.size, weekly.what) == (
        "daily cycle",
        "\u00b11.5\u00a0%",
        "weekly cycle",
    )
    assert (suspect.what, suspect.place) == ("suspect", "from point 41 on")
    assert findings_sentence(searched) == (
        "80 points: 2 cycles of time, 1 change that a cycle may hide"
    )


def test_everything_found_is_counted_in_one_sentence(everything):
    assert findings_sentence(everything) == (
        "80 points: 2 change points, 1 drift, 2 changes of the noise, 1 change of states, "
        "2 transients"
    )


@pytest.mark.parametrize(
    ("values", "epochs", "sentence"),
    [
        ((), (), "0 points: at least 8 are needed"),
        ((1.0, math.nan, 2.0), (), "2 points and 1 gap: at least 8 are needed"),
        ((1.0,) * 7, (), "7 points: at least 8 are needed"),
        ((1.0,) * MIN_POINTS, (), "8 points: nothing moved"),
        ((1.0,) * 9, (3, 6), "9 points in 3 epochs: nothing moved"),
    ],
)
def test_what_was_looked_at_is_counted(values, epochs, sentence):
    series = MeasuredSeries(name="ms", unit="", values=values, epochs=epochs)

    assert findings_sentence(SearchedSeries(series, SeriesFindings(changes=()))) == sentence
