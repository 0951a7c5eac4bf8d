import sqlite3
from contextlib import closing, suppress

import pytest

from perfledger.profile import Bucket, OperationFamily, ProfiledDevice
from perfledger.records import Side
from perfledger_profiles.nsight_systems import sqlite_reader
from perfledger_profiles.nsight_systems.sqlite_reader import (
    HIDDEN_KERNELS,
    read_nsys_sqlite,
    read_nsys_trace,
)
from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline.device_windows import LATE
from perfledger_profiles.timeline.intervals import NO_CALL
from perfledger_profiles.timeline.launch_links import launches_of
from perfledger_profiles.timeline.step_windows import LENT_STEPS

US = 1000
PROCESS = 5 << 24
THREAD = PROCESS | 77
KERNEL = (
    "start, end, deviceId, streamId, correlationId, globalPid, demangledName, registersPerThread,"
    "gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory"
)
MEMCPY = "start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind"
RUNTIME = "start, end, globalTid, correlationId, nameId"
NVTX = "start, end, eventType, globalTid, text, textId"
STRINGS = {1: "volta_sgemm_128x64_nt", 2: "cudaLaunchKernel", 3: "forward", 4: "cudaMemcpyAsync"}


class Export:
    """Writes an export with two steps, as nsys lays it out; times are microseconds."""

    def __init__(self, path):
        self.path = path
        self.fill("StringIds", "id, value", *STRINGS.items())
        self.fill(
            "TARGET_INFO_GPU",
            "name, smMajor, smMinor, smCount, totalMemory",
            ("V100", 7, 0, 80, 32),
        )
        for begin in (0, 1000 * US):
            link = begin + 1
            self.fill(
                "NVTX_EVENTS", NVTX, (begin, begin + 1000 * US, 59, THREAD, f"step {begin}", None)
            )
            self.fill("NVTX_EVENTS", NVTX, (begin, begin + 500 * US, 59, THREAD, None, 3))
            self.fill(
                "CUPTI_ACTIVITY_KIND_RUNTIME",
                RUNTIME,
                (begin + 10 * US, begin + 20 * US, THREAD, link, 2),
            )
            self.fill(
                "CUPTI_ACTIVITY_KIND_KERNEL",
                KERNEL,
                (
                    begin + 100 * US,
                    begin + 300 * US,
                    0,
                    7,
                    link,
                    PROCESS,
                    1,
                    40,
                    64,
                    1,
                    1,
                    128,
                    1,
                    1,
                    16,
                    8,
                ),
            )
            self.fill(
                "CUPTI_ACTIVITY_KIND_RUNTIME",
                RUNTIME,
                (begin + 30 * US, begin + 40 * US, THREAD, link + 1, 4),
            )
            self.fill(
                "CUPTI_ACTIVITY_KIND_MEMCPY",
                MEMCPY,
                (begin + 400 * US, begin + 500 * US, 0, 7, link + 1, PROCESS, 1000, 1),
            )

    def fill(self, table, columns, *rows):
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
            marks = ", ".join("?" * (columns.count(",") + 1))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        return self

    def run(self, *statements):
        with closing(sqlite3.connect(self.path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)
        return self

    def read(self):
        return read_nsys_sqlite(self.path, workload="m:f", side=Side.HEAD)


@pytest.fixture
def export(tmp_path):
    return Export(tmp_path / "report.sqlite")


def test_ranges_named_like_steps_are_the_steps(export):
    profile = export.read()

    assert (profile.tool, profile.steps, profile.has_steps) == ("nsys", 2, True)
    assert profile.step_seconds == pytest.approx(1e-3)
    times = {(o.name, o.path): (o.bucket, round(1e6 * o.seconds)) for o in profile.operations}
    assert times[("volta_sgemm_128x64_nt", "forward")] == (Bucket.COMPUTE, 200)
    assert times[("Memcpy HtoD", "forward")] == (Bucket.COPY, 100)
    assert times[("cudaLaunchKernel", "forward")] == (Bucket.RUNTIME, 10)
    assert sum(o.seconds for o in profile.operations) == pytest.approx(1e-3)


def test_ranges_whose_work_the_device_ends_later_are_timed_on_the_device(export):
    begin = f"{3000 * US} * (correlationId / {1000 * US})"
    export.run(
        f"UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = {100 * US} + {begin},"
        f" end = {2900 * US} + {begin}",
        f"UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET start = {2900 * US} + {begin},"
        f" end = {3000 * US} + {begin}",
    )

    profile = export.read()

    assert [step.seconds for step in profile.each_step] == pytest.approx([3e-3, 3e-3])
    assert {kernel.name: kernel.count for kernel in profile.kernels} == {
        "volta_sgemm_128x64_nt": 1,
        "Memcpy HtoD": 1,
    }
    assert profile.notes[0] == LATE


@pytest.mark.parametrize(
    ("kinds", "name"),
    [
        ((1, 0, 2), "Memcpy HtoD (Pageable -> Device)"),
        ((2, 2, 1), "Memcpy DtoH (Device -> Pinned)"),
        ((8, 2, 2), "Memcpy DtoD (Device -> Device)"),
        ((10, 2, 2), "Memcpy PtoP (Device -> Device)"),
        ((11, 7, 7), "Memcpy HtoD (unified memory)"),
        ((12, None, None), "Memcpy DtoH (unified memory)"),
        ((13, 4, 4), "Memcpy DtoD (unified memory)"),
        ((8, None, 99), "Memcpy DtoD"),
        ((0, 7, 7), "Memcpy"),
        (("x", 2, 2), "Memcpy (Device -> Device)"),
    ],
)
def test_a_copy_is_named_by_its_kind_and_the_memories(tmp_path, kinds, name):
    columns = f"{MEMCPY}, srcKind, dstKind"
    row = (0, 10, 0, 7, 1, PROCESS, 1000, *kinds)
    export = Export.__new__(Export)
    export.path = tmp_path / "report.sqlite"

    export.fill("CUPTI_ACTIVITY_KIND_MEMCPY", columns, row)

    assert read_nsys_trace(export.path).names == (name,)


def test_kernels_have_their_launch_shape_and_copies_their_bytes(export):
    kernel, copy = export.read().kernels

    assert (kernel.family, kernel.grid, kernel.block) == (OperationFamily.GEMM, "64,1,1", "128,1,1")
    assert (kernel.registers, kernel.shared_memory_bytes, kernel.count) == (40, 24, 1.0)
    assert (copy.name, copy.bytes) == ("Memcpy HtoD", 1000.0)


def test_the_device_is_the_one_of_the_export(export):
    assert export.read().device == ProfiledDevice(
        name="V100", memory_bytes=32, compute_capability="7.0", multiprocessors=80
    )


def test_without_ranges_the_devices_window_is_one_step(export):
    profile = export.run("DROP TABLE NVTX_EVENTS").read()

    assert (profile.steps, profile.has_steps) == (1, False)
    assert profile.step_seconds == pytest.approx(1.40e-3)


def test_graphs_that_hide_their_kernels_are_said_so(export):
    columns = "start, end, deviceId, streamId, correlationId, globalPid, graphId"
    export.fill(
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns, (600 * US, 700 * US, 0, 7, 0, PROCESS, 3)
    )

    profile = export.read()

    assert HIDDEN_KERNELS in profile.notes
    assert "(CUDA graph)" in {kernel.name for kernel in profile.kernels}


@pytest.mark.parametrize(
    "details",
    [
        ", seq = 47504, op_id = 998541",
        ", op_id = 998541",
        ", seq = 7, op_id = 8, sizes = [[1, 2], [3]], input_op_ids = [(1,0)]",
    ],
)
def test_what_emit_nvtx_counts_up_is_no_part_of_an_operators_name(export, details):
    rows = [(n * US, (n + 1) * US, 59, THREAD, f"aten::mm{details}{n}", None) for n in (600, 700)]
    export.fill("NVTX_EVENTS", NVTX, *rows)

    names = [operation.name for operation in export.read().operations]

    assert names.count("aten::mm") == 1
    assert not any("op_id" in name for name in names)


def test_each_process_counts_its_own_correlation_numbers(export):
    other = 6 << 24
    export.fill("CUPTI_ACTIVITY_KIND_RUNTIME", RUNTIME, (50 * US, 60 * US, other | 8, 1, 2))
    export.fill("CUPTI_ACTIVITY_KIND_MEMCPY", MEMCPY, (700 * US, 701 * US, 0, 9, 1, other, 1000, 2))
    trace = read_nsys_trace(export.path)

    links = dict(zip(trace.start_ns.tolist(), trace.correlation.tolist(), strict=True))

    assert links[10 * US] == links[100 * US]
    assert links[50 * US] == links[700 * US]
    assert links[10 * US] != links[50 * US]


def test_columns_that_a_version_does_not_have_are_unknown(export):
    export.run("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL")
    export.fill("CUPTI_ACTIVITY_KIND_KERNEL", "start, end, shortName", (0, 5 * US, 1))

    kernel = export.read().kernels[-1]

    assert (kernel.name, kernel.grid, kernel.registers) == ("volta_sgemm_128x64_nt", "", None)


@pytest.mark.parametrize("row", [("x", 5), (5, None), (9, 5), (-1, 5), (1.5, 2.5), (0, 2**62)])
def test_rows_without_sound_times_are_counted(export, row):
    export.fill("CUPTI_ACTIVITY_KIND_MEMSET", "start, end", row)

    assert export.read().dropped_events == 1


def test_views_and_virtual_tables_are_not_read(export):
    export.run(
        "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY",
        "CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS WITH RECURSIVE n(start) AS "
        "(SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start AS end FROM n",
    )

    assert len(export.read().kernels) == 1


def test_more_rows_than_any_report_has_are_refused(export, monkeypatch):
    monkeypatch.setattr(sqlite_reader, "MAX_ROWS", 1)

    with pytest.raises(ProfileError, match="more than 1 rows: profile fewer steps"):
        export.read()


@pytest.mark.parametrize(
    "data", [b"", b"\x1f\x8bpacked", b"SQLite format 3\0", b"SQLite format 3\0" * 300]
)
def test_what_is_no_export_is_an_error(tmp_path, data):
    path = tmp_path / "report.sqlite"
    path.write_bytes(data)

    with pytest.raises(ProfileError, match=r"report\.sqlite"):
        read_nsys_trace(path)


def test_a_database_of_something_else_is_an_error(tmp_path):
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE notes (id)")

    with pytest.raises(ProfileError, match="neither an export of nsys"):
        read_nsys_trace(path)


def test_a_cut_off_file_is_read_or_refused(export):
    whole_content = export.path.read_bytes()
    for size in range(100, len(whole_content), 4096):
        export.path.write_bytes(whole_content[:size])
        with suppress(ProfileError):
            export.read()


def test_the_file_is_left_as_it_was(export):
    before = export.path.read_bytes()
    export.read()

    assert export.path.read_bytes() == before
    assert list(export.path.parent.iterdir()) == [export.path]


def test_what_a_device_has_none_of_is_not_known(export):
    export.run("DROP TABLE TARGET_INFO_GPU")
    export.fill(
        "TARGET_INFO_GPU",
        "name, smMajor, smMinor, smCount, totalMemory, memoryBandwidth",
        ("GB10", 12, 1, 0, 0, 0),
    )

    assert export.read().device == ProfiledDevice(name="GB10", compute_capability="12.1")


def test_a_process_is_known_whatever_machine_its_number_names(export):
    # The bits above the process's tell the machine and the virtual machine.
    for process, begin in ((6, 50), (8, 60)):
        thread, number = (3 << 48) + (process << 24) + 9, (3 << 48) + (process << 24)
        export.fill(
            "CUPTI_ACTIVITY_KIND_RUNTIME", RUNTIME, (begin * US, (begin + 5) * US, thread, 1, 2)
        )
        row = (700 * US, 701 * US, 0, process, 1, number, 1000, 2)
        export.fill("CUPTI_ACTIVITY_KIND_MEMCPY", MEMCPY, row)
    trace = read_nsys_trace(export.path)

    started = {
        stream: trace.start_ns[call]
        for call, stream in zip(launches_of(trace), trace.stream, strict=True)
        if call != NO_CALL
    }

    assert (started[6], started[8]) == (50 * US, 60 * US)


def test_calls_of_a_process_that_started_nothing_are_not_taken_for_launches(export):
    thread = (6 << 24) | 8
    export.fill("CUPTI_ACTIVITY_KIND_RUNTIME", RUNTIME, (15 * US, 60 * US, thread, 1, 2))
    trace = read_nsys_trace(export.path)

    kernel = trace.start_ns.tolist().index(100 * US)

    assert trace.start_ns[launches_of(trace)[kernel]] == 10 * US


@pytest.fixture
def two_ranks(export):
    """Add a rank on a second device, whose steps copy for 300 us after 600 us."""
    other = 6 << 24
    for begin in (0, 1000 * US):
        export.fill(
            "CUPTI_ACTIVITY_KIND_RUNTIME", RUNTIME, (begin, begin + 9, other | 8, begin + 1, 4)
        )
        copy = (begin + 600 * US, begin + 900 * US, 1, 7, begin + 1, other, 5, 1)
        export.fill("CUPTI_ACTIVITY_KIND_MEMCPY", MEMCPY, copy)
    return export


def mark_the_second_rank(export):
    rows = [(n * 1000 * US, (n + 1) * 1000 * US, 59, (6 << 24) | 8, "step", None) for n in (0, 1)]
    return export.fill("NVTX_EVENTS", NVTX, *rows)


@pytest.mark.parametrize("prepare", [mark_the_second_rank, lambda export: export])
def test_each_rank_has_its_own_step_and_the_profile_is_their_mean(two_ranks, prepare):
    profile = prepare(two_ranks).read()

    first, second = profile.devices
    assert (first.name, first.rank, second.name, second.rank) == ("device 0", 0, "device 1", 1)
    assert first.seconds(Bucket.COPY) == pytest.approx(100e-6)
    assert second.seconds(Bucket.COPY) == pytest.approx(300e-6)
    assert second.seconds(Bucket.COMPUTE) == 0.0
    assert profile.bucket_seconds()[Bucket.COPY] == pytest.approx(200e-6)
    assert profile.reading("h2d_time") == pytest.approx(200e-6)
    assert (LENT_STEPS in profile.notes) is (prepare is not mark_the_second_rank)


def test_a_rank_is_chosen_by_its_number_or_its_device(two_ranks):
    by_rank, by_device = (
        read_nsys_sqlite(two_ranks.path, workload="m:f", side=Side.HEAD, choice=choice)
        for choice in (DeviceChoice(rank=1), DeviceChoice(device=1))
    )

    assert by_rank == by_device
    assert by_rank.bucket_seconds()[Bucket.COPY] == pytest.approx(300e-6)
    assert by_rank.devices == ()
    assert [stream.stream for stream in by_rank.streams] == ["1:7"]


def test_two_processes_on_one_device_are_two_ranks(export):
    other = 6 << 24
    export.fill("CUPTI_ACTIVITY_KIND_RUNTIME", RUNTIME, (0, 9, other | 8, 1, 4))
    copy = (600 * US, 900 * US, 0, 9, 1, other, 5, 1)
    export.fill("CUPTI_ACTIVITY_KIND_MEMCPY", MEMCPY, copy)

    names = [device.name for device in export.read().devices]

    assert names == ["device 0 of rank 0", "device 0 of rank 1"]
