"""Differences of pairs as they are stored, and what is found again of them."""

import pytest
from sqlmodel import select

from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import Device, Machine
from perfledger_baselines.judging.judge import judgement_of
from perfledger_baselines.judging.pair_spreads import pair_differences
from perfledger_baselines.significance.spread_prior import MAX_VALUES
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.observations import pack, series_key
from perfledger_service.store.pair_spreads import (
    MAX_UPLOADS,
    SAMPLE_TYPE,
    differences_of_series,
    differences_on_devices,
)
from perfledger_service.store.projects import project_named
from perfledger_service.store.tables import BundleRow, PairSpreadRow, SeriesRow, UploadRow

CLASS = "cpu:Test CPU:1"
KEY = series_key("gpt:step", STEP_TIME.name, CLASS)


@pytest.fixture
def found_differences():
    """Look up what a project has of a series."""

    def find(engine, keys=(KEY,), *, until=None, repository="octo/models"):
        with read_session(engine) as session:
            project = project_named(session, repository)
            return differences_of_series(session, project.id, keys, until=until)

    return find


@pytest.fixture
def uploads(judged, make_bundle):
    """Judge so many bundles, one after another, and return them."""

    def upload(engine, count, **values):
        bundles = [make_bundle(seed=seed, **values) for seed in range(count)]
        for number, bundle in enumerate(bundles, start=1):
            judged(engine, bundle, upload_id=f"{number:032x}")
        return bundles

    return upload


def add_entries(engine, count):
    """Add as many uploads to the first series, by copies of the first: entry i differs by i."""
    with write_session(engine) as session:
        upload = session.exec(select(UploadRow)).one()
        series = session.exec(select(SeriesRow).where(SeriesRow.key == KEY)).one()
        content = session.exec(select(BundleRow.content)).one()
        assert series.id is not None
        for number in range(count):
            name = f"{number:064x}"
            session.add(BundleRow(sha256=name, unpacked_bytes=1, content=content))
            session.flush()
            session.add(UploadRow(**upload.model_dump() | {"id": name, "bundle_sha256": name}))
            session.flush()
            differences = pack([float(number), 0.0], SAMPLE_TYPE)
            session.add(PairSpreadRow(series_id=series.id, upload_id=name, differences=differences))
            session.flush()
        session.commit()


def values_of(bundle):
    differences = pair_differences(judgement_of(bundle).tests, bundle.machines())
    return next(one.values for one in differences if one.metric == STEP_TIME.name)


def test_differences_come_back_the_newest_upload_first(any_engine, uploads, found_differences):
    bundles = uploads(any_engine, 3)

    (series,) = found_differences(any_engine)

    assert (series.workload, series.metric, series.machine_class) == (
        "gpt:step",
        STEP_TIME.name,
        CLASS,
    )
    assert len(series.uploads) == 3
    for differences, bundle in zip(series.uploads, reversed(bundles), strict=True):
        assert differences == pytest.approx(values_of(bundle), rel=1e-7)


def test_entries_after_a_known_one_are_left_out(any_engine, uploads, found_differences):
    bundles = uploads(any_engine, 1)
    (before,) = found_differences(any_engine)
    uploads(any_engine, 3)

    (then,) = found_differences(any_engine, until=before.newest)
    (now,) = found_differences(any_engine)

    assert then == before
    assert now.newest > before.newest
    assert then.uploads[0] == pytest.approx(values_of(bundles[0]), rel=1e-7)


@pytest.mark.slow(ci_only=True)
def test_no_more_uploads_are_read_than_the_newest(any_engine, uploads, found_differences):
    uploads(any_engine, 1)
    add_entries(any_engine, MAX_UPLOADS + 5)

    (newest,) = found_differences(any_engine)
    (older,) = found_differences(any_engine, until=newest.newest - 10)

    assert len(newest.uploads) == MAX_UPLOADS
    assert [each[0] for each in newest.uploads] == list(reversed(range(5, MAX_UPLOADS + 5)))
    assert older.uploads[0][0] == MAX_UPLOADS - 6


def test_the_uploads_that_are_read_are_enough_even_if_each_has_but_two_pairs():
    assert 2 * MAX_UPLOADS >= MAX_VALUES


def test_each_series_has_its_own(any_engine, uploads, found_differences):
    uploads(any_engine, 2, workloads=("gpt:step", "gpt:other"))
    memory = series_key("gpt:other", PEAK_MEMORY.name, CLASS)

    both = found_differences(any_engine, (KEY, memory))

    assert {(one.workload, one.metric) for one in both} == {
        ("gpt:step", STEP_TIME.name),
        ("gpt:other", PEAK_MEMORY.name),
    }
    assert [len(one.uploads) for one in both] == [2, 2]


def test_what_was_never_uploaded_is_not_found(engine, uploads, found_differences):
    uploads(engine, 1)

    assert (
        found_differences(engine, (series_key("gpt:step", STEP_TIME.name, "cpu:Another CPU:1"),))
        == ()
    )
    assert found_differences(engine, ()) == ()
    assert found_differences(engine, until=0) == ()


def test_a_class_of_devices_has_all_series_on_it(any_engine, judged, make_bundle):
    judged(any_engine, make_bundle(), upload_id="1" * 32)
    other = Machine(device=Device.CPU, model="Another CPU")
    judged(any_engine, make_bundle(seed=1, machine=other), upload_id="2" * 32)

    with read_session(any_engine) as session:
        project = project_named(session, "octo/models")
        here = differences_on_devices(session, project.id, [CLASS, "cpu:A third CPU:1"])

    assert {(one.metric, one.machine_class) for one in here} == {
        (STEP_TIME.name, CLASS),
        (PEAK_MEMORY.name, CLASS),
    }


def test_another_projects_pairs_are_not_ours(engine, judged, make_bundle, found_differences):
    judged(engine, make_bundle(), upload_id="1" * 32)
    theirs = make_bundle(seed=1, repository="octo/other")
    judged(engine, theirs, upload_id="2" * 32, token="pl_4567cdef_" + "t" * 43)

    (ours,) = found_differences(engine)

    assert len(ours.uploads) == 1


def test_a_single_pair_leaves_nothing_behind(engine, judged, make_bundle):
    judged(engine, make_bundle(pairs=1))

    with read_session(engine) as session:
        assert session.exec(select(PairSpreadRow)).all() == []


def test_all_of_an_upload_is_stored_with_one_statement_and_found_with_one(
    engine, judged, make_bundle, found_differences, record_statements
):
    bundle = make_bundle(workloads=tuple(f"gpt:step{number}" for number in range(20)))
    statements = record_statements(engine)

    judged(engine, bundle)
    keys = [series_key(f"gpt:step{number}", STEP_TIME.name, CLASS) for number in range(20)]
    assert len(found_differences(engine, keys)) == 20

    assert [
        (statement.split(maxsplit=1)[0], executemany)
        for statement, executemany in statements
        if "spread" in statement and "INTO verdict" not in statement
    ] == [("INSERT", True), ("SELECT", False)]


def test_an_upload_has_one_entry_in_a_series(engine, judged, make_bundle):
    upload = judged(engine, make_bundle())

    with write_session(engine) as session:
        (row, *_) = session.exec(select(PairSpreadRow))
        assert session.get(UploadRow, row.upload_id) is not None
        assert row.upload_id == upload.id
        assert len(row.differences) == 4 * 6
