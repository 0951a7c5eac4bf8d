from dataclasses import replace

import pytest

from perfledger.metrics import KERNELS
from perfledger.records import Revision
from perfledger_service.store import default_branch
from perfledger_service.store.database import read_session
from perfledger_service.store.default_branch import branch_series
from perfledger_service.store.page_queries import workload_view
from perfledger_service.usecases.history.kernels import kernel_histories
from perfledger_service.usecases.history.series import series_history
from tests.baselines.judging.example_kernels import (
    kernel,
    on_base,
    on_head,
    scaled,
    with_kernels,
    workload,
)
from tests.service.conftest import METRICS, REPOSITORY

WORKLOAD = "gpt:step"


def commit(number):
    return Revision(sha=f"{number:040x}")


@pytest.fixture
def store(engine, judged_on_branch, make_bundle):
    """Store the kernels of a commit of the default branch and of its parent."""

    def store(number, windows):
        bundle = make_bundle(
            seed=number,
            ratio=1.0,
            base=commit(number - 1),
            head=commit(number),
            pull_request=None,
            metrics=(*METRICS, KERNELS),
            kernels=(windows,),
        )
        plan = replace(bundle.plan, kernel_pairs=12, kernel_share=0.2)
        judged_on_branch(engine, replace(bundle, plan=plan), upload_id=f"{number:032x}")

    return store


@pytest.fixture
def measure(store):
    """Measure a commit of the default branch against its parent, kernels at these levels."""

    def measure(number, before, after):
        windows = workload(number, name=WORKLOAD, noise=0.002)
        for family in before:
            one = kernel(windows, family)
            one = on_base(one, scaled(one.base, before[family]))
            one = on_head(one, scaled(one.head, after[family]))
            windows = with_kernels(windows, **{family: one})
        store(number, windows)

    return measure


def histories(engine):
    with read_session(engine) as session:
        return kernel_histories(session, 1, WORKLOAD)


def test_families_are_listed_with_the_longest_first(engine, measure):
    measure(1, {"mm": 1.0}, {"mm": 1.0})

    (history,) = histories(engine)

    names = [one.name for one in history.families]
    assert names == ["mm", "attention", "gelu", "layer_norm", "add"]
    assert history.commits == (commit(0).sha, commit(1).sha)
    assert history.families[0].places == (0, 1)
    assert history.families[0].seconds == pytest.approx((0.005, 0.005), rel=0.02)


def test_families_stand_apart_from_the_metrics_that_are_searched_and_listed(engine, measure):
    measure(1, {"mm": 1.0}, {"mm": 1.0})

    with read_session(engine) as session:
        searched = {one.series.metric.name for one in branch_series(session, 1)}
        listed = {one.metric for one in workload_view(session, REPOSITORY, WORKLOAD).series}
        (family, *_) = histories(engine)[0].families
        own = series_history(session, family.series_id)

    assert searched == listed
    assert not any(name.startswith("kernel:") for name in searched)
    assert own.series.metric == "kernel:mm"
    assert len(own.commits) == 2


def test_a_workload_without_kernels_has_no_such_history(engine, judged_on_branch, make_bundle):
    judged_on_branch(engine, make_bundle(pull_request=None), upload_id=f"{1:032x}")

    assert histories(engine) == ()


def test_what_only_pull_requests_run_is_no_family_and_crowds_none_out(
    engine, measure, judged, make_bundle, monkeypatch
):
    windows = workload(7, name=WORKLOAD, shares={f"new{number}": 0.1 for number in range(8)})
    windows = replace(
        windows, kernels=tuple(on_base(one, scaled(one.base, 0.0)) for one in windows.kernels)
    )
    bundle = make_bundle(
        base=replace(commit(0), depth=0),
        head=Revision(sha="f" * 40),
        metrics=(*METRICS, KERNELS),
        kernels=(windows,),
    )
    plan = replace(bundle.plan, kernel_pairs=12, kernel_share=0.2)
    judged(engine, replace(bundle, plan=plan), trust_runners=True)
    assert histories(engine) == ()
    monkeypatch.setattr(default_branch, "MAX_SERIES", 5)

    measure(1, {}, {})

    (history,) = histories(engine)
    names = [one.name for one in history.families]
    assert names == ["mm", "attention", "gelu", "layer_norm", "add"]


