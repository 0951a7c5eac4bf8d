"""What a bisection answers about itself; its texts are tested where it is shown."""

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import Revision
from perfledger_baselines.history.commits.search import SearchStatus
from perfledger_service.values.commit_bisection import (
    BisectedCommit,
    CommitBisection,
    CommitState,
)
from perfledger_service.values.report import ExitCode


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (SearchStatus.FOUND, ExitCode.OK),
        (SearchStatus.UNCHANGED, ExitCode.NO_DIFFERENCE),
        (SearchStatus.NOT_MEASURED, ExitCode.UNCERTAIN),
        (SearchStatus.UNDECIDED, ExitCode.UNCERTAIN),
    ],
)
def test_only_a_single_commit_is_an_answer(status, code):
    commits = tuple(
        BisectedCommit(
            position=at,
            revision=Revision(sha=f"{at}" * 40),
            state=CommitState.UNTOUCHED,
            pairs=0,
            chance=0.0,
        )
        for at in range(5)
    )
    result = CommitBisection(
        workload="m:f",
        metric=STEP_TIME,
        status=status,
        first=2,
        last=3,
        chance=0.99,
        commits=commits,
        ends=None,
        builds=2,
        pairs=5,
        seconds=1.0,
        budget_s=600.0,
    )

    assert result.exit_code is code
    assert result.candidates == commits[2:4]
