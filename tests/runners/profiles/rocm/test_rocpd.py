import sqlite3
from contextlib import closing

import pytest

from perfledger.records import Side
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.formats import ProfileFormat, detect_format, read_calls, read_profile
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.rocm import dispatches
from perfledger_profiles.rocm.rocpd import read_rocpd, read_rocpd_trace
from perfledger_profiles.timeline.trace import CallKind

# rocprofv3 names its tables after the process that it watched.
PROCESS = "_00006409_00d1_70d1_a5cb_b5ab88214544"
SCHEMA = f"""
CREATE TABLE "rocpd_metadata{PROCESS}" (id INTEGER PRIMARY KEY, tag TEXT, value TEXT);
CREATE TABLE "rocpd_info_agent{PROCESS}" (id INTEGER PRIMARY KEY, type TEXT, product_name TEXT);
CREATE TABLE "rocpd_info_kernel_symbol{PROCESS}" (
    id INTEGER PRIMARY KEY, kernel_name TEXT, display_name TEXT);
CREATE TABLE "rocpd_kernel_dispatch{PROCESS}" (
    id INTEGER PRIMARY KEY, agent_id INTEGER, kernel_id INTEGER, start BIGINT, "end" BIGINT,
    workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER,
    grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER);
"""
ROWS = (
    (1, 4, 1, 1000, 3000, 64, 1, 1, 128, 1, 1),
    (2, 4, 1, 3000, 4000, 64, 1, 1, 128, 1, 1),
    (3, 4, 9, 4000, 5000, 64, 1, 1, 128, 1, 1),
)


@pytest.fixture
def database(tmp_path):
    def make(rows=ROWS, script=SCHEMA):
        path = tmp_path / "1_results.db"
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(script)
            if rows:
                connection.execute(
                    f'INSERT INTO "rocpd_info_agent{PROCESS}" '
                    "VALUES (4, 'GPU', 'AMD Instinct MI300X')"
                )
                connection.execute(
                    f'INSERT INTO "rocpd_info_kernel_symbol{PROCESS}" '
                    "VALUES (1, '_Z3add.kd', 'attn_fwd')"
                )
                marks = ",".join("?" * 11)
                connection.executemany(
                    f'INSERT INTO "rocpd_kernel_dispatch{PROCESS}" VALUES ({marks})', rows
                )
            connection.commit()
        return path

    return make


def read(path):
    return read_rocpd(path, workload="m:f", side=Side.HEAD)


def test_dispatches_have_their_kernels_and_their_device(database):
    path = database()

    profile = read_profile(path, workload="m:f", side=Side.HEAD)

    assert detect_format(path.read_bytes(), "x") is ProfileFormat.ROCPD
    assert [(one.name, one.count, one.grid) for one in profile.kernels] == [
        ("attn_fwd", 2.0, "2,1,1"),
        ("(unknown kernel)", 1.0, "2,1,1"),
    ]
    assert profile.device.name == "AMD Instinct MI300X"
    assert profile.reading("gpu_busy") == 1.0


def test_processes_of_one_database_have_devices_of_their_own(database):
    path = database()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA.replace(PROCESS, "_other"))
        connection.execute("INSERT INTO rocpd_info_agent_other VALUES (4, 'GPU', 'MI300X')")
        row = (1, 4, 1, 3000, 4000, 64, 1, 1, 128, 1, 1)
        marks = ",".join("?" * 11)
        connection.execute(f"INSERT INTO rocpd_kernel_dispatch_other VALUES ({marks})", row)
        connection.commit()

    assert {one.name: one.step_seconds for one in read(path).devices} == {
        "device 0 of rank 0": pytest.approx(4e-6),
        "device 0 of rank 1": pytest.approx(1e-6),
    }


def test_the_sides_of_a_launch_are_in_their_order(database):
    """AMD counts the grid in work items: blocks are the grid over the group."""
    row = (1, 4, 1, 1000, 3000, 64, 2, 3, 64 * 5, 2 * 7, 3 * 11)

    (kernel,) = read(database((row,))).kernels

    assert (kernel.grid, kernel.block) == ("5,7,11", "64,2,3")


def test_a_database_has_at_most_so_many_dispatches(database, monkeypatch):
    path = database()
    monkeypatch.setattr(dispatches, "MAX_CALLS", 3)
    assert sum(kernel.count for kernel in read(path).kernels) == 3

    monkeypatch.setattr(dispatches, "MAX_CALLS", 2)

    with pytest.raises(ProfileError, match="more than 2 dispatches"):
        read(path)


def test_values_that_are_no_times_are_left_out(database):
    damaged = ((5, 4, 1, "soon", None, 64, 1, 1, 1, 1, 1), (6, 4, 1, 9, 3, 64, 1, 1, 1, 1, 1))

    profile = read(database((*ROWS, *damaged)))

    assert profile.dropped_events == 2
    assert sum(kernel.count for kernel in profile.kernels) == 3


@pytest.mark.parametrize(
    "script",
    ["CREATE TABLE t (x)", SCHEMA, 'CREATE TABLE "rocpd_kernel_dispatch" (id INTEGER)'],
)
def test_a_database_without_dispatches_is_refused(database, script):
    with pytest.raises(ProfileError):
        read(database((), script))