@pytest.mark.slow(ci_only=True)
def test_a_family_that_is_too_short_to_be_recorded_keeps_what_it_took_last(engine, measure):
    shrunk, grown = {"gelu": 0.1, "add": 0.1}, {"gelu": 0.1, "add": 1.0}
    measure(1, {"gelu": 1.0, "add": 0.1}, shrunk)
    measure(2, shrunk, shrunk)
    measure(3, shrunk, grown)

    (history,) = histories(engine)

    families = {one.name: one for one in history.families}
    assert all(one.places == (0, 1, 2, 3) for one in families.values())
    assert families["gelu"].seconds == pytest.approx((6e-4, 6e-5, 6e-5, 6e-5), rel=0.02)
    assert families["add"].seconds == pytest.approx((2e-5, 2e-5, 2e-5, 2e-4), rel=0.02)


@pytest.mark.slow(ci_only=True)
def test_a_family_that_is_recorded_now_and_then_has_no_times_in_between(engine, measure):
    measure(1, {"add": 0.51}, {"add": 0.51})
    measure(2, {"add": 0.49}, {"add": 0.49})
    measure(3, {"add": 0.49}, {"add": 0.49})
    measure(4, {"add": 0.51}, {"add": 0.51})

    (history,) = histories(engine)

    (add,) = (one for one in history.families if one.name == "add")
    assert add.places == (0, 1, 3, 4)


@pytest.mark.slow(ci_only=True)
def test_an_operator_that_takes_over_another_ones_work_moved_it(engine, store):
    operators = ["attention"] * 11 + ["attention → sdpa"] + ["sdpa"] * 12
    for number, operator in enumerate(operators, 1):
        windows = workload(number, name=WORKLOAD, noise=0.002)
        renamed = replace(kernel(windows, "attention"), family=operator)
        store(number, with_kernels(windows, attention=renamed))

    (history,) = histories(engine)

    changes = {
        one.name: [(change.change.sha, change.is_moved) for change in one.changes]
        for one in history.families
    }
    moved_changes = [(commit(12).sha, True)]
    assert {name: own for name, own in changes.items() if own} == {
        "attention": moved_changes,
        "sdpa": moved_changes,
    }
    (sdpa,) = (one for one in history.families if one.name == "sdpa")
    with read_session(engine) as session:
        own = series_history(session, sdpa.series_id)
    assert (own.changes, own.searched) == (tuple(one.change for one in sdpa.changes), 25)


@pytest.mark.slow(ci_only=True)
def test_what_was_added_is_told_from_what_moved(engine, measure):
    levels = [{"layer_norm": 1.0, "gelu": 1.0, "add": 1.0}]
    for number in range(1, 36):
        slower = {"layer_norm": 1.2} if number == 12 else {}
        moved_ms = {"gelu": 0.5, "add": 2.5} if number == 24 else {}
        levels.append(levels[-1] | slower | moved_ms)
    for number in range(1, 36):
        measure(number, levels[number - 1], levels[number])

    (history,) = histories(engine)

    changes = {
        (one.name, change.change.sha, change.is_moved)
        for one in history.families
        for change in one.changes
    }
    assert changes == {
        ("layer_norm", commit(12).sha, False),
        ("gelu", commit(24).sha, True),
        ("add", commit(24).sha, True),
    }
    (added,) = (one.changes[0] for one in history.families if one.name == "layer_norm")
    assert added.added_s == pytest.approx(0.2 * 0.0003, rel=0.1)
