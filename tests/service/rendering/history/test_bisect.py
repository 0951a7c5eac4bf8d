"""What a bisection says: its answer, its evidence and the next command, in every format."""

import json
from dataclasses import replace

import pytest

from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger.records import Revision
from perfledger_baselines.history.commits.search import SearchStatus
from perfledger_baselines.judging.verdict import EffectEstimate, Outcome, Verdict
from perfledger_service.rendering.history.bisect import (
    bisection_document,
    headline,
    next_command,
)
from perfledger_service.rendering.layout import writers
from perfledger_service.values.check_options import CheckOptions
from perfledger_service.values.commit_bisection import (
    BisectedCommit,
    CommitBisection,
    CommitState,
    FurtherChange,
)
from perfledger_service.values.report import ExitCode

STATES = (
    (CommitState.GOOD, None, ""),
    (CommitState.BEFORE, 0.01, ""),
    (CommitState.SKIPPED, None, "does not build: `make` failed: exit status 2"),
    (CommitState.AFTER, 0.3, ""),
    (CommitState.BAD, 0.31, ""),
)


def a_commit(position, state, change, reason):
    return BisectedCommit(
        position=position,
        revision=Revision(sha=f"{position:x}" * 40, subject=f"commit {position} \x1b[31m"),
        state=state,
        pairs=0 if change is None else 6,
        chance=0.998 if position == 3 else 0.0005,
        change=change,
        low=None if change is None else change - 0.02,
        high=None if change is None else change + 0.02,
        reason=reason,
    )


ENDS = Verdict(
    workload="m:f",
    metric=STEP_TIME,
    outcome=Outcome.REGRESSED,
    estimate=EffectEstimate(
        base=1.0,
        head=1.31,
        change=0.31,
        low=0.29,
        high=0.33,
        narrow_low=0.3,
        narrow_high=0.32,
        pairs=6,
        p_value=1e-6,
        smallest_detectable=0.03,
    ),
    adjusted_p=1e-6,
    is_warning=False,
    reason="",
)
FOUND = CommitBisection(
    workload="m:f",
    metric=STEP_TIME,
    status=SearchStatus.FOUND,
    first=3,
    last=3,
    chance=0.998,
    commits=tuple(a_commit(at, *each) for at, each in enumerate(STATES)),
    ends=ENDS,
    builds=4,
    pairs=24,
    seconds=61.0,
    budget_s=600.0,
    notes=("base has no configuration",),
)
OPEN = replace(
    FOUND,
    status=SearchStatus.UNDECIDED,
    first=2,
    last=4,
    pairs_needed=25,
    seconds_needed=900.0,
)


def terminal(result):
    return writers.plain_lines(writers.to_terminal(bisection_document(result)))


def test_a_found_commit_is_the_title_with_its_evidence_and_the_command_to_check_it():
    text = terminal(FOUND)

    assert text.startswith("m:f changed in 333333333333 (commit 3")
    words = " ".join(text.split())
    assert "+31.0 % (+29.0 to +33.0), regressed." in words
    assert "4 commits, 4 built and measured, 24 pairs in 1.02 min." in words
    assert "that it is this commit is 99.8 %." in words
    assert "does not build: `make` failed" in text
    assert "perfledger check --base 222222222222 --head 333333333333" in text
    assert "base has no configuration." in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("chance", "words"), [(0.99995, "> 99.99 %"), (0.999, "99.9 %"), (0.5, "50 %")]
)
def test_no_commit_is_said_to_be_it_for_certain(chance, words):
    text = " ".join(terminal(replace(FOUND, chance=chance)).split())

    assert f"The probability that it is this commit is {words}." in text


@pytest.mark.parametrize(
    ("changes", "words", "code"),
    [
        ({"status": SearchStatus.UNCHANGED, "first": 1, "last": 4}, "does not differ", 5),
        ({"status": SearchStatus.NOT_MEASURED, "first": 2}, "in one of 2 commits", 3),
        ({"status": SearchStatus.UNDECIDED, "first": 1, "last": 4}, "unknown, 4 commits", 3),
        ({}, "changed in 333333333333", 0),
    ],
)
def test_every_end_has_a_headline_and_an_exit_code(changes, words, code):
    result = replace(FOUND, **changes)

    assert words in headline(result)
    assert result.exit_code is ExitCode(code)


