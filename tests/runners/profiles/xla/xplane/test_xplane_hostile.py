"""Damaged xplanes, read in children with a time limit: ProfileData is C++ and may take us along."""

import json
import random
import subprocess
import sys

import pytest

from tests.suite.tries import tries

pytestmark = pytest.mark.slow

SEED = 20261121
FILES = tries(1000)  # of each text, damaged
# Reads damaged files of each text; every answer is a profile or our own error.
READER = """
import importlib, json, random, sys
from pathlib import Path
from perfledger.records import Side
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.xla.xplane import read_xplane

seed, folder, files = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
serialize = importlib.import_module("jax.profiler").ProfileData.text_proto_to_serialized_xspace
path = folder / "vm.xplane.pb"

def damaged(whole):
    data = bytearray(whole)
    match draw.randrange(4):
        case 0:
            return bytes(data[: draw.randrange(len(data))])
        case 1:
            for _ in range(draw.randrange(1, 9)):
                data[draw.randrange(len(data))] = draw.randrange(256)
        case 2:
            start = draw.randrange(len(data))
            del data[start : start + draw.randrange(1, 40)]
        case _:
            start = draw.randrange(len(data))
            data[start:start] = data[draw.randrange(len(data)) :][: draw.randrange(1, 200)]
    return bytes(data)

def is_read(data):
    path.write_bytes(data)
    try:
        profile = read_xplane(path, workload="m:f", side=Side.BASE)
    except ProfileError:
        return False
    assert profile.step_seconds > 0
    rest = sum(o.seconds for o in profile.operations) / profile.step_seconds - 1
    assert abs(rest) < 1e-9, rest
    assert all(step.seconds >= 0 for step in profile.each_step)
    return True

for text in json.load(sys.stdin):
    whole = serialize(text)
    print(sum(is_read(damaged(whole)) for _ in range(files)))
"""

PLANE = """
planes {{
  name: "{name}"
  event_metadata {{ key: 1 value {{
    id: 1 name: "{operation}"
    stats {{ metadata_id: 1 int64_value: 128 }} stats {{ metadata_id: 2 str_value: "fusion" }} }} }}
  event_metadata {{ key: 2 value {{ id: 2 name: "jit_f(7)" }} }}
  stat_metadata {{ key: 1 value {{ id: 1 name: "flops" }} }}
  stat_metadata {{ key: 2 value {{ id: 2 name: "hlo_category" }} }}
  stat_metadata {{ key: 3 value {{ id: 3 name: "device_offset_ps" }} }}
  stat_metadata {{ key: 4 value {{ id: 4 name: "device_duration_ps" }} }}
  stat_metadata {{ key: 5 value {{ id: 5 name: "kernel_details" }} }}
  stat_metadata {{ key: 6 value {{ id: 6 name: "peak_teraflops_per_second" }} }}
  stats {{ metadata_id: 6 double_value: 918 }}
  lines {{ name: "{line}" timestamp_ns: 1000
    events {{ metadata_id: 1 offset_ps: 0 duration_ps: 40000000
      stats {{ metadata_id: 3 uint64_value: 0 }} stats {{ metadata_id: 4 uint64_value: 40000000 }}
      stats {{ metadata_id: 5 str_value: "regs:9 grid:4,1,1 block:128,1,1" }} }}
    events {{ metadata_id: 1 offset_ps: 90000000 duration_ps: 9000000 }} }}
  lines {{ name: "XLA Modules" timestamp_ns: 1000
    events {{ metadata_id: 2 offset_ps: 0 duration_ps: 99000000 }} }}
}}
"""
HOST = """
planes {
  name: "/host:CPU"
  event_metadata { key: 1 value { id: 1 name: "step" } }
  event_metadata { key: 2 value { id: 2 name: "PjitFunction(f)" } }
  stat_metadata { key: 1 value { id: 1 name: "step_num" } }
  lines { name: "python" timestamp_ns: 1000
    events { metadata_id: 1 offset_ps: 0 duration_ps: 100000000
      stats { metadata_id: 1 int64_value: 4 } }
    events { metadata_id: 2 offset_ps: 1000000 duration_ps: 9000000 } }
}
"""
TPU = PLANE.format(name="/device:TPU:0", operation="%add = f32[8]{0} add(%p)", line="XLA Ops")
GPU = PLANE.format(name="/device:GPU:0", operation="gemm", line="Stream #13(Compute)")


@pytest.mark.slow(ci_only=True)
def test_a_damaged_file_is_read_or_refused_and_ends_nothing(tmp_path):
    texts = [TPU + HOST, GPU + HOST, TPU]
    seed = random.Random(SEED).randrange(2**32)

    done = subprocess.run(
        [sys.executable, "-c", READER, str(seed), str(tmp_path), str(FILES)],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )

    assert done.returncode == 0, done.stderr[-2000:]
    read = list(map(int, done.stdout.split()))
    assert len(read) == len(texts)
    assert all(0 < each < FILES for each in read)
