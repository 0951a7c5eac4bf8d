import csv
import json
from dataclasses import replace

import pytest

from perfledger_profiles.bottleneck.stragglers import CollectiveLoad, RankLoad, Stragglers
from perfledger_service.rendering.layout.writers import (
    plain_lines,
    to_csv,
    to_json,
    to_markdown,
    to_terminal,
)
from perfledger_service.rendering.trace.ranks import ranks_document
from perfledger_service.values.trace_views import RanksView
from tests.service.rendering.terminal_lines import lines_at


def load(rank, **values):
    usual = RankLoad(
        rank=rank,
        step_seconds=0.01,
        compute_seconds=0.005,
        last=0,
        late_seconds=0.0,
        wait_seconds=0.002,
    )
    return replace(usual, **values)


LATE = load(1, last=18, late_seconds=0.002, wait_seconds=0.0)
UNEVEN = Stragglers(ranks=(load(0, last=2), LATE, load(2)), collectives=20, skew=0.4)


@pytest.fixture
def view(make):
    """Return a function that makes the view of ranks that wait for each other like this."""

    def view(stragglers=UNEVEN, name="rank{}.json"):
        traces = tuple(make.trace_view(name.format(one.rank)) for one in stragglers.ranks)
        return RanksView(traces=traces, stragglers=stragglers)

    return view


def sentences(view):
    text = lines_at(to_terminal(ranks_document(view)), width=200)
    return " ".join(text.partition("\n\n")[0].replace("\xa0", " ").split())


def test_the_rank_that_the_others_wait_for_is_named_with_what_it_costs(view):
    assert sentences(view()) == (
        "The others wait for rank 1: 2.00 ms a step (20.0 % of it). It joins 18 of 20 collectives "
        "last. Rank 1 computes no longer than the median rank: look at its input, its host and its "
        "links. The first and the last rank join a collective 40.0 % of its duration apart, at the "
        "median of 20."
    )


def test_each_collective_is_listed_with_the_rank_that_is_last(view):
    reduce = CollectiveLoad(name="AllReduce", calls=20, rank=1, last=18, late_seconds=0.002)
    document = ranks_document(view(replace(UNEVEN, by_collective=(reduce,))))

    text = lines_at(to_terminal(document), width=80).replace("\xa0", " ")
    (record,) = json.loads(to_json(document))["by_collective"]

    assert "2.00 ms" in text.partition("By collective")[2]
    assert "18 of 20" in text.partition("By collective")[2]
    assert record == {
        "name": "AllReduce",
        "calls": 20,
        "rank": 1,
        "last": 18,
        "late_seconds": 0.002,
    }


def test_a_rank_that_computes_longer_is_told_to_look_at_its_work(view):
    slow = replace(UNEVEN, ranks=(load(0), replace(LATE, compute_seconds=0.0105), load(2)))

    assert "Rank 1 computes 2.1 times as long as the median rank" in sentences(view(slow))


def test_even_ranks_are_said_to_be_even(view):
    even = replace(UNEVEN, ranks=(load(0), load(1)), skew=0.05)

    assert sentences(view(even)) == (
        "None of the 2 ranks makes the others wait. The first and the last rank join a collective "
        "5.0 % of "
        "its duration apart, at the median of 20."
    )


@pytest.mark.parametrize(
    ("compute_s", "sentence"),
    [
        (0.005, "None of the 3 ranks makes the others wait."),
        (0.05, "Rank 1 computes 10 times as long"),
    ],
)
def test_without_a_common_collective_only_work_can_be_compared(view, compute_s, sentence):
    alone = Stragglers(
        ranks=(load(0), load(1, compute_seconds=compute_s), load(2)), collectives=0, skew=None
    )

    text = sentences(view(alone))

    assert text.startswith(sentence)
    assert text.endswith(
        "No collective is in all of these files: waiting cannot be told apart from working."
    )


def test_a_step_without_a_length_has_no_share_of_waiting(view):
    frozen = replace(UNEVEN, ranks=(load(0), replace(LATE, step_seconds=0.0)))

    assert "2.00 ms a step (0.00 % of it)" in sentences(view(frozen))


def test_the_table_has_a_row_for_each_rank_and_what_it_is_bound_by(view):
    text = lines_at(to_terminal(ranks_document(view())), width=120).replace("\xa0", " ")

    lines = [line.split() for line in text.splitlines() if line.endswith(".json")]
    assert lines[1] == [
        *("1", "10.0", "ms", "5.00", "ms", "2.00", "ms", "0", "s", "18", "of", "20", "rank1.json"),
    ]
    assert text.count("bound by compute") == 3


def test_programs_get_seconds_and_the_classification_of_each_rank(view):
    document = json.loads(to_json(ranks_document(view())))
    rows = list(csv.DictReader(to_csv(ranks_document(view())).splitlines()))

    assert (document["slowest_rank"], document["is_uneven"], document["skew"]) == (1, True, 0.4)
    assert document["ranks"][1]["late_seconds"] == 0.002
    assert document["ranks"][1]["classification"]["primary"] == "compute"
    assert [row["last"] for row in rows] == ["2", "18", "0"]
    assert "classification" not in rows[0]


def test_a_files_name_is_only_text(view):
    document = ranks_document(view(name="<img src=x>`|\x1b{}"))

    assert "\x1b" not in plain_lines(to_terminal(document)) + to_markdown(document)
    assert "| ``<img src=x>`\\|0`` |" in to_markdown(document)
