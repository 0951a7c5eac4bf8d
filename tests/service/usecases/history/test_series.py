from dataclasses import replace

import pytest

from perfledger.records import Device, Machine, Revision
from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import read_session
from perfledger_service.usecases.history.series import series_history


def commit(number):
    return Revision(sha=f"{number:040x}")


@pytest.fixture
def measure(engine, judged_on_branch, make_bundle):
    """Measure a commit of the default branch against its parent."""

    def measure(number, *, ratio=1.0, level=1.0, driver="1", again=0):
        bundle = make_bundle(
            seed=100 * number + again,
            ratio=ratio,
            base=commit(number - 1),
            head=commit(number),
            pull_request=None,
            machine=Machine(device=Device.CPU, model="Test CPU", driver=driver),
        )
        runs = tuple(
            replace(
                run,
                samples={
                    name: tuple(level * one for one in values)
                    for name, values in run.samples.items()
                },
            )
            for run in bundle.runs
        )
        upload_id = f"{100 * number + again:032x}"
        judged_on_branch(engine, replace(bundle, runs=runs), upload_id=upload_id)

    return measure


def test_a_commit_is_one_point_however_often_it_was_measured(engine, measure):
    measure(1)
    measure(2)
    measure(2, again=1)

    with read_session(engine) as session:
        commits = series_history(session, 1).commits

    assert [one.sha[-1] for one in commits] == ["0", "1", "2"]
    assert [one.checks for one in commits] == [1, 3, 2]
    assert all(one.is_on_branch for one in commits)


@pytest.mark.slow(ci_only=True)
def test_a_step_is_a_change_at_its_commit(engine, measure):
    for number in range(1, 25):
        measure(number, ratio=1.3 if number == 12 else 1.0, level=1.3 if number > 12 else 1.0)

    with read_session(engine) as session:
        history = series_history(session, 1)

    assert [one.sha for one in history.changes] == [commit(12).sha]
    assert history.changes[0].change == pytest.approx(0.3, abs=0.01)
    assert history.new_machines == ()
    assert history.searched == 25


@pytest.mark.slow(ci_only=True)
def test_a_few_commits_that_left_the_level_and_returned_are_a_transient(engine, measure):
    for number in range(1, 25):
        ratio = {12: 1.3, 17: 1 / 1.3}.get(number, 1.0)
        measure(number, ratio=ratio, level=1.3 if 13 <= number <= 17 else 1.0)

    with read_session(engine) as session:
        history = series_history(session, 1)

    [transient] = history.transients
    assert history.changes == ()
    assert (transient.first_sha, transient.last_sha) == (commit(12).sha, commit(16).sha)
    assert transient.commits == 5
    assert transient.change == pytest.approx(0.3, abs=0.03)


def test_commits_that_only_their_bundles_place_are_not_searched(engine, judged, make_bundle):
    bundle = make_bundle(pull_request=None)
    judged(engine, bundle)

    with read_session(engine) as session:
        history = series_history(session, 1)

    assert all(one.is_unattested for one in history.commits if one.is_on_branch)
    assert history.searched == 0


def test_a_new_driver_begins_another_state_of_the_machine(engine, measure):
    measure(1)
    measure(2)
    measure(4, driver="2")

    with read_session(engine) as session:
        assert series_history(session, 1).new_machines == (commit(3).sha,)


def test_machines_that_take_turns_begin_no_other_state(engine, measure):
    for number in range(1, 9):
        measure(number, driver="12"[number % 2])

    with read_session(engine) as session:
        assert series_history(session, 1).new_machines == ()


def test_an_unknown_series_is_not_found(engine):
    with read_session(engine) as session, pytest.raises(NotFoundError, match="no series 9"):
        series_history(session, 9)
