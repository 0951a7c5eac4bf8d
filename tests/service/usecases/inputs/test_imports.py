"""Files about the fleet as they are imported, kept, found and forgotten, on both databases."""

import json

import pytest

from perfledger_cost_models.serving.load_curve import LoadCurve, LoadMode, LoadPoint
from perfledger_service.errors import ConflictError, NotFoundError, TooLargeError, UsageError
from perfledger_service.store.database import read_session
from perfledger_service.store.fleet.imports import imports
from perfledger_service.usecases.inputs import imports as importing
from perfledger_service.usecases.inputs.files import NamedBytes
from perfledger_service.usecases.inputs.imports import (
    file_of_curves,
    import_file,
    newest_log,
    stored_curves,
    stored_files,
)
from perfledger_service.values.fleet_views import ImportKind

SWF = "\n".join(f"{at} {60 * at} 0 600 1 -1 -1 1 600 -1 1 7 1 -1 1 -1 -1 -1" for at in range(1, 9))


def sacct(*days, name="sacct.txt"):
    """A job of two GPUs for a day, on each of some days of October 2026."""
    rows = [
        f"{day}|t|nlp|2026-10-{day:02}T00:00:00|2026-10-{day + 1:02}T00:00:00|gres/gpu=2"
        for day in days
    ]
    lines = ["JobID|JobName|Account|Start|End|AllocTRES", *rows]
    return NamedBytes(name, "\n".join(lines).encode())


def query_range(metric, start=1_790_000_000, device="GPU-1"):
    values = [[start + 600 * at, "1"] for at in range(144)]
    labels = {"__name__": metric, "UUID": device, "namespace": "nlp", "pod": "train"}
    result = [{"metric": labels, "values": values}]
    document = {"data": {"resultType": "matrix", "result": result}}
    return NamedBytes(f"{metric}.json", json.dumps(document).encode())


def curve(p99_s, device="H100-80GB", **values):
    point = LoadPoint(
        mode=LoadMode.OPEN, offered_per_second=20.0, throughput_per_second=20.0, latency_p99_s=p99_s
    )
    return LoadCurve(workload="serve", device=device, devices=1, points=(point,), **values)


@pytest.fixture
def keep(now):
    def keep(engine, file, kind=ImportKind.USAGE, source="main"):
        return import_file(engine, file, kind=kind, source=source, now=now)

    return keep


def test_a_file_is_kept_as_it_was_with_what_it_tells(any_engine, keep):
    file = sacct(1, 2)

    kept_file, is_new = keep(any_engine, file)

    assert is_new
    assert kept_file.summary == "Slurm accounting: 96 device-hours"
    assert (str(kept_file.since), str(kept_file.until)) == (
        "2026-10-01 00:00:00+00:00",
        "2026-10-03 00:00:00+00:00",
    )
    assert stored_files(any_engine, ImportKind.USAGE, source="main") == (file,)


def test_the_same_content_again_is_the_same_import(any_engine, keep):
    first, _ = keep(any_engine, sacct(1))

    again, is_new = keep(any_engine, sacct(1, name="other name"))

    assert (again, is_new) == (first, False)


def test_hours_that_would_count_twice_are_refused(any_engine, keep):
    keep(any_engine, sacct(1, 2))

    with pytest.raises(ConflictError, match=r"overlaps with sacct\.txt \(import 1\)"):
        keep(any_engine, sacct(2, 3))

    with read_session(any_engine) as session:
        assert len(imports(session)) == 1


def test_months_that_follow_each_other_and_other_clusters_are_put_together(any_engine, keep):
    keep(any_engine, sacct(3, 4, name="later"))
    keep(any_engine, sacct(1, 2, name="earlier"))
    keep(any_engine, sacct(1, 2, 3, name="beside"), source="west")

    names = [file.name for file in stored_files(any_engine, ImportKind.USAGE, source="main")]
    assert names == ["earlier", "later"]
    assert len(stored_files(any_engine, ImportKind.USAGE, source="*")) == 3