def test_a_damaged_database_is_refused(database, tmp_path):
    whole_content = database().read_bytes()
    path = tmp_path / "cut.db"
    path.write_bytes(whole_content[: len(whole_content) // 2])

    with pytest.raises(ProfileError):
        read(path)


def test_all_calls_are_exported(database):
    calls = read_calls(database())

    assert calls.count == 3
    assert calls.names == ("attn_fwd", "(unknown kernel)")


def test_copies_are_of_the_gpu_that_they_reach(database):
    copies = f"""CREATE TABLE "rocpd_memory_copy{PROCESS}" (id INTEGER PRIMARY KEY, start BIGINT,
        "end" BIGINT, src_agent_id INTEGER, dst_agent_id INTEGER, size BIGINT);
        INSERT INTO "rocpd_memory_copy{PROCESS}" VALUES (1, 5000, 6000, 1, 4, 64), (2, 6000, 9000,
        1, 1, 64), (3, 6000, 6500, 4, 1, NULL), (4, 7000, 8000, 4, 4, 8);"""

    profile = read(database(script=SCHEMA + copies))

    seconds = {one.name: one.seconds for one in profile.operations if "Memcpy" in one.name}
    assert seconds == {
        "Memcpy HtoD": pytest.approx(1e-6),
        "Memcpy DtoH": pytest.approx(0.5e-6),
        "Memcpy DtoD": pytest.approx(1e-6),
    }
    assert profile.step_seconds == pytest.approx(7e-6)


EVENTS = f"""
CREATE TABLE "rocpd_string{PROCESS}" (id INTEGER PRIMARY KEY, string TEXT);
CREATE TABLE "rocpd_event{PROCESS}" (
    id INTEGER PRIMARY KEY, category_id INTEGER, stack_id INTEGER, correlation_id INTEGER);
CREATE TABLE "rocpd_region{PROCESS}" (
    id INTEGER PRIMARY KEY, tid INTEGER, start BIGINT, "end" BIGINT, name_id INTEGER,
    event_id INTEGER);
ALTER TABLE "rocpd_kernel_dispatch{PROCESS}" ADD COLUMN event_id INTEGER;
INSERT INTO "rocpd_string{PROCESS}" VALUES
    (1, 'HIP_RUNTIME_API_EXT'), (2, 'HSA_CORE_API'), (3, 'KERNEL_DISPATCH'),
    (4, 'hipLaunchKernel'), (5, 'hsa_signal_wait_scacquire'), (6, 'hipMemcpy');
INSERT INTO "rocpd_event{PROCESS}" VALUES
    (1, 3, 7, 0), (2, 3, 9, 0), (3, 1, 7, 0), (4, 1, 9, 0), (5, 1, 8, 0), (6, 2, 8, 0);
INSERT INTO "rocpd_region{PROCESS}" VALUES
    (1, 28, 0, 900, 4, 3), (2, 28, 3100, 9000, 6, 5), (3, 28, 3200, 8000, 5, 6),
    (4, 28, 9100, 9900, 4, 4);
"""


def add_dispatch(connection, process, number, start_ns, event):
    """Add a kernel of two microseconds with its event."""
    row = (number, 4, 1, start_ns, start_ns + 2000, 64, 1, 1, 64, 1, 1, event)
    marks = ",".join("?" * len(row))
    connection.execute(f'INSERT INTO "rocpd_kernel_dispatch{process}" VALUES ({marks})', row)


def test_calls_of_hip_show_what_a_device_waits_for(database):
    """Between two kernels, the host is in a copy and then launches the second one."""
    path = database((), SCHEMA + EVENTS)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            f"INSERT INTO \"rocpd_info_agent{PROCESS}\" VALUES (4, 'GPU', 'AMD Instinct MI300X')"
        )
        for number, start_ns, event in ((1, 1000, 1), (2, 10000, 2)):
            add_dispatch(connection, PROCESS, number, start_ns, event)
        connection.commit()

    profile = read(path)

    assert profile.is_host_known
    seconds = {one.name: one.seconds for one in profile.operations}
    assert seconds["hipMemcpy"] == pytest.approx(5900e-9)
    assert seconds["hipLaunchKernel"] == pytest.approx(800e-9)
    assert "hsa_signal_wait_scacquire" not in seconds
    assert profile.streams[0].host_wait_seconds == pytest.approx(7e-6)
    assert classify(profile).primary is Bottleneck.HOST


def test_each_process_counts_its_calls_from_one(database):
    """The second process has a launch of the first one's number, long before its own kernels."""
    path = database((), SCHEMA + EVENTS)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((SCHEMA + EVENTS).replace(PROCESS, "_other"))
        for process, start_ns in ((PROCESS, 1000), ("_other", 50000)):
            connection.execute(f"INSERT INTO \"rocpd_info_agent{process}\" VALUES (4, 'GPU', 'M')")
            add_dispatch(connection, process, 1, start_ns, 1)
        connection.commit()

    trace = read_rocpd_trace(path)

    kernels = trace.correlation[trace.kind == CallKind.KERNEL].tolist()
    launches = trace.correlation[trace.kind == CallKind.RUNTIME].tolist()
    assert len(set(kernels)) == 2
    assert [launches.count(number) for number in kernels] == [1, 1]
