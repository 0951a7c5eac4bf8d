"""Words the progress of jobs that a comment requested; the text changes only with the stage."""

from collections.abc import Sequence

from perfledger.records import short_sha
from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.rendering.layout.escape import code, link, prose
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.values.jobs.progress import JobProgress, JobStage

# Positions in the queue are rounded except near the front: each change edits the comment.
_PLACES = (1, 2, 3, 5, 10, 20, 50, 100, 1000)
NO_RUNNER = (
    "no runner of this machine class has asked for jobs within a day: start `perfledger runner` "
    "on such a machine, or open **Details** of the check's job and choose **Re-run jobs**"
)


def jobs_answer(
    kind: RunnerJobKind,
    head_sha: str,
    workload: str,
    progress: Sequence[JobProgress],
    *,
    is_fork: bool = False,
) -> str:
    """Return the reply to a command that requested jobs, with their progress."""
    commit = code(short_sha(head_sha), in_table=False)
    if kind is RunnerJobKind.BISECTION:
        subject = f"Bisection of {code(workload, in_table=False)} up to {commit}"
    elif is_fork:
        subject = f"Check of the fork's commit {commit}, allowed until the next push"
    else:
        subject = f"Re-run of {commit}"
    lines = "".join(
        f"- {code(one.machine_class, in_table=False)}: {_stage(one)}\n" for one in progress
    )
    return f"{subject}:\n\n{lines}"


def _stage(progress: JobProgress) -> str:
    reason = prose(progress.reason, in_table=False)
    words = {
        JobStage.NOT_QUEUED: f"not queued: {reason if progress.reason else NO_RUNNER}",
        JobStage.WITHOUT_RUNNER: f"in the queue, but {NO_RUNNER}",
        JobStage.OVER_BUDGET: (
            "in the queue; the budget of this project's jobs is used up until "
            f"{progress.budget_until} (`perfledger server job budget`)"
        ),
        JobStage.RETRYING: f"will be tried again: {reason}",
        JobStage.QUEUED: f"in the queue, {_place(progress.jobs_before)}",
        JobStage.RUNNING: f"running on {code(progress.runner, in_table=False)}",
        JobStage.JUDGING: "measured, and being judged",
        JobStage.DONE: _result_text(progress),
        JobStage.DROPPED: f"without a result: {reason}",
    }
    return words[progress.stage]


def _place(jobs_before: int) -> str:
    if not jobs_before:
        return "the next one"
    least = max(place for place in _PLACES if place <= jobs_before)
    jobs = quantity(least, "job")
    is_exact = least + 1 in _PLACES
    verb = "is" if least == 1 else "are"
    return f"{jobs} {verb} before it" if is_exact else f"{jobs} or more are before it"


def _result_text(progress: JobProgress) -> str:
    if not progress.url:
        return f"done: {prose(progress.reason, in_table=False)}"
    title = f"[{prose(progress.title, in_table=False)}]({link(progress.url)})"
    if not progress.commit:
        return f"done: {title}"
    return f"found {code(short_sha(progress.commit), in_table=False)}: {title}"
