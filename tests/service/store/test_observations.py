import struct
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from sqlmodel import func, select

from perfledger.metrics import (
    METRICS,
    OPTIONAL_METRICS,
    PEAK_MEMORY,
    STEP_TIME,
    STEP_TIME_P95,
    MetricKind,
)
from perfledger.records import Device, Machine, Revision, Side
from perfledger_service.store import observations
from perfledger_service.store.database import read_session
from perfledger_service.store.observations import has_room, pack, sample_type_of
from perfledger_service.store.page_queries import series_view, upload_view, with_verdicts
from perfledger_service.store.tables import ObservationRow, RevisionRow, SeriesRow

LETTERS = {"f4": "f", "f8": "d"}
FLOATS = st.lists(st.floats(min_value=1e-30, max_value=1e30), max_size=50)


def unpack(blob, sample_type):
    return tuple(number for (number,) in struct.iter_unpack(f"<{LETTERS[sample_type]}", blob))


def samples_of(session, series, upload):
    """Return the stored samples of an upload by side."""
    rows = session.exec(
        select(ObservationRow).where(
            ObservationRow.series_id == series.id, ObservationRow.upload_id == upload.id
        )
    )
    return {Side(row.side): unpack(row.samples, series.sample_type) for row in rows}


@given(FLOATS)
def test_counts_come_back_exactly(samples):
    assert unpack(pack(samples, "f8"), "f8") == tuple(samples)


@given(FLOATS)
def test_readings_come_back_within_the_precision_of_32_bits(samples):
    back = unpack(pack(samples, "f4"), "f4")

    assert back == pytest.approx(tuple(samples), rel=2**-24)


def test_samples_are_little_endian():
    assert pack([1.0], "f4") == b"\x00\x00\x80\x3f"
    assert pack([1.0, 2.0], "f8") == struct.pack("<dd", 1.0, 2.0)


def test_only_readings_are_shortened():
    metrics = (*METRICS.values(), *OPTIONAL_METRICS.values())
    kinds = {metric.kind: sample_type_of(metric) for metric in metrics}

    shortened = {kind for kind, sample_type in kinds.items() if sample_type == "f4"}
    assert shortened == {
        MetricKind.SPEED,
        MetricKind.CPU_TIME,
        MetricKind.TAIL,
        MetricKind.UTILIZATION,
        MetricKind.ENERGY,
        MetricKind.START,
        MetricKind.KERNEL,
    }
    assert {kind for kind in kinds if kinds[kind] == "f8"} == {
        MetricKind.MEMORY,
        MetricKind.GROWTH,
        MetricKind.WORK,
    }


def test_a_tail_is_observed_as_one_number_of_each_process(engine, judged, make_bundle):
    tail = STEP_TIME_P95
    upload = judged(
        engine, make_bundle(samples=20, pairs=3, metrics=(STEP_TIME, PEAK_MEMORY, tail))
    )

    with read_session(engine) as session:
        series = session.exec(select(SeriesRow).where(SeriesRow.metric == tail.name)).one()
        assert series.id is not None
        points = series_view(session, series.id).points
        samples = samples_of(session, series, upload)

    assert [point.center for point in points] == pytest.approx([0.01, 0.012], rel=5e-3)
    assert all(point.low < point.center < point.high for point in points)
    assert [len(samples[side]) for side in Side] == [3, 3]


def test_each_side_of_an_upload_is_an_observation_of_its_commit(any_engine, judged, make_bundle):
    bundle = make_bundle(ratio=1.2, pairs=6, samples=5)
    upload = judged(any_engine, bundle)

    with read_session(any_engine) as session:
        series = session.exec(select(SeriesRow).where(SeriesRow.metric == STEP_TIME.name)).one()
        assert series.id is not None
        points = series_view(session, series.id).points
        samples = samples_of(session, series, upload)

    assert [(point.position, point.sha, point.side) for point in points] == [
        (0, bundle.base.sha, Side.BASE),
        (1, bundle.head.sha, Side.HEAD),
    ]
    assert [point.center for point in points] == pytest.approx([0.01, 0.012], rel=1e-3)
    assert all(point.low < point.center < point.high for point in points)
    assert [point.processes for point in points] == [6, 6]
    expected = [
        sample
        for run in bundle.runs
        if run.side is Side.HEAD
        for sample in run.samples[STEP_TIME.name]
    ]
    assert samples[Side.HEAD] == pytest.approx(tuple(expected), rel=1e-7)


