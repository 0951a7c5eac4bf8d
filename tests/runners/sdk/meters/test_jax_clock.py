"""JAX's clock and meter, on a fake device that keeps a script and on the real JAX's CPU."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from perfledger.meters.jax_clock import (
    RETURN_ARRAYS,
    JaxClock,
    JaxMeter,
    jax_facts,
)
from perfledger.protocol import Command
from perfledger.records import Device


class FakeArray:
    """An array that is not ready before somebody waits for it."""

    is_ready = False
    sharding = SimpleNamespace(device_set={0})

    def __array__(self):
        raise NotImplementedError


class FakeDevice:
    """A device, which is equal to no other one."""

    def __init__(self, **values):
        self.__dict__.update(values)


class FakeJax:
    """A JAX with one platform besides the CPU."""

    __version__ = "0.10.2"

    def __init__(self, *, platform="tpu", peaks=()):
        peaks = iter(peaks)
        self.platform = platform
        self.entered = []
        self.device = FakeDevice(
            platform=platform, device_kind="TPU v4", memory_stats=lambda: next(peaks)
        )
        self.tree_util = SimpleNamespace(tree_leaves=self._leaves)

    @staticmethod
    def _leaves(tree):
        if isinstance(tree, tuple):
            return [leaf for each in tree for leaf in FakeJax._leaves(each)]
        return [] if tree is None else [tree]

    def block_until_ready(self, tree):
        for leaf in self._leaves(tree):
            leaf.is_ready = True
        return tree

    def default_backend(self):
        return self.platform

    def local_devices(self, backend=None):
        return self.devices(backend)

    def devices(self, platform=None):
        if platform in {None, self.platform, "cpu"}:
            kind = self.platform if platform is None else platform
            return [self.device if kind == self.platform else FakeDevice(platform="cpu")]
        msg = f"Unknown backend {platform}"
        raise RuntimeError(msg)

    def default_device(self, device):
        self.entered.append(device)
        return nullcontext()


class Box:
    """Something of the user's that holds an array where JAX does not see it."""


def test_the_step_ends_when_its_arrays_are_ready():
    array = FakeArray()

    assert JaxClock(FakeJax()).time(lambda: (array,)) > 0
    assert array.is_ready


@pytest.mark.parametrize("result", [None, (), Box()])
def test_a_step_that_returns_nothing_to_wait_for_is_an_error(result):
    with pytest.raises(TypeError, match=RETURN_ARRAYS):
        JaxClock(FakeJax()).time(lambda: result)


def test_a_number_has_been_waited_for():
    class Number(float):
        pass

    assert JaxClock(FakeJax()).time(lambda: Number(3.0)) > 0


def test_only_the_first_step_is_looked_at():
    results = iter([FakeArray(), None])
    clock = JaxClock(FakeJax())
    clock.time(lambda: next(results))

    assert clock.time(lambda: next(results)) > 0


def test_before_the_first_step_it_is_one_device():
    meter = JaxMeter(FakeJax(), Device.TPU)

    assert (meter.devices(), meter.device_places()) == (1, ())


class ThreeDevices(FakeJax):
    """A JAX with three devices."""

    def devices(self, platform=None):
        return [*super().devices(platform), "second", "third"]


@pytest.mark.parametrize(
    ("arrays", "places"),
    [
        (({"first"}, {"first", "third"}, {"first"}), (0, 2)),
        (({"first"}, {"third"}), (0, 2)),  # none is sharded
        (({"third"}, {"a host's"}), (2,)),
        ((), ()),
    ],
)
def test_a_step_computes_on_the_devices_that_its_arrays_lie_on(arrays, places):
    jax = ThreeDevices()
    meter = JaxMeter(jax, Device.TPU)
    leaves = [FakeArray() for _ in arrays]
    for leaf, names in zip(leaves, arrays, strict=True):
        devices = {jax.device if name == "first" else name for name in names}
        leaf.sharding = SimpleNamespace(device_set=devices)
    meter.clock.time(lambda: (*leaves, FakeArray()))

    assert meter.device_places() == places
    assert meter.devices() == max(1, len(places))


def peak(number):
    return {"peak_bytes_in_use": number}


