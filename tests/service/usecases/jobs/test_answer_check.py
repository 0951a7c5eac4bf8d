from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger.records import Device, Machine
from perfledger_runners.jobs.runner_job import RunnerJob, RunnerJobKind
from perfledger_service.errors import UsageError
from perfledger_service.usecases.jobs.answer_check import check_answer

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
JOB = RunnerJob(
    id="1" * 32,
    repository="octo/models",
    kind=RunnerJobKind.RERUN,
    machine_class="cpu:Test *",
    base_sha="a" * 40,
    head_sha="b" * 40,
    pull_request=7,
    workloads=("gpt:step",),
    created_at=NOW,
    due_at=NOW,
)


@pytest.mark.parametrize(
    "job",
    [JOB, replace(JOB, workloads=()), replace(JOB, machine_class="*", base_sha="")],
)
def test_what_was_asked_for_is_an_answer(make_bundle, job):
    check_answer(job, make_bundle())


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"base_sha": "c" * 40}, "the job's base is ccc"),
        ({"head_sha": "c" * 40}, "the job's head is ccc"),
        ({"pull_request": 8}, "not of the job's pull request"),
        ({"workloads": ("gpt:step", "gpt:other")}, "lacks the job's workload gpt:other"),
        ({"machine_class": "cuda:*"}, "the job is for machines cuda:"),
        ({"machine_class": "cuda:*", "workloads": ()}, "the bundle's is cpu:Test CPU:1"),
        ({"machine_class": "cuda:*", "kind": RunnerJobKind.BISECTION}, "the job is for machines"),
    ],
)
def test_what_was_not_asked_for_is_none(make_bundle, values, problem):
    with pytest.raises(UsageError, match=problem):
        check_answer(replace(JOB, **values), make_bundle())


def test_a_bisection_answers_with_the_commit_that_it_found(make_bundle):
    job = replace(JOB, kind=RunnerJobKind.BISECTION, base_sha="c" * 40, head_sha="d" * 40)

    check_answer(job, make_bundle(pull_request=None))


def test_a_workload_that_did_not_run_counts_as_measured_on_the_machine(make_bundle):
    machine = Machine(device=Device.CPU, model="Test CPU")
    check_answer(JOB, make_bundle(runs=(), machine=machine))
    with pytest.raises(UsageError, match="for machines"):
        check_answer(JOB, make_bundle(runs=(), machine=replace(machine, model="Other")))
