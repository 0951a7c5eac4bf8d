"""Profiles that torch and jax really record, with a planted operation that must be found."""

import os
import subprocess
import sys
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
mode, path = sys.argv[1:]

def attention():
    if mode == "parts":
        return torch.softmax(x @ x.transpose(-2, -1) / 8, -1) @ x
    return torch.nn.functional.scaled_dot_product_attention(x, x, x)

def step():
    if mode == "matmul":
        return torch.tanh(w @ w).sum()
    attention().sum().backward()

plan = schedule(wait=1, warmup=2, active=5, repeat=1)
with profile(activities=[ProfilerActivity.CPU], schedule=plan, record_shapes=True) as profiler:
    for _ in range(8):
        step()
        profiler.step()
profiler.export_chrome_trace(path)
"""

JAX = """
import sys
import jax
import jax.numpy as jnp

mode, folder = sys.argv[1:]
w = jax.random.normal(jax.random.key(0), (700, 700))

def model(w):
    return jnp.tanh(w @ w).sum()

jitted = jax.jit(model)

def step():
    run = jax.jit(lambda w: model(w)) if mode == "rejit" else jitted
    run(w).block_until_ready()

step()
with jax.profiler.trace(folder):
    for number in range(4):
        with jax.profiler.StepTraceAnnotation("step", step_num=number):
            step()
"""


def record(script, mode, target):
    subprocess.run(
        [sys.executable, "-c", script, mode, str(target)],
        check=True,
        capture_output=True,
        timeout=3600,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )


def torch_profile(mode, folder: Path):
    path = folder / f"{mode}.json.gz"
    record(TORCH, mode, path)
    return read_kineto(path.read_bytes(), workload="m:f", side=Side.BASE)


def jax_profile(mode, folder: Path):
    record(JAX, mode, folder)
    (path,) = folder.glob("plugins/profile/*/*.xplane.pb")
    return read_xplane(path, workload="m:f", side=Side.BASE)


@pytest.mark.torch
def test_torchs_matmul_is_most_of_a_step_of_matmul(tmp_path):
    profile = torch_profile("matmul", tmp_path)

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


@pytest.mark.torch
def test_torchs_fused_attention_is_matched_with_its_parts(tmp_path):
    base, head = torch_profile("fused", tmp_path), torch_profile("parts", tmp_path)

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


def test_jaxs_matmul_is_found_in_a_compiled_step(tmp_path):
    profile = jax_profile("once", tmp_path)

    compute = [o for o in profile.operations if o.bucket is Bucket.COMPUTE]
    assert compute
    assert {o.path for o in compute} == {"jit_model"}
    assert sum(o.seconds for o in compute) > 0.3 * profile.step_seconds
    assert not [o for o in profile.operations if o.name.startswith("(compiling)")]
    assert sum(o.seconds for o in profile.operations) == pytest.approx(
        profile.step_seconds, abs=1e-9
    )


def test_compiling_in_every_step_is_found(tmp_path):
    profile = jax_profile("rejit", tmp_path)

    found = {o.name: o for o in profile.operations}
    compiling = found["(compiling) <lambda>"]
    assert (compiling.bucket, compiling.count) == (Bucket.RUNTIME, 1.0)
    assert compiling.seconds > 0.05 * profile.step_seconds
    assert found["(tracing) <lambda>"].count == 1.0


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("torch: recompiling", marks=pytest.mark.torch),
        pytest.param("torch: slower data set", marks=pytest.mark.torch),
        "jax: jit in every step",
    ],
)
def test_a_planted_change_that_was_recorded_is_the_first_cause(kind, tmp_path):
    benchmark = Path(__file__).parents[3] / "benchmarks" / "planted_causes.py"

    done = subprocess.run(
        [sys.executable, str(benchmark), "--kinds", kind, "--keep", str(tmp_path)],
        check=False,
        capture_output=True,
        text=True,
        timeout=3600,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "the planted cause is first in 1 of 1" in done.stdout
