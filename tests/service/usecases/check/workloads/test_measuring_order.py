"""Which workloads begin first, in the words of a report."""

from dataclasses import replace

import pytest

from perfledger_runners.measuring.rounds.changed_calls import NO_CALLS, ChangedCalls
from perfledger_service.usecases.check.workloads.measuring_order import order_notes

CALLS = ChangedCalls(
    files=("pkg/unit.py",),
    workloads=tuple("abcdef"),
    answers=frozenset("abcd"),
    callers=("c", "a"),
)


@pytest.mark.parametrize(
    ("calls", "note"),
    [
        (
            CALLS,
            (
                "the budget is short: 2 of 4 workloads, of which a step calls functions that "
                "changed in pkg/unit.py, began before the others; of 2 others it is not known"
            ),
        ),
        (
            replace(CALLS, probable=("e",)),
            (
                "the budget is short: 2 of 4 workloads, of which a step calls functions that "
                "changed in pkg/unit.py, began before the others; of 2 others it is not known, and "
                "1 of these, of the same benchmarks, began next"
            ),
        ),
        (
            replace(CALLS, callers=(), answers=frozenset("abcdef")),
            (
                "no step of 6 workloads was seen to call a function that changed in pkg/unit.py: "
                "they began in the order of the suite"
            ),
        ),
        (
            replace(CALLS, callers=(), answers=frozenset()),
            (
                "which steps call functions that changed in pkg/unit.py is not known: their "
                "workloads began in the order of the suite"
            ),
        ),
    ],
)
def test_a_report_says_which_workloads_began_first(calls, note):
    assert order_notes(calls) == (note,)


def test_without_a_choice_of_order_there_is_no_note():
    assert order_notes(NO_CALLS) == ()