def test_commits_get_places_in_the_order_in_which_they_are_seen(any_engine, judged, make_bundle):
    judged(any_engine, make_bundle(), upload_id="1" * 32)
    newer = make_bundle(seed=1, head=Revision(sha="c" * 40))
    judged(any_engine, newer, upload_id="2" * 32)

    with read_session(any_engine) as session:
        places = {row.sha: row.position for row in session.exec(select(RevisionRow))}
        series = len(session.exec(select(SeriesRow)).all())

    assert places == {"a" * 40: 0, "b" * 40: 1, "c" * 40: 2}
    assert series == 2  # step time and memory: the second upload made none


def test_another_class_of_machine_is_another_series(engine, judged, make_bundle):
    first = make_bundle()
    judged(engine, first, upload_id="1" * 32)
    other = Machine(device=first.machine.device, model="Another CPU")
    judged(engine, make_bundle(seed=1, machine=other), upload_id="2" * 32)

    with read_session(engine) as session:
        classes = {row.machine_class for row in session.exec(select(SeriesRow))}

    assert classes == {"cpu:Test CPU:1", "cpu:Another CPU:1"}


def test_a_workload_on_the_cpu_beside_a_gpu_has_a_series_of_its_own(engine, judged, make_bundle):
    machine = Machine(device=Device.CUDA, model="NVIDIA L4", count=4, cpu_model="A Xeon")
    bundle = make_bundle(workloads=("m:gpu", "m:cpu"), machine=machine)
    devices = {"m:gpu": Device.CUDA, "m:cpu": Device.CPU}
    runs = tuple(replace(run, device=devices[run.workload]) for run in bundle.runs)
    upload = judged(engine, replace(bundle, runs=runs))

    with read_session(engine) as session:
        rows = session.exec(select(SeriesRow)).all()
        workloads = {row.id: (row.workload, row.machine_class) for row in rows}
        verdicts = with_verdicts(session, upload_view(session, upload.id)).verdicts

    assert set(workloads.values()) == {("m:gpu", "cuda:NVIDIA L4:1"), ("m:cpu", "cpu:A Xeon:1")}
    assert [workloads[verdict.series_id][0] for verdict in verdicts] == [
        verdict.workload for verdict in verdicts
    ]


def test_names_of_the_greatest_length_fit_the_index_of_every_database(
    any_engine, judged, make_bundle
):
    longest = "\N{SNOWMAN}\N{PILE OF POO}" * 150
    metric = replace(STEP_TIME, name=longest)
    bundle = make_bundle(workloads=(longest,))
    runs = tuple(
        replace(run, samples={longest: run.samples[STEP_TIME.name]}) for run in bundle.runs
    )
    judged(any_engine, replace(bundle, metrics=(metric,), runs=runs))

    with read_session(any_engine) as session:
        assert session.exec(select(SeriesRow)).one().workload == longest


def test_a_single_process_has_a_center_and_no_spread(engine, judged, make_bundle):
    judged(engine, make_bundle(pairs=1))

    with read_session(engine) as session:
        for row in session.exec(select(ObservationRow)):
            assert row.low == row.center == row.high


def test_all_of_an_upload_is_stored_with_one_statement(
    engine, judged, make_bundle, record_statements
):
    bundle = make_bundle(workloads=tuple(f"gpt:step{number}" for number in range(20)))
    statements = record_statements(engine)

    judged(engine, bundle)

    assert [
        executemany
        for statement, executemany in statements
        if statement.startswith("INSERT INTO observation")
    ] == [True]


def test_more_series_than_a_statement_takes_keys_are_known_again(
    engine, judged, make_bundle, monkeypatch
):
    monkeypatch.setattr(observations, "KEYS_AT_A_TIME", 7)
    workloads = tuple(f"gpt:step{number}" for number in range(10))
    for number in (1, 2):
        bundle = make_bundle(workloads=workloads, pairs=1, samples=1, seed=number)
        judged(engine, bundle, upload_id=f"{number:032x}")

    with read_session(engine) as session:
        assert session.exec(select(func.count()).select_from(SeriesRow)).one() == 20
        assert session.exec(select(func.count()).select_from(ObservationRow)).one() == 80


@pytest.mark.parametrize(("most", "has_it"), [(3, True), (2, False)])
def test_there_is_room_for_series_that_a_project_has_already(
    any_engine, judged, make_bundle, most, has_it
):
    upload = judged(any_engine, make_bundle())  # step time and memory of one workload
    machine_class = upload.machine_class
    names = [(one, "step_time_p50", machine_class) for one in ("gpt:step", "vit:step")]

    with read_session(any_engine) as session:
        assert has_room(session, upload.project_id, names, most=most) is has_it
