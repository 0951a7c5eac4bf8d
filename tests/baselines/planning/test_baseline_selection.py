from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger_baselines.history.commits.attribution import CommitRange
from perfledger_baselines.planning.baseline_selection import (
    MAX_CHECKS,
    AcceptedChange,
    BaselineCandidate,
    BaselineKind,
    BaselineRequest,
    NoBaselineError,
    Obstacle,
    select_baseline,
)

WANTED = BaselineRequest(
    workload="m:f",
    metric=STEP_TIME,
    check="this",
    merge_base=100,
    machine_class="cuda:H100:1",
    environment="driver 1",
)


def run(commit, name="", **values):
    return BaselineCandidate(
        **{
            "run": name or f"run {commit}",
            "check": f"check {commit}",
            "commit": commit,
            "machine_class": "cuda:H100:1",
            "environment": "driver 1",
            **values,
        }
    )


def head_with(**values):
    return replace(WANTED, **values)


def commits(selection):
    return [candidate.commit for candidate in selection.runs]


def test_runs_of_the_check_itself_come_before_any_history():
    own = [run(100, f"own {n}", check="this") for n in range(2)]

    selection = select_baseline(WANTED, [*(run(commit) for commit in range(80, 101)), *own])

    assert selection.kind is BaselineKind.PAIR
    assert selection.runs == tuple(own)
    assert selection.reason == (
        "2 runs, at the merge base, measured side by side with the head in this check"
    )


def test_a_pair_whose_base_is_not_the_merge_base_says_how_far_it_is():
    selection = select_baseline(WANTED, [run(98, check="this"), run(97, check="this")])

    assert commits(selection) == [98]
    assert "1 run, 2 commits before the merge base" in selection.reason


def test_a_level_that_changed_in_the_history_does_not_touch_a_pair():
    own = run(98, check="this", environment="driver 2")

    selection = select_baseline(head_with(levels=(CommitRange(99, 99),)), [own])

    assert selection.kind is BaselineKind.PAIR


def test_without_a_pair_a_stretch_of_the_present_level_is_the_baseline():
    selection = select_baseline(WANTED, [run(commit) for commit in (99, 95, 92, 90)])

    assert selection.kind is BaselineKind.WINDOW
    assert commits(selection) == [99, 95, 92, 90]
    assert selection.reason == (
        "4 runs of the newest 4 checks of this level and epoch, from 10 commits before the merge "
        "base to 1 commit before the merge base; "
        "not paired: measure the base in the same check for a more certain verdict"
    )


def test_a_stretch_holds_no_more_checks_than_it_may():
    selection = select_baseline(WANTED, [run(commit) for commit in range(100)])

    assert commits(selection) == list(range(99, 99 - MAX_CHECKS, -1))


def test_all_runs_of_a_check_are_taken_or_none():
    runs = [run(commit, f"{commit}.{n}") for commit in range(60, 100) for n in range(3)]

    selection = select_baseline(WANTED, runs)

    assert len(selection.runs) == 3 * MAX_CHECKS


def test_many_runs_of_one_check_are_no_stretch():
    selection = select_baseline(WANTED, [run(97, f"97.{n}") for n in range(20)])

    assert selection.kind is BaselineKind.NEAREST_ANCESTOR


def test_with_too_few_checks_the_nearest_measured_commit_is_the_baseline():
    selection = select_baseline(WANTED, [run(97), run(96), run(95)])

    assert (selection.kind, commits(selection)) == (BaselineKind.NEAREST_ANCESTOR, [97])
    assert selection.reason.startswith(
        "1 run, 3 commits before the merge base, the nearest measured commit"
    )