def test_two_metrics_of_one_device_go_together_and_one_twice_does_not(any_engine, keep):
    keep(any_engine, query_range("DCGM_FI_DEV_GPU_UTIL"), ImportKind.ACTIVITY)
    keep(any_engine, query_range("DCGM_FI_PROF_SM_ACTIVE"), ImportKind.ACTIVITY)

    with pytest.raises(UsageError, match="appears twice"):
        keep(any_engine, query_range("DCGM_FI_DEV_GPU_UTIL", 1_790_001_200), ImportKind.ACTIVITY)


def test_the_job_log_that_was_imported_last_is_replayed(any_engine, keep):
    keep(any_engine, NamedBytes("old.swf", SWF.encode()), ImportKind.JOBS)
    keep(any_engine, NamedBytes("new.swf", SWF.rpartition("\n")[0].encode()), ImportKind.JOBS)

    assert newest_log(any_engine, source="main").name == "new.swf"
    with pytest.raises(NotFoundError, match=r"no jobs of 'west' was imported; .*: 'main'"):
        newest_log(any_engine, source="west")


def test_a_later_curve_of_the_same_replica_goes_before(any_engine, keep):
    keep(any_engine, file_of_curves("a", [curve(0.05)]), ImportKind.LOAD)
    newer = [curve(0.04), curve(0.2, "L4")]
    keep(any_engine, file_of_curves("b", newer), ImportKind.LOAD, "earlier in the alphabet")

    assert stored_curves(any_engine, source="*") == (curve(0.04), curve(0.2, "L4"))
    assert stored_curves(any_engine, source="main") == (curve(0.05),)


def test_curves_of_replicas_with_other_servers_stand_beside_each_other(engine, keep):
    keep(engine, file_of_curves("a", [curve(0.05)]), ImportKind.LOAD)
    keep(engine, file_of_curves("b", [curve(0.04, servers=2)]), ImportKind.LOAD)

    assert stored_curves(engine, source="main") == (curve(0.05), curve(0.04, servers=2))


@pytest.mark.parametrize("kind", [ImportKind.USAGE, ImportKind.ACTIVITY, ImportKind.JOBS])
@pytest.mark.parametrize(
    "data",
    [b"", b"\xff\xfe", b"{" * 100_000, b"JobID|Start|AllocTRES\n1|x|\x00", b'{"resultType": 1}'],
)
def test_what_cannot_be_read_is_not_kept(engine, keep, kind, data):
    with pytest.raises(UsageError):
        keep(engine, NamedBytes("hostile", data), kind)

    with read_session(engine) as session:
        assert imports(session) == ()


def test_names_are_cleaned_before_they_are_kept(any_engine, keep):
    kept_file, _ = keep(any_engine, sacct(1, name="a\x00b\u202ec"), source="\x00west")

    assert (kept_file.name, kept_file.source) == ("abc", "west")


@pytest.mark.parametrize("source", ["west-*", "w?st", "[west]", "acme/west", "acme\\west"])
def test_a_source_that_would_be_a_pattern_is_refused(engine, keep, source):
    with pytest.raises(UsageError, match="must not contain"):
        keep(engine, sacct(1), source=source)


def test_a_file_that_is_too_large_is_not_kept(engine, keep, monkeypatch):
    file = sacct(1)
    monkeypatch.setattr(importing, "MAX_USAGE_BYTES", len(file.data) - 1)

    with pytest.raises(TooLargeError, match="larger than"):
        keep(engine, file)


def test_a_file_of_just_the_largest_size_is_kept(engine, keep, monkeypatch):
    file = sacct(1)
    monkeypatch.setattr(importing, "MAX_USAGE_BYTES", len(file.data))

    stored, is_new = keep(engine, file)

    assert (stored.unpacked_bytes, is_new) == (len(file.data), True)


def test_more_than_can_be_read_together_is_said_so(engine, keep, monkeypatch):
    keep(engine, sacct(1))
    monkeypatch.setattr(importing, "MAX_TOGETHER_BYTES", 10)

    with pytest.raises(TooLargeError, match="have more than 10 bytes"):
        stored_files(engine, ImportKind.USAGE, source="main")
