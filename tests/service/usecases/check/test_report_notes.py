from dataclasses import replace

import pytest

from perfledger.metrics import CPU_ACTIVE, CPU_TIME, STEP_TIME
from perfledger.records import Device, Side
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_service.usecases.check.report_notes import report_notes

BUSY = {Side.BASE: 0.9, Side.HEAD: 0.45}


@pytest.fixture
def notes_of(make_bundle):
    """Return a function that returns the notes on a bundle whose runs are changed one by one."""

    def notes_of(change, **values):
        plain = make_bundle(metrics=(STEP_TIME, CPU_TIME, CPU_ACTIVE), **values)
        bundle = replace(plain, runs=tuple(map(change, plain.runs)))
        return report_notes(bundle, judge_bundle(bundle))

    return notes_of


def with_samples(run, **samples):
    step_time = {STEP_TIME.name: run.samples[STEP_TIME.name]}
    return replace(run, samples=step_time | {name: (value,) for name, value in samples.items()})


def test_readings_that_were_left_out_are_named_once_for_all_processes(notes_of):
    def short(run):
        return replace(run, left_out={"cpu_time: too short": 25, "none": 0})

    assert notes_of(short, ratio=1.0) == ("readings left out (cpu_time: too short): gpt:step",)


def test_another_device_is_named(notes_of):
    notes = notes_of(lambda run: replace(run, device=Device.CUDA), ratio=1.0)

    assert notes == ("measured on the cuda, not on the cpu: gpt:step",)


def test_a_change_says_which_of_wall_time_cpu_time_and_use_moved(notes_of):
    def idler(run):
        return with_samples(run, cpu_active=BUSY[run.side], cpu_time=0.5)

    (note,) = notes_of(idler, ratio=2.0)

    assert note == (
        "gpt:step: step time regressed, CPU time unchanged; it kept 90% of all cores busy on base "
        "and 45% on head, which other load changes too and is not judged"
    )


def test_a_bundle_without_cpu_time_names_the_others(notes_of):
    notes = notes_of(lambda run: with_samples(run, cpu_active=BUSY[run.side]), ratio=0.5)

    assert notes[0].startswith("gpt:step: step time improved; it kept")


def test_what_did_not_change_needs_no_explanation(notes_of):
    notes = notes_of(lambda run: with_samples(run, cpu_active=BUSY[run.side]), ratio=1.0)

    assert notes == ()