@pytest.mark.parametrize(
    ("peaks", "expected"),
    [
        pytest.param([peak(0), peak(500)], 500.0, id="the first workload"),
        pytest.param([peak(400), peak(500)], 500.0, id="above what was before"),
        pytest.param([peak(500), peak(500)], None, id="below what was before: unknown"),
    ],
)
def test_a_devices_peak_is_known_when_it_is_a_new_one(peaks, expected):
    meter = JaxMeter(FakeJax(peaks=peaks), Device.TPU)
    meter.reset_peak()

    assert meter.peak_bytes() == expected


@pytest.mark.parametrize("stats", [None, {}])
def test_without_the_devices_account_the_process_tells(stats):
    meter = JaxMeter(FakeJax(peaks=[stats, stats]), Device.TPU)
    meter.reset_peak()
    bytes_held = meter.peak_bytes()

    assert bytes_held is not None
    assert bytes_held > 1_000_000


def test_only_a_device_that_is_not_the_default_is_made_so():
    jax = FakeJax()
    with JaxMeter(jax, Device.TPU).device_context():
        assert jax.entered == []
    with JaxMeter(jax, Device.CPU).device_context():
        assert [device.platform for device in jax.entered] == ["cpu"]


def test_the_facts_are_those_of_the_default_backend():
    assert jax_facts(FakeJax()) == {
        "platform": "tpu",
        "device_kind": "TPU v4",
        "device_count": 1,
    }


WORKLOADS = """
import jax
import jax.numpy as jnp
import perfledger

@jax.jit
def multiply(x):
    return x @ x

@perfledger.workload()
def python_step():
    x = jnp.ones((8, 8))
    return lambda: multiply(x)

@perfledger.workload()
def jitted_step():
    x = jnp.ones((8, 8))
    return jax.jit(lambda: x @ x)

@perfledger.workload()
def forgetful():
    x = jnp.ones((8, 8))
    def step():
        multiply(x)
    return step
"""


@pytest.fixture(scope="module")
def measured_jax(tmp_path_factory, run_child):
    root = tmp_path_factory.mktemp("jax-repository")
    (root / "benchmarks").mkdir()
    (root / "benchmarks/mul.py").write_text(WORKLOADS)
    return (
        run_child(root, Command.MEASURE),
        run_child(root, Command.PROFILE, trace_folder=str(root / "traces")),
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jitted_step", "python_step"])
def test_a_real_step_is_measured(measured_jax, name):
    samples = measured_jax[0].about(f"benchmarks.mul:{name}")["samples"]

    assert set(samples) - {"cpu_time"} == {"step_time_p50", "cpu_active", "peak_memory"}
    assert min(samples["step_time_p50"]) > 0


@pytest.mark.slow
def test_a_real_step_that_forgets_to_return_fails(measured_jax):
    failed = measured_jax[0].about("benchmarks.mul:forgetful")

    assert (failed["event"], failed["reason"]) == ("failed", "raised")
    assert RETURN_ARRAYS in failed["detail"]


@pytest.mark.slow
def test_a_real_profiled_pass_is_an_xplane_file(measured_jax):
    profile = measured_jax[1].about("benchmarks.mul:python_step")

    assert profile["trace"].endswith(".xplane.pb")
    assert Path(profile["trace"]).stat().st_size > 1_000
    assert profile["tool"] == "jax.profiler"
    assert 4 <= profile["steps"] <= 24


@pytest.mark.slow
def test_the_facts_name_the_platform(tmp_path, run_child):
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks/mul.py").write_text(WORKLOADS)

    (facts,) = run_child(tmp_path, Command.LIST).of("facts")

    assert set(facts["device"]) == {"platform", "device_kind", "device_count"}
    assert "jax" in facts["frameworks"]


@pytest.mark.tpu
@pytest.mark.slow
def test_a_real_tpu_step_is_measured_on_the_device(write, send_command):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "tpu":
        pytest.skip("needs a TPU")

    answer = send_command(write({"benchmarks/mul.py": WORKLOADS}), Command.MEASURE, device="tpu")

    samples = answer.about("benchmarks.mul:jitted_step")["samples"]
    assert min(samples["step_time_p50"]) > 0
    assert samples["peak_memory"][0] > 0
    assert "cpu_active" not in samples
