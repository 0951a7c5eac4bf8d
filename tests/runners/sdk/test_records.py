"""Values of the child and the agent."""

from dataclasses import replace
from pathlib import Path

import pytest

import perfledger
from perfledger.records import Device, Machine, Run, Side, short_sha
from tests.field_bounds import assert_bounds_are_known


def run(samples, device=None):
    return Run(
        workload="m:f",
        side=Side.BASE,
        pair=0,
        position=0,
        process=1,
        started_at="2026-11-20T12:00:00+00:00",
        samples=samples,
        device=device,
    )


@pytest.mark.parametrize("samples", [{}, {"step_time_p50": ()}, {"a": (1.0,), "b": ()}])
def test_a_run_without_samples_is_refused(samples):
    with pytest.raises(ValueError, match="'m:f' has a metric without samples"):
        run(samples)


def test_a_run_keeps_every_sample_in_its_order():
    assert run({"step_time_p50": (3.0, 1.0, 2.0)}).samples == {"step_time_p50": (3.0, 1.0, 2.0)}


def test_the_machine_class_is_kind_model_and_count():
    machine = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", count=8, uuid="GPU-1")

    assert machine.machine_class == "cuda:NVIDIA H100 80GB HBM3:8"


H100S = Machine(
    device=Device.CUDA,
    model="NVIDIA H100 80GB HBM3",
    count=8,
    uuid="GPU-1",
    memory_bytes=80 * 2**30,
    mig="disabled",
    cpu_model="A Xeon",
    cores=64,
)


def test_a_run_on_one_gpu_of_eight_is_of_the_class_of_one():
    used = H100S.part_used_by(run({"step_time_p50": (1.0,)}, device=Device.CUDA))

    assert used == replace(H100S, count=1)


def test_a_run_on_the_cpu_beside_a_gpu_says_nothing_of_the_gpu():
    used = H100S.part_used_by(run({"step_time_p50": (1.0,)}, device=Device.CPU))

    assert used == Machine(device=Device.CPU, model="A Xeon", cpu_model="A Xeon", cores=64)
    assert used.machine_class == "cpu:A Xeon:1"


def test_a_run_that_does_not_say_used_the_whole_machine():
    assert H100S.part_used_by(run({"step_time_p50": (1.0,)})) == H100S


def test_fields_and_parameters_have_known_bounds_and_defaults():
    assert_bounds_are_known(perfledger, Path(__file__).with_name("field_bounds.txt"))


@pytest.mark.parametrize(
    ("sha", "text"), [("d41e7b9a0c2f4e6d8b1a", "d41e7b9a0c2f"), ("<d4>1e'; $", "d41e"), ("", "")]
)
def test_a_commits_short_name_is_nothing_but_hexadecimal_digits(sha, text):
    assert short_sha(sha) == text
