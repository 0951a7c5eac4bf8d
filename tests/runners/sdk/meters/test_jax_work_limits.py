"""What XLA's counts of a JAX step leave out, by the real JAX on the CPU."""

import importlib

import pytest

from perfledger import step_work
from perfledger.meters.jax_work import count_jax_work

SIZE = 64


@pytest.fixture(scope="module")
def jax():
    return importlib.import_module("jax")


@pytest.fixture(scope="module")
def count(jax):
    core = importlib.import_module("jax.extend.core")
    return lambda step: count_jax_work(jax, core, step)


def values(found):
    return {count.name: count.value for count in found.counts}


def incomplete(found):
    return {count.name for count in found.counts if not count.is_complete}


@pytest.mark.slow
def test_a_callback_is_a_limit(jax, count):
    x = jax.numpy.ones(4)
    call = jax.jit(lambda a: jax.pure_callback(lambda b: b, a, a))

    found = count(lambda: call(x))

    assert found.limits == (
        "the work of pure_callback is not counted, because XLA cannot analyse it",
    )
    # XLA gives no FLOPs and bytes of it at all.
    assert incomplete(found) == {step_work.TRANSCENDENTALS}


@pytest.mark.slow(ci_only=True)
def test_a_call_of_a_library_is_a_limit(jax, count):
    x = jax.numpy.eye(SIZE)
    factorize = jax.jit(lambda a: jax.numpy.linalg.cholesky(a) @ a)

    found = count(lambda: factorize(x))

    (limit,) = found.limits
    assert limit.startswith("the work of the custom call lapack_spotrf_ffi is not counted")
    assert values(found)[step_work.FLOPS] >= 2 * SIZE**3
    assert incomplete(found) == {step_work.FLOPS, step_work.TRANSCENDENTALS, step_work.BYTES}


@pytest.mark.slow(ci_only=True)
def test_a_kernel_of_pallas_is_a_limit(jax, count):
    pallas = importlib.import_module("jax.experimental.pallas")
    shape = jax.ShapeDtypeStruct((8, 128), "float32")

    def double(source, target):
        target[...] = source[...] * 2

    call = jax.jit(pallas.pallas_call(double, out_shape=shape, interpret=True))
    x = jax.numpy.ones(shape.shape)

    found = count(lambda: call(x))

    assert "the work of pallas_call is not counted, because XLA cannot analyse it" in found.limits
    assert step_work.FLOPS in incomplete(found)


@pytest.mark.slow(ci_only=True)
def test_random_numbers_and_annotations_keep_a_count_complete(jax, count):
    here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    draw = jax.jit(lambda key, a: jax.random.normal(key, (SIZE, SIZE)) @ jax.device_put(a, here))
    key, x = jax.random.key(0), jax.numpy.ones((SIZE, SIZE))

    found = count(lambda: draw(key, x))

    assert incomplete(found) == set(), found.limits


@pytest.mark.slow
def test_a_loop_whose_end_is_not_known_is_a_limit(jax, count):
    x = jax.numpy.ones((SIZE, SIZE))
    halve = jax.jit(lambda a: jax.lax.while_loop(lambda b: b.sum() > 1, lambda b: b @ b / 1e6, a))

    found = count(lambda: halve(x))

    assert found.limits == (
        "a loop without a fixed number of iterations is counted as one iteration",
    )
    assert values(found)[step_work.FLOPS] >= 2 * SIZE**3
    assert incomplete(found) == {step_work.FLOPS, step_work.TRANSCENDENTALS, step_work.BYTES}
