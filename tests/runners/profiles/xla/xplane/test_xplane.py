import importlib
import subprocess
import sys

import pytest

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline.breakdown import OUTSIDE_OPERATIONS
from perfledger_profiles.xla import xplane
from perfledger_profiles.xla.xplane import read_xplane

# Two operations of 40 and 20 us on the device's clock, which is 7 us behind the host's. The
# translation to the host's clock has bent the second one.
TEXT = """
planes {
  name: "/device:TPU:0"
  event_metadata { key: 1 value { id: 1 name: "%dot = f32[8]{0} dot(f32[8]{0} %a)" } }
  event_metadata { key: 2 value { id: 2 name: "%tanh = f32[8]{0} tanh(f32[8]{0} %dot)" } }
  stat_metadata { key: 1 value { id: 1 name: "device_offset_ps" } }
  stat_metadata { key: 2 value { id: 2 name: "device_duration_ps" } }
  lines {
    name: "XLA Ops"
    timestamp_ns: 1000
    events {
      metadata_id: 1 offset_ps: 6000000 duration_ps: 40000000
      stats { metadata_id: 1 uint64_value: 0 }
      stats { metadata_id: 2 uint64_value: 40000000 }
    }
    events {
      metadata_id: 2 offset_ps: 90000000 duration_ps: 0
      stats { metadata_id: 1 uint64_value: 40000000 }
      stats { metadata_id: 2 uint64_value: 20000000 }
    }
    events {
      metadata_id: 1 offset_ps: 66000000 duration_ps: 10000000
      stats { metadata_id: 1 uint64_value: 60000000 }
      stats { metadata_id: 2 uint64_value: 10000000 }
    }
  }
}
planes {
  name: "/host:CPU"
  event_metadata { key: 1 value { id: 1 name: "step" } }
  event_metadata { key: 2 value { id: 2 name: "broken" } }
  stat_metadata { key: 1 value { id: 1 name: "step_num" } }
  stat_metadata { key: 2 value { id: 2 name: "secret" } }
  lines {
    name: "python"
    timestamp_ns: 0
    events {
      metadata_id: 1 offset_ps: 0 duration_ps: 100000000
      stats { metadata_id: 1 int64_value: 4 }
      stats { metadata_id: 2 str_value: "host.lab" }
    }
    events { metadata_id: 2 offset_ps: -5000000 duration_ps: 1000000 }
  }
}
"""
PLANE_STATS = """planes {
  stat_metadata { key: 9 value { id: 9 name: "device_type_string" } }
  stats { metadata_id: 9 str_value: "TPU v4" }
"""


@pytest.fixture
def serialize():
    profiler = importlib.import_module("jax.profiler")
    return profiler.ProfileData.text_proto_to_serialized_xspace


def read(path):
    return read_xplane(path, workload="m:f", side=Side.BASE)


@pytest.mark.slow
def test_the_devices_own_clock_is_moved_onto_the_hosts(serialize, tmp_path, micros):
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(serialize(TEXT))

    profile = read(path)

    assert micros(profile) == {"dot": 50.0, "tanh": 20.0, OUTSIDE_OPERATIONS: 30.0}
    assert (profile.steps, profile.dropped_events) == (1, 1)
    assert profile.reading("events") == 5
    assert {operation.bucket for operation in profile.operations} == {
        Bucket.COMPUTE,
        Bucket.OTHER,
    }
    assert "host.lab" not in repr(profile)


# Reads a file whose planes and events both have stats.
READER = """
import sys
from pathlib import Path
from perfledger.records import Side
from perfledger_profiles.xla.xplane import read_xplane
profile = read_xplane(Path(sys.argv[1]), workload="m:f", side=Side.BASE)
print(profile.device.name, profile.steps)
"""


@pytest.mark.slow(ci_only=True)
def test_a_process_whose_warnings_are_errors_reads_one_too(serialize, tmp_path):
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(serialize(TEXT.replace("planes {", PLANE_STATS, 1)))

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", READER, path],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.returncode) == ("TPU v4 1\n", 0), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("data", [b"hello world", b"\x0a\xff\xff\xff\xff\x0f"])
def test_what_is_not_an_xplane_is_an_error_that_names_the_file(tmp_path, data):
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(data)

    with pytest.raises(ProfileError, match=r"vm\.xplane\.pb is not an XLA profile"):
        read(path)