@pytest.mark.parametrize(
    ("candidate", "obstacle"),
    [
        (run(50, machine_class="cuda:A100:1"), Obstacle.OTHER_MACHINE_CLASS),
        (run(101), Obstacle.LATER_COMMIT),
        (run(50, environment="driver 2"), Obstacle.OTHER_ENVIRONMENT),
        (run(69), Obstacle.ACCEPTED_CHANGE),
        (run(79), Obstacle.OTHER_LEVEL),
        (run(80), Obstacle.UNSURE_LEVEL),
        (run(84), Obstacle.UNSURE_LEVEL),
        (run(85), None),
    ],
)
def test_what_is_not_the_code_keeps_a_run_out(candidate, obstacle):
    accepted = AcceptedChange(workload="m:f", metric=STEP_TIME.name, commit=70)
    series = head_with(levels=(CommitRange(80, 85),), accepted=(accepted,))
    if obstacle is Obstacle.OTHER_ENVIRONMENT:
        series = WANTED

    if obstacle is None:
        assert select_baseline(series, [candidate]).runs == (candidate,)
    else:
        with pytest.raises(NoBaselineError, match=f"1 run {obstacle}"):
            select_baseline(series, [candidate])


def test_the_run_of_an_accepted_change_is_of_the_new_level():
    accepted = AcceptedChange(workload="m:f", metric=STEP_TIME.name, commit=98)

    selection = select_baseline(head_with(accepted=(accepted,)), [run(98), run(97)])

    assert commits(selection) == [98]


@pytest.mark.parametrize(
    "accepted",
    [
        AcceptedChange(workload="m:f", metric=PEAK_MEMORY.name, commit=99),
        AcceptedChange(workload="m:g", metric=STEP_TIME.name, commit=99),
        AcceptedChange(workload="m:f", metric=STEP_TIME.name, commit=101),
    ],
    ids=["another metric", "another workload", "after the merge base"],
)
def test_what_was_accepted_elsewhere_or_later_changes_nothing(accepted):
    selection = select_baseline(head_with(accepted=(accepted,)), [run(98)])

    assert commits(selection) == [98]


def test_an_accepted_change_after_a_pairs_base_keeps_the_pair_out():
    accepted = AcceptedChange(workload="m:f", metric=STEP_TIME.name, commit=99)

    selection = select_baseline(head_with(accepted=(accepted,)), [run(98, check="this"), run(99)])

    assert commits(selection) == [99]


def test_a_level_that_changed_after_the_merge_base_is_none_of_its_business():
    selection = select_baseline(head_with(levels=(CommitRange(101, 103),)), [run(98)])

    assert commits(selection) == [98]


def test_the_merge_base_itself_is_of_its_own_level_wherever_that_began():
    selection = select_baseline(head_with(levels=(CommitRange(99, 102),)), [run(100), run(99)])

    assert commits(selection) == [100]


def test_a_pinned_check_comes_before_everything():
    release = [run(40, name, check="release") for name in ("one", "two")]

    selection = select_baseline(head_with(pinned="release"), [run(100, check="this"), *release])

    assert (selection.kind, commits(selection)) == (BaselineKind.PINNED, [40, 40])
    assert selection.reason.startswith(
        "2 runs of check release, 60 commits before the merge base, pinned; not paired"
    )


def test_what_speaks_against_a_pinned_check_is_said():
    selection = select_baseline(head_with(pinned="newer"), [run(101, check="newer")])

    assert "1 commit after the merge base, pinned, although it is of a commit that the head" in (
        selection.reason
    )


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([run(90)], "is not among the checks of 1 stored runs: pin another check, or none"),
        ([run(90, check="release", machine_class="tpu:v4:8")], "was made on tpu:v4:8: pin a"),
    ],
)
def test_a_pinned_check_that_does_not_compare_is_an_error(candidates, message):
    with pytest.raises(NoBaselineError, match=message):
        select_baseline(head_with(pinned="release"), candidates)


