"""The shared values keep their promises: they check themselves and survive being written."""

import json
import math
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings, strategies as st

from perfledger.bundle import BUNDLE_FORMAT, BUNDLE_VERSION, Bundle, Plan
from perfledger.load import Load
from perfledger.metrics import ASKED, METRICS, STEP_TIME, Kind
from perfledger.protocol import Command, Effort, Request, RequestError, read_request
from perfledger.records import Device, Machine, Revision, Run, Side


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


def bundle(*runs):
    return Bundle(
        id="0" * 32,
        created_at="2026-11-20T12:00:00+00:00",
        base=Revision(sha="a" * 40),
        head=Revision(sha="b" * 40),
        machine=Machine(device=Device.CPU, model="A CPU"),
        plan=Plan(seed=1, order=("base",), looks=(4,)),
        workloads=(),
        metrics=(STEP_TIME,),
        runs=runs,
    )


@pytest.mark.parametrize("samples", [{}, {"step_time_p50": ()}, {"a": (1.0,), "b": ()}])
def test_a_run_without_samples_is_refused(samples):
    with pytest.raises(ValueError, match="'m:f' has a metric without samples"):
        run(samples)


def test_a_run_keeps_every_sample_in_its_order():
    assert run({"step_time_p50": (3.0, 1.0, 2.0)}).samples == {"step_time_p50": (3.0, 1.0, 2.0)}


def test_the_device_class_is_kind_model_and_count():
    machine = Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", count=8, uuid="GPU-1")

    assert machine.device_class == "cuda:NVIDIA H100 80GB HBM3:8"


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
    assert used.device_class == "cpu:A Xeon:1"


def test_a_run_that_does_not_say_used_the_whole_machine():
    assert H100S.part_used_by(run({"step_time_p50": (1.0,)})) == H100S


def test_a_bundle_knows_what_each_workload_and_side_ran_on():
    on_cpu = run({"step_time_p50": (1.0,)}, device=Device.CPU)

    assert bundle(on_cpu).machines() == {("m:f", Side.BASE): bundle().machine.part_used_by(on_cpu)}


def test_a_bundle_names_its_format_and_its_version_and_holds_every_sample():
    written = json.loads(bundle(run({"step_time_p50": (0.25, 0.5)})).to_json())

    assert (written["format"], written["version"]) == (BUNDLE_FORMAT, BUNDLE_VERSION)
    assert written["runs"][0]["samples"] == {"step_time_p50": [0.25, 0.5]}


def test_a_bundle_with_a_number_that_json_has_not_is_an_error():
    with pytest.raises(ValueError, match="not JSON compliant"):
        bundle(run({"step_time_p50": (math.nan,)})).to_json()


def test_every_metric_is_found_by_its_name():
    known = METRICS | ASKED
    assert all(name == metric.name for name, metric in known.items())
    assert len(known) == len(METRICS) + len(ASKED)
    assert {metric.kind for metric in known.values()} == set(Kind)


names = st.text(min_size=1, max_size=8)
params = st.one_of(st.integers(), st.floats(allow_nan=False), st.booleans(), st.text(max_size=8))


@pytest.mark.slow
@settings(deadline=None)
@given(
    workloads=st.lists(names).map(tuple),
    grid=st.dictionaries(names, st.dictionaries(names, st.lists(params, min_size=1).map(tuple))),
    effort=st.builds(Effort, min_steps=st.integers(1, 9), max_seconds=st.floats(0, 9)),
    command=st.sampled_from(Command),
    load=st.builds(Load, concurrency=st.lists(st.integers(1, 9)).map(tuple), seed=st.integers()),
)
def test_a_request_is_read_as_it_was_written(  # noqa: PLR0917 - what Hypothesis draws
    tmp_path_factory, workloads, grid, effort, command, load
):
    request = Request(
        command=command,
        root="/r",
        repository="/u",
        workloads=workloads,
        params=grid,
        effort=effort,
        load=load,
    )
    path = tmp_path_factory.getbasetemp() / "request.json"
    request.write(path)

    assert read_request(path) == request


def test_a_request_of_another_version_is_refused(tmp_path):
    path = tmp_path / "request.json"
    request = Request(command=Command.LIST, root="/r", repository="/u")
    path.write_text(json.dumps({**asdict(request), "version": 99}), encoding="utf-8")

    with pytest.raises(RequestError, match="version 99 and this child speaks 1"):
        read_request(path)