@pytest.mark.slow
def test_an_xplane_that_is_cut_off_is_an_error(serialize, tmp_path):
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(serialize(TEXT)[:200])

    with pytest.raises(ProfileError, match="or it is cut off"):
        read(path)


@pytest.mark.slow
def test_of_an_xplane_that_is_cut_off_the_whole_planes_are_read(serialize, tmp_path, micros):
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(serialize(TEXT)[:-20])

    profile = read(path)

    assert micros(profile) == {"dot": 50.0, "tanh": 20.0}
    assert profile.dropped_events == 1
    assert xplane.CUT_OFF in profile.notes


@pytest.mark.slow
def test_an_xplane_of_which_no_whole_plane_has_an_event_is_an_error(serialize, tmp_path):
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(serialize('planes { name: "Task Environment" }' + TEXT)[:200])

    with pytest.raises(ProfileError, match="is cut off before its first usable event"):
        read(path)


@pytest.mark.slow
def test_an_empty_file_has_no_step(tmp_path):
    path = tmp_path / "vm.xplane.pb"
    path.touch()

    with pytest.raises(ProfileError, match="no step with a length"):
        read(path)


@pytest.mark.slow
def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with pytest.raises(ProfileError, match=r"gone\.pb cannot be read: No such file"):
        read(tmp_path / "gone.pb")


@pytest.mark.slow
def test_a_file_above_the_limit_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(xplane, "MAX_FILE_BYTES", 10)
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(b"x" * 11)

    with pytest.raises(ProfileError, match="larger than 10 bytes: profile fewer steps"):
        read(path)


def test_without_jax_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax.profiler", None)

    with pytest.raises(ProfileError, match=r"needs jax: pip install 'perfledger\[jax\]'"):
        read(tmp_path / "vm.xplane.pb")


FACTS = """
planes {
  name: "/device:TPU:0"
  event_metadata { key: 1 value {
    id: 1 name: "%add = f32[8]{0} add(f32[8]{0} %a)"
    stats { metadata_id: 1 int64_value: 128 } stats { metadata_id: 2 int64_value: 1024 }
    stats { metadata_id: 3 str_value: "loop fusion" } } }
  stat_metadata { key: 1 value { id: 1 name: "flops" } }
  stat_metadata { key: 2 value { id: 2 name: "bytes_accessed" } }
  stat_metadata { key: 3 value { id: 3 name: "hlo_category" } }
  stat_metadata { key: 4 value { id: 4 name: "device_type_string" } }
  stats { metadata_id: 4 str_value: "TPU v6 Lite" }
  lines { name: "XLA Ops" timestamp_ns: 1000
    events { metadata_id: 1 offset_ps: 0 duration_ps: 40000000 } }
  lines { name: "XLA TraceMe" timestamp_ns: 1000
    events { metadata_id: 1 offset_ps: -90000000000 duration_ps: 1 } }
}
planes {
  name: "/host:CPU"
  event_metadata { key: 1 value { id: 1 name: "$train.py:7 step" } }
  event_metadata { key: 2 value { id: 2 name: "MapDmaBuffer" } }
  lines { name: "python" timestamp_ns: 0
    events { metadata_id: 1 offset_ps: 0 duration_ps: 100000000 } }
  lines { name: "worker" timestamp_ns: 0
    events { metadata_id: 2 offset_ps: 0 duration_ps: 100000000 } }
}
"""


@pytest.mark.slow
def test_what_is_written_once_for_all_events_of_a_name_is_read(serialize, tmp_path):
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(serialize(FACTS))

    profile = read(path)

    (kernel,) = profile.kernels
    assert (kernel.name, kernel.flops, kernel.bytes) == ("add", 128.0, 1024.0)
    assert profile.device is not None
    assert profile.device.name == "TPU v6 Lite"
    assert profile.dropped_events == 0
    assert "train.py" not in repr(profile)