def test_an_open_end_says_what_would_settle_it_and_how_to_go_on():
    text = " ".join(terminal(OPEN).split())

    assert "about 25 pairs of each commit, 15 min in all" in text
    assert "`--budget` and a larger `max_pairs`" in text
    assert next_command(OPEN) == (
        "perfledger history bisect m:f 111111111111 444444444444 --budget 15m"
    )


def test_a_spent_budget_is_said():
    text = " ".join(terminal(replace(OPEN, is_out_of_budget=True)).split())

    assert "The budget was spent. It would take" in text
    assert "max_pairs" not in text


def test_a_change_that_no_day_would_settle_asks_for_less_noise():
    text = " ".join(terminal(replace(OPEN, seconds_needed=1e7)).split())

    assert "use a quieter machine, a longer step" in text
    assert "--budget" not in next_command(replace(OPEN, seconds_needed=1e7))


def test_other_metrics_and_workloads_from_elsewhere_stay_in_the_commands():
    check_options = CheckOptions(workloads_from="my folder")
    result = replace(OPEN, metric=CPU_TIME, options=check_options)

    assert next_command(result).endswith(
        "--metric cpu_time --workloads-from 'my folder' --budget 15m"
    )
    checked = replace(FOUND, options=check_options, workload="m:f[batch=8]")
    assert next_command(checked).endswith("--workloads-from 'my folder' --workload 'm:f[batch=8]'")


@pytest.mark.parametrize("result", [OPEN, FOUND])
def test_a_build_of_each_commit_and_another_suite_stay_in_the_commands(result):
    options = CheckOptions(
        settings={"suite": "asv", "build": "pip install .", "isolated": "true", "budget": "30m"}
    )

    command = next_command(replace(result, options=options))

    assert " --build 'pip install .' --isolated --asv " in command


def test_further_changes_and_what_is_not_explained_are_named():
    further = FurtherChange(
        change=0.1, good=FOUND.commits[3].revision, bad=FOUND.commits[4].revision
    )
    text = " ".join(
        terminal(replace(FOUND, further_changes=(further,), unexplained=0.08)).split()
    ).replace("\xa0", " ")

    assert (
        "Another change of +10.0 % was made after 333333333333: perfledger history bisect" in text
    )
    assert "other commits of the range account for +8.0 %" in text


def test_a_merge_says_how_to_search_what_it_merged():
    merged = tuple(Revision(sha=each * 40) for each in "bcd")
    result = replace(FOUND, merged=merged)
    text = " ".join(terminal(result).split()).replace("\xa0", " ")

    assert (
        "It is a merge of 2 commits, which are not searched yet: perfledger history bisect m:f "
        "bbbbbbbbbbbb dddddddddddd."
    ) in text
    assert bisection_document(result).facts["merged"] == {
        "commits": 2,
        "good": "b" * 40,
        "bad": "d" * 40,
    }


def test_programs_get_every_commit_and_the_check():
    document = json.loads(writers.to_json(bisection_document(FOUND, check={"title": "x"})))

    assert (document["format"], document["status"]) == ("perfledger-bisection", "found")
    assert [commit["position"] for commit in document["commits"]] == [0, 1, 2, 3, 4]
    assert document["check"] == {"title": "x"}
    assert document["exit_code"] == 0
    assert document["ends"]["outcome"] == "regressed"
    assert document["command"].startswith("perfledger check --base")
    assert writers.to_csv(bisection_document(FOUND)).count("\n") == 6


def test_commits_that_were_not_built_are_only_in_the_json():
    row = replace(FOUND.commits[1], state=CommitState.UNTOUCHED, change=None)
    result = replace(FOUND, commits=(FOUND.commits[0], row, *FOUND.commits[2:]))

    assert "111111111111" not in terminal(result)
    assert "1" * 40 in writers.to_json(bisection_document(result))


def test_ends_that_were_not_compared_say_so():
    assert "was not compared" in terminal(replace(OPEN, ends=None))


def test_a_found_and_an_open_bisection_are_written_as_agreed(matches_golden):
    matches_golden("bisection_found.txt", terminal(FOUND))
    matches_golden("bisection_open.txt", terminal(OPEN))
    matches_golden("bisection_found.csv", writers.to_csv(bisection_document(FOUND)))
