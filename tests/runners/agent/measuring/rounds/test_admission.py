"""Workloads begin in waves where the time is too short for all; results never decide which."""

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, strategies as st

from perfledger_runners.measuring.rounds.admission import (
    USUAL_SLOWNESS,
    WAVE,
    Admission,
    least_pair_s,
)

FEWEST = 5
MANY = tuple(f"w{number:03}" for number in range(60))


def begun(*, seconds_left, workloads=MANY, first=()):
    return Admission.begin(
        workloads, fewest=FEWEST, least_pair_s=1.5, seconds_left=seconds_left, first=first
    )


def measured_in(admission, *, pair_s, seconds, workloads=MANY, costs_s=None, needed=None):
    """Return the pairs of each workload after rounds, and the time that these took.

    A pair takes `pair_s`, or what `costs_s` says of its workload; a workload that needs more pairs
    than a test is in `needed`.
    """
    done, spent = dict.fromkeys(workloads, 0), 0.0
    while chosen := admission.next_round(
        frozenset(
            each for each in admission.admitted if done[each] < (needed or {}).get(each, FEWEST)
        ),
        done,
        seconds={each: (costs_s or {}).get(each, pair_s) for each in done if done[each]},
        pair_s=spent / max(sum(done.values()), 1),
        seconds_left=seconds - spent,
    ):
        spent += sum((costs_s or {}).get(each, pair_s) for each in chosen)
        for each in chosen:
            done[each] += 1
    return done, spent


def test_a_pair_takes_at_least_the_measured_steps_of_both_sides(request_for, tmp_path):
    request = request_for(tmp_path)
    effort = replace(request.effort, min_seconds=1.0, max_seconds=0.75)
    request = replace(request, effort=effort)

    assert least_pair_s(replace(request, is_interleaved=True)) == 1.5
    assert least_pair_s(replace(request, is_interleaved=False)) == 2.0


@pytest.mark.parametrize(("factor", "first"), [(1.0, len(MANY)), (0.99, WAVE)])
def test_all_begin_at_once_if_there_is_time_for_all(factor, first):
    enough_s = USUAL_SLOWNESS * len(MANY) * FEWEST * 1.5

    assert len(begun(seconds_left=factor * enough_s).admitted) == first


def test_a_few_begin_at_once_whatever_the_time():
    assert begun(seconds_left=1.0, workloads=MANY[:WAVE]).waiting == ()


def test_a_wave_is_tested_before_the_next_one_begins_and_time_is_spent_on_tests():
    done, spent = measured_in(begun(seconds_left=330.0), pair_s=2.0, seconds=330.0)

    assert set(done.values()) == {0, FEWEST}
    assert [name for name, pairs in done.items() if pairs] == list(MANY[:33])
    assert spent == 330.0


def test_if_the_wave_is_too_slow_as_many_are_tested_as_there_is_time_for():
    done, spent = measured_in(begun(seconds_left=330.0), pair_s=10.0, seconds=330.0)

    assert list(done.values()) == [FEWEST] * 4 + [1] * (WAVE - 4) + [0] * (len(MANY) - WAVE)
    assert spent == 320.0


def test_the_slowest_workload_costs_the_others_of_its_wave_nothing():
    costs_s = {MANY[3]: 60.0}

    done, _ = measured_in(begun(seconds_left=250.0), pair_s=2.0, seconds=250.0, costs_s=costs_s)

    assert [done[name] for name in MANY[:WAVE]] == [5, 5, 5, 1] + [5] * (WAVE - 4)


def test_workloads_that_are_behind_get_no_round():
    admission = begun(seconds_left=1e6)
    done = dict.fromkeys(MANY, FEWEST) | {MANY[0]: FEWEST + 1}
    next_round = partial(admission.next_round, done=done, seconds={}, pair_s=1.0, seconds_left=1e6)

    assert next_round(MANY) == frozenset()
    assert next_round(MANY[1:]) == set(MANY[1:])


def test_what_was_begun_before_an_interruption_is_admitted_again():
    admission = begun(seconds_left=1.0)

    admission.admit(MANY[WAVE : 2 * WAVE])

    assert admission.waiting == MANY[2 * WAVE :]


@given(
    pair_s=st.floats(0.5, 30.0),
    seconds=st.floats(1.0, 2000.0),
    number=st.integers(1, len(MANY)),
)
def test_rounds_never_begin_without_time_for_them(pair_s, seconds, number):
    workloads = MANY[:number]
    admission = begun(seconds_left=seconds, workloads=workloads)

    done, spent = measured_in(admission, pair_s=pair_s, seconds=seconds, workloads=workloads)

    assert spent <= max(seconds, pair_s * min(number, WAVE)) + 1e-6 or not admission.waiting
    assert set(done.values()) <= {0, 1, FEWEST}


CALLERS = (MANY[40], MANY[7], MANY[50])  # of changed functions


def test_callers_of_changed_functions_are_settled_before_any_other_workload_begins():
    admission = begun(seconds_left=330.0, first=CALLERS)
    needed = dict.fromkeys(CALLERS, 20)

    alone, _ = measured_in(admission, pair_s=2.0, seconds=330.0, needed=needed)

    assert admission.first == set(CALLERS)
    assert {alone[each] for each in CALLERS} == {20}
    begun_others = [name for name in MANY if alone[name] and name not in CALLERS]
    assert begun_others == [*MANY[:7], *MANY[8:22]]


def test_callers_that_stay_unsettled_leave_half_of_the_time_to_the_others():
    needed = dict.fromkeys(CALLERS, 10_000)

    done, spent = measured_in(
        begun(seconds_left=330.0, first=CALLERS), pair_s=2.0, seconds=330.0, needed=needed
    )

    others = sum(pairs for name, pairs in done.items() if name not in CALLERS)
    assert {done[each] for each in CALLERS} == {27}  # 3 x 27 x 2 s of 165 s
    assert others * 2.0 > 330.0 / 2 - 20.0
    assert spent <= 330.0


def test_many_callers_begin_in_waves_of_their_own_in_their_order():
    callers = MANY[::-1][:20]
    admission = begun(seconds_left=330.0, first=callers)

    assert admission.admitted == set(callers[:WAVE])
    done, _ = measured_in(admission, pair_s=2.0, seconds=330.0)
    assert all(done[each] == FEWEST for each in callers)
    assert [name for name in MANY[:40] if done[name]] == list(MANY[:13])


def test_if_all_begin_at_once_none_is_first():
    admission = begun(seconds_left=10_000.0, first=CALLERS)

    assert (admission.first, admission.waiting) == (frozenset(), ())


def test_slow_workloads_begin_after_all_others_unless_they_call_what_changed():
    admission = Admission.begin(
        MANY,
        fewest=FEWEST,
        least_pair_s=1.5,
        seconds_left=60.0,
        first=MANY[2:3],
        last=frozenset(MANY[:3]),
    )

    assert admission.admitted == {MANY[2]}
    assert admission.waiting == (*MANY[3:], *MANY[:2])
