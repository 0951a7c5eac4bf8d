"""The loop of a bisection on commits whose levels are known."""

import math
from random import Random

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import Revision, Run, Side
from perfledger_baselines.history.commits.pair_distribution import center_error
from perfledger_baselines.history.commits.search import SURE, SearchStatus
from perfledger_service.settings.sources import check_settings
from perfledger_service.usecases.history.bisect import (
    MAX_CHECKS,
    OUTSIDE_REASON,
    SEARCH_SHARE,
    bisected_commits,
    find_commit,
    new_search,
    unconfirmed_notes,
)
from perfledger_service.usecases.history.commit_pairs import CommitCheck, CommitPair, SkippedCommit
from perfledger_service.values.commit_bisection import CommitState

SETTINGS, _ = check_settings(flags={}, table=None, table_name="")
PAIR_S = 2.0


class Commits:
    """Commits of known levels; their pairs take PAIR_S each."""

    def __init__(self, levels, *, noise=0.002, broken=(), of_check=None, pairs_of_check=5):
        self.levels, self.noise, self.broken = levels, noise, frozenset(broken)
        self.of_check, self.pairs_of_check = of_check or levels, pairs_of_check
        self.random = Random(1)
        self.checks = []
        self.stages = []
        self.pairs = 0

    def stage(self, name):
        self.stages.append(name)

    def measure(self, base, head):
        for commit in (base, head):
            if commit in self.broken:
                return SkippedCommit(commit, "does not build")
        self.pairs += 1
        before, after = self.runs(base, head, self.levels)
        return CommitPair(before, after, PAIR_S)

    def check(self, base, head, *, budget_s):
        self.checks.append((base, head, budget_s))
        pairs = tuple(self.runs(base, head, self.of_check) for _ in range(self.pairs_of_check))
        return CommitCheck(pairs, len(pairs) * PAIR_S)

    def runs(self, base, head, levels):
        return tuple(
            Run(
                workload="m:f",
                side=side,
                pair=0,
                position=0,
                process=0,
                started_at="",
                samples={STEP_TIME.name: (levels[at] * (1 + self.noise * self.random.gauss()),)},
            )
            for side, at in ((Side.BASE, base), (Side.HEAD, head))
        )

    def find(self, *, budget_s=1000.0):
        search = new_search("m:f", STEP_TIME, len(self.levels) - 1, SETTINGS)
        return find_commit(search, self, budget_s=budget_s, progress=self)

    def rows(self, finished):
        revisions = tuple(Revision(sha=f"{at:040x}") for at in range(len(self.levels)))
        return bisected_commits(finished, revisions)


def changed_at(first, *, commits=12, size=0.2):
    return [1.0 if at < first else 1.0 + size for at in range(commits + 1)]


def test_the_commit_is_found_and_checked_once_against_its_parent_with_what_is_left():
    commits = Commits(changed_at(8))

    finished = commits.find()

    assert (finished.end.status, finished.end.first) == (SearchStatus.FOUND, 8)
    (check,) = commits.checks
    assert check == (7, 8, 1000.0 - commits.pairs * PAIR_S)
    assert finished.pairs == commits.pairs + 5
    assert finished.seconds == finished.pairs * PAIR_S
    assert not finished.is_out_of_budget


def test_every_pair_and_the_check_are_told():
    commits = Commits(changed_at(8))

    commits.find()

    assert commits.stages[0] == "comparing the ends: commit 12 against 0, pair 1"
    assert "12 commits left: commit 6 against 0, pair 1" in commits.stages
    assert commits.stages[-1] == "checking commit 8 against its parent"
    assert len(commits.stages) == commits.pairs + 1


