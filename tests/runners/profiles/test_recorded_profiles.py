"""Profiles that torch and jax really record, with a planted operation that must be found."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from perfledger.profile import Bucket
from perfledger.records import Side
from perfledger_profiles.diff.matching import is_attention_part, is_fused_attention, match
from perfledger_profiles.torch_profiler.kineto import read_kineto
from perfledger_profiles.xla.xplane import read_xplane

pytestmark = pytest.mark.slow

TORCH = """
import sys
import torch
from torch.profiler import ProfilerActivity, profile, schedule

torch.manual_seed(0)
torch.set_num_threads(1)
x = torch.randn(2, 4, 96, 64, requires_grad=True)
w = torch.randn(900, 900)
folder = sys.argv[1]

def matmul():
    torch.tanh(w @ w).sum()

def fused():
    torch.nn.functional.scaled_dot_product_attention(x, x, x).sum().backward()

def parts():
    (torch.softmax(x @ x.transpose(-2, -1) / 8, -1) @ x).sum().backward()

for step in (matmul, fused, parts):
    plan = schedule(wait=1, warmup=2, active=5, repeat=1)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, record_shapes=True) as profiler:
        for _ in range(8):
            step()
            profiler.step()
    profiler.export_chrome_trace(f"{folder}/{step.__name__}.json.gz")
"""

JAX = """
import sys
import jax
import jax.numpy as jnp

folder = sys.argv[1]
w = jax.random.normal(jax.random.key(0), (700, 700))

def model(w):
    return jnp.tanh(w @ w).sum()

jitted = jax.jit(model)

def once():
    jitted(w).block_until_ready()

def rejit():
    jax.jit(lambda w: model(w))(w).block_until_ready()

for step in (once, rejit):
    step()
    with jax.profiler.trace(f"{folder}/{step.__name__}"):
        for number in range(4):
            with jax.profiler.StepTraceAnnotation("step", step_num=number):
                step()
"""


PLANTED = ("torch: recompiling", "torch: slower data set", "jax: jit in every step")


def record(script, folder):
    subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        check=True,
        capture_output=True,
        timeout=3600,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )
    return folder


@pytest.fixture(scope="module")
def torch_profiles(tmp_path_factory):
    """The profiles of three steps, recorded by one process."""
    folder = record(TORCH, tmp_path_factory.mktemp("torch"))
    return {
        path.name.partition(".")[0]: read_kineto(path.read_bytes(), workload="m:f", side=Side.BASE)
        for path in folder.iterdir()
    }


@pytest.fixture(scope="module")
def jax_profiles(tmp_path_factory):
    """The profiles of two steps, recorded by one process."""
    folder = record(JAX, tmp_path_factory.mktemp("jax"))
    return {
        path.relative_to(folder).parts[0]: read_xplane(path, workload="m:f", side=Side.BASE)
        for path in folder.glob("*/plugins/profile/*/*.xplane.pb")
    }


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_torchs_matmul_is_most_of_a_step_of_matmul(torch_profiles):
    profile = torch_profiles["matmul"]

    longest = profile.operations[0]
    assert (longest.name, longest.bucket, longest.count) == ("aten::mm", Bucket.COMPUTE, 1.0)
    assert longest.seconds > 0.5 * profile.step_seconds
    assert longest.shapes == "float[900,900] float[900,900]"
    assert longest.path == "aten::matmul"
    assert sum(o.seconds for o in profile.operations) == pytest.approx(
        profile.step_seconds, abs=1e-9
    )
    assert profile.steps >= 1
    assert profile.dropped_events == 0


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_torchs_fused_attention_is_matched_with_its_parts(torch_profiles):
    base, head = torch_profiles["fused"], torch_profiles["parts"]

    (change,) = [
        change
        for change in match(base.operations, head.operations)
        if any(is_fused_attention(operation) for operation in change.base)
    ]

    assert any("flash" in operation.name for operation in change.base)
    assert {"aten::bmm", "aten::_softmax"} <= {operation.name for operation in change.head}
    assert all(
        is_attention_part(operation) or operation.shapes.startswith("float[2,4,96,96]")
        for operation in change.head
    )


@pytest.mark.slow(ci_only=True)
def test_jaxs_matmul_is_found_in_a_compiled_step(jax_profiles):
    profile = jax_profiles["once"]

    compute = [o for o in profile.operations if o.bucket is Bucket.COMPUTE]
    assert compute
    assert {o.path for o in compute} == {"jit_model"}
    assert sum(o.seconds for o in compute) > 0.3 * profile.step_seconds
    assert not [o for o in profile.operations if o.name.startswith("(compiling)")]
    assert sum(o.seconds for o in profile.operations) == pytest.approx(
        profile.step_seconds, abs=1e-9
    )


@pytest.mark.slow(ci_only=True)
def test_compiling_in_every_step_is_found(jax_profiles):
    profile = jax_profiles["rejit"]

    operations = {o.name: o for o in profile.operations}
    compiling = operations["(compiling) <lambda>"]
    assert (compiling.bucket, compiling.count) == (Bucket.RUNTIME, 1.0)
    assert compiling.seconds > 0.05 * profile.step_seconds
    assert operations["(tracing) <lambda>"].count == 1.0


@pytest.fixture(scope="module")
def planted_rows(tmp_path_factory):
    """The benchmark's row of each planted change."""
    benchmark = Path(__file__).parents[3] / "benchmarks" / "profiles" / "planted_causes.py"
    kinds = [kind for kind in PLANTED if find_spec(kind.partition(":")[0]) is not None]
    done = subprocess.run(
        [
            *(sys.executable, str(benchmark), "--kinds", *kinds),
            *("--keep", str(tmp_path_factory.mktemp("planted"))),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=3600,
    )
    cells = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()]
    rows = {row[0]: row for row in cells}
    assert rows.keys() >= set(kinds), done.stdout + done.stderr
    return {kind: rows[kind] for kind in kinds}


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.torch if kind.startswith("torch") else ())
        for kind in PLANTED
    ],
)
def test_a_planted_change_that_was_recorded_is_the_first_cause_or_said_to_be_lost_in_noise(
    kind, planted_rows
):
    base_ms, head_ms, first, is_right, _, note = planted_rows[kind][1:7]

    is_noisy = first == "nothing" and "two profiles of the same code" in note
    assert is_right == "yes" or is_noisy, (first, note)
    assert float(head_ms) > float(base_ms)


@pytest.mark.slow(ci_only=True)
def test_noise_hides_no_change_that_is_counted(planted_rows):
    counted = [row[4] for kind, row in planted_rows.items() if kind != "torch: slower data set"]

    assert counted == ["yes"] * len(counted)