def test_no_baseline_says_what_was_passed_over_and_how_to_get_one():
    candidates = [run(101), run(90, machine_class="cuda:A100:1"), run(91, machine_class="x")]

    with pytest.raises(NoBaselineError) as error:
        select_baseline(WANTED, candidates)

    assert str(error.value) == (
        "no baseline for step_time_p50 of 'm:f' on cuda:H100:1 (2 runs of another machine class; "
        "1 run of a commit that the head does not contain): measure the merge base on "
        "cuda:H100:1, ideally in the same check as the head (`perfledger check`)"
    )


def test_an_empty_store_says_that_it_is_empty():
    with pytest.raises(NoBaselineError, match="no run is stored"):
        select_baseline(WANTED, [])


candidates = st.lists(
    st.builds(
        run,
        st.integers(80, 102),
        name=st.uuids().map(str),
        check=st.sampled_from(["this", "a", "b", "c", "d", "e", "f"]),
        machine_class=st.sampled_from(["cuda:H100:1", "cuda:A100:1"]),
        environment=st.sampled_from(["driver 1", "driver 2"]),
    ),
    max_size=25,
)
heads = st.builds(
    head_with,
    merge_base=st.integers(80, 102),
    levels=st.lists(
        st.builds(
            lambda first, more: CommitRange(first, first + more),
            st.integers(80, 102),
            st.integers(0, 5),
        ),
        max_size=2,
    ).map(tuple),
    accepted=st.lists(
        st.builds(
            AcceptedChange,
            workload=st.just("m:f"),
            metric=st.sampled_from([STEP_TIME.name, PEAK_MEMORY.name]),
            commit=st.integers(80, 102),
        ),
        max_size=2,
    ).map(tuple),
)


def selected(head, stored):
    try:
        return select_baseline(head, stored)
    except NoBaselineError as error:
        return str(error)


@pytest.mark.slow
@given(heads, candidates, st.randoms(use_true_random=False))
def test_the_order_of_candidates_does_not_matter(head, stored, random):
    assert selected(head, random.sample(stored, len(stored))) == selected(head, stored)


@pytest.mark.slow
@given(heads, candidates)
def test_no_baseline_is_of_another_machine_or_later_or_before_what_was_accepted(head, stored):
    selection = selected(head, stored)

    for chosen in () if isinstance(selection, str) else selection.runs:
        assert chosen.machine_class == head.machine_class
        assert chosen.commit <= head.merge_base
        assert not any(
            chosen.commit < accepted.commit <= head.merge_base
            for accepted in head.accepted
            if accepted.metric == STEP_TIME.name
        )


@pytest.mark.slow
@given(heads, candidates, candidates)
def test_more_candidates_never_make_the_baseline_worse(head, stored, more):
    ranks = list(BaselineKind)

    one, other = selected(head, stored), selected(head, [*stored, *more])

    if not isinstance(one, str):
        assert not isinstance(other, str)
        assert ranks.index(other.kind) <= ranks.index(one.kind)
        assert other.runs[0].commit >= one.runs[0].commit or other.kind is not one.kind


@pytest.mark.parametrize(("first", "is_usable"), [(100, False), (101, True)])
def test_a_level_that_begins_at_the_merge_base_rules_out_what_was_before(first, is_usable):
    request = head_with(levels=(CommitRange(first, first),))

    if is_usable:
        assert commits(select_baseline(request, [run(99)])) == [99]
    else:
        with pytest.raises(NoBaselineError):
            select_baseline(request, [run(99)])


@pytest.mark.parametrize(("commit", "is_usable"), [(99, True), (100, False), (101, True)])
def test_a_change_accepted_at_the_merge_base_rules_out_what_was_before(commit, is_usable):
    accepted = AcceptedChange(workload="m:f", metric=STEP_TIME.name, commit=commit)
    request = head_with(accepted=(accepted,))

    if is_usable:
        assert commits(select_baseline(request, [run(99)])) == [99]
    else:
        with pytest.raises(NoBaselineError):
            select_baseline(request, [run(99)])