def test_what_is_known_of_each_commit():
    commits = Commits(changed_at(8), broken=(7,))

    finished = commits.find()
    rows = commits.rows(finished)

    assert [row.state for row in rows if row.state is not CommitState.UNTOUCHED] == [
        CommitState.GOOD,
        CommitState.BEFORE,
        CommitState.SKIPPED,
        *[CommitState.AFTER] * sum(row.state is CommitState.AFTER for row in rows),
        CommitState.BAD,
    ]
    assert rows[7].reason == "does not build"
    last = rows[12]
    assert last.change is not None
    assert last.change == pytest.approx(0.2, abs=0.01)
    assert last.change == pytest.approx(math.expm1(finished.search.size))
    pairs, spread = len(finished.search.differences(0, 12)), finished.search.spread
    error = 1.96 * center_error(pairs, spread)
    bounds = [math.expm1(finished.search.size + sign * error) for sign in (-1, 1)]
    assert [last.low, last.high] == pytest.approx(bounds)
    assert (rows[0].change, rows[0].chance) == (None, 0.0)
    assert sum(row.chance for row in rows) == pytest.approx(1.0)


def test_a_commit_that_does_not_build_beside_the_change_leaves_a_range():
    commits = Commits(changed_at(8), broken=(8,))

    finished = commits.find()

    assert finished.end.status is SearchStatus.NOT_MEASURED
    assert (finished.end.first, finished.end.last) == (8, 9)
    assert finished.reasons == {8: "does not build"}
    assert commits.checks == []


def test_a_commit_that_does_other_work_is_left_out_and_says_why():
    levels = changed_at(8)
    levels[6] = 0.01

    finished = Commits(levels).find()

    assert (finished.end.first, finished.reasons) == (8, {6: OUTSIDE_REASON})


def test_ends_that_do_not_differ_are_not_searched():
    commits = Commits(changed_at(8, size=0.0))

    finished = commits.find()

    assert finished.end.status is SearchStatus.UNCHANGED
    assert {row.state for row in commits.rows(finished)} == {
        CommitState.GOOD,
        CommitState.BAD,
        CommitState.UNTOUCHED,
    }
    assert sum(row.chance for row in commits.rows(finished)) == 0.0


def test_the_budget_ends_a_search_with_what_remains():
    commits = Commits(changed_at(8))

    finished = commits.find(budget_s=8 * PAIR_S / SEARCH_SHARE)

    assert finished.is_out_of_budget
    assert commits.pairs == 8
    assert finished.end.status is SearchStatus.UNDECIDED
    assert finished.end.first <= 8 <= finished.end.last
    assert finished.end.chance >= SURE


def test_a_check_that_shows_no_change_takes_the_answer_back():
    commits = Commits(changed_at(8), of_check=[1.0] * 13)

    finished = commits.find()

    assert 1 <= len(commits.checks) <= MAX_CHECKS
    assert (finished.end.status, finished.end.first) != (SearchStatus.FOUND, 8)


def test_a_commit_that_no_check_confirms_is_not_the_answer():
    commits = Commits(changed_at(8), of_check=[1.0] * 13, pairs_of_check=15)

    finished = commits.find()

    assert finished.checked_commits == tuple(head for _, head, _ in commits.checks)
    assert len(finished.checked_commits) == MAX_CHECKS
    assert finished.end.status is SearchStatus.UNDECIDED
    assert finished.end.first <= min(finished.checked_commits)
    assert max(finished.checked_commits) <= finished.end.last
    revisions = [Revision(sha=f"{at:040x}") for at in range(13)]
    notes = tuple(unconfirmed_notes(finished, revisions))
    assert [note[:12] for note in notes] == [
        revisions[at].sha[:12] for at in finished.checked_commits
    ]


def test_a_confirmed_commit_needs_no_note():
    finished = Commits(changed_at(8)).find()

    assert finished.is_single
    assert finished.checked_commits == (8,)
    assert tuple(unconfirmed_notes(finished, [Revision(sha="0" * 40)] * 13)) == ()


def test_two_changes_leave_one_for_a_later_search():
    commits = Commits([1.0 if at < 4 else 1.1 if at < 9 else 1.21 for at in range(13)])

    finished = commits.find()

    assert finished.end.first in {4, 9}
    (rest,) = finished.search.other_changes
    assert rest.change == pytest.approx(0.1, abs=0.02)
