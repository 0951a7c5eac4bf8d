"""What XLA's counts of a JAX step leave out, by the real JAX on the CPU."""

import importlib

import numpy
import pytest

from perfledger import step_work

SIZE = 64


def values(result):
    return {count.name: count.value for count in result.counts}


def incomplete(result):
    return {count.name for count in result.counts if not count.is_complete}


@pytest.mark.slow
def test_a_callback_is_a_limit(jax, count):
    x = jax.numpy.ones(4)
    call = jax.jit(lambda a: jax.pure_callback(lambda b: b, a, a))

    found_count = count(lambda: call(x))

    assert found_count.limits == (
        "the work of pure_callback is not counted, because XLA cannot analyse it",
    )
    # XLA gives no FLOPs and bytes of it at all.
    assert incomplete(found_count) == {step_work.TRANSCENDENTALS}


@pytest.mark.slow(ci_only=True)
def test_a_call_of_a_library_is_a_limit(jax, count):
    x = jax.numpy.eye(SIZE)
    factorize = jax.jit(lambda a: jax.numpy.linalg.cholesky(a) @ a)

    found_count = count(lambda: factorize(x))

    (limit,) = found_count.limits
    assert limit.startswith("the work of the custom call lapack_spotrf_ffi is not counted")
    assert values(found_count)[step_work.FLOPS] >= 2 * SIZE**3
    assert incomplete(found_count) == {step_work.FLOPS, step_work.TRANSCENDENTALS, step_work.BYTES}


@pytest.mark.slow(ci_only=True)
def test_a_kernel_of_pallas_is_a_limit(jax, count):
    pallas = importlib.import_module("jax.experimental.pallas")
    shape = jax.ShapeDtypeStruct((8, 128), "float32")

    def double(source, target):
        target[...] = source[...] * 2

    call = jax.jit(pallas.pallas_call(double, out_shape=shape, interpret=True))
    x = jax.numpy.ones(shape.shape)

    found_count = count(lambda: call(x))

    assert (
        "the work of pallas_call is not counted, because XLA cannot analyse it"
        in found_count.limits
    )
    assert step_work.FLOPS in incomplete(found_count)


@pytest.mark.slow(ci_only=True)
def test_random_numbers_and_annotations_keep_a_count_complete(jax, count):
    here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    draw = jax.jit(lambda key, a: jax.random.normal(key, (SIZE, SIZE)) @ jax.device_put(a, here))
    key, x = jax.random.key(0), jax.numpy.ones((SIZE, SIZE))

    found_count = count(lambda: draw(key, x))

    assert incomplete(found_count) == set(), found_count.limits


@pytest.mark.slow
def test_a_loop_whose_end_is_not_known_is_a_limit(jax, count):
    x = jax.numpy.ones((SIZE, SIZE))
    halve = jax.jit(lambda a: jax.lax.while_loop(lambda b: b.sum() > 1, lambda b: b @ b / 1e6, a))

    found_count = count(lambda: halve(x))

    assert found_count.limits == (
        "a loop without a fixed number of iterations is counted as one iteration",
    )
    assert values(found_count)[step_work.FLOPS] >= 2 * SIZE**3
    assert incomplete(found_count) == {step_work.FLOPS, step_work.TRANSCENDENTALS, step_work.BYTES}


def foreign(found_count):
    return [limit for limit in found_count.limits if limit.startswith("the work of libraries")]


@pytest.mark.slow
def test_counts_of_a_step_that_also_computes_with_numpy_are_lower_bounds(jax, count):
    x, large = jax.numpy.ones((SIZE, SIZE)), numpy.ones((SIZE, SIZE))
    product = jax.jit(lambda a: a @ a)

    found_count = count(lambda: (product(x), large @ large))

    assert foreign(found_count) == [
        "the work of libraries whose arrays the step uses beside JAX's is not counted: numpy"
    ]
    assert values(found_count)[step_work.FLOPS] >= 2 * SIZE**3
    assert incomplete(found_count) >= {step_work.FLOPS, step_work.BYTES, step_work.PROGRAMS}
    # An equal program would mean equal work.
    assert found_count.program == ""


@pytest.mark.slow(ci_only=True)
def test_numpy_inside_a_jax_function_that_is_not_compiled_is_seen(jax, count):
    x = jax.numpy.ones((SIZE, SIZE))

    def part(a):
        return a + numpy.ones((SIZE, SIZE)).sum()

    assert foreign(count(lambda: jax.tree.map(part, [x])))
    assert foreign(count(lambda: jax.vmap(part)(jax.numpy.ones((2, SIZE, SIZE)))))


@pytest.mark.slow
def test_numpy_that_only_makes_a_programs_constants_is_no_work_of_its_steps(jax, count):
    x = jax.numpy.ones((SIZE, SIZE))

    @jax.jit
    def product(a):
        table = numpy.arange(SIZE * SIZE, dtype="float32").reshape(SIZE, SIZE)
        return a @ a + numpy.sin(table)

    found_count = count(lambda: product(x))

    assert foreign(found_count) == []
    assert found_count.program


@pytest.mark.slow
def test_a_variable_of_a_library_that_computes_with_jax_is_not_foreign(jax, count):
    class Variable:
        """As Keras's."""

        dtype = "float32"
        shape = (SIZE, SIZE)

        def __init__(self, value):
            self.value = value

        def __jax_array__(self):
            return self.value

    def square(variable):
        matrix = jax.numpy.asarray(variable)
        return matrix @ matrix

    variable = Variable(jax.numpy.ones((SIZE, SIZE)))
    found_count = count(lambda: square(variable))

    assert (found_count.limits, values(found_count)[step_work.FLOPS] >= 2 * SIZE**3) == ((), True)


@pytest.mark.slow(ci_only=True)
def test_jaxs_own_arrays_and_functions_are_not_foreign(jax, count):
    numbers = jax.numpy
    x, key = numbers.ones((SIZE, SIZE)), jax.random.key(0)

    def loss(a):
        return (numbers.linspace(0, 1, 2000).sum() + jax.nn.softmax(a @ x)).sum()

    def step():
        value, slope = jax.value_and_grad(loss)(x)
        rows = jax.lax.scan(lambda total, row: (total + row, row), x[0], x)
        return value, slope, rows, jax.random.normal(key, (2000,)), numbers.asarray([1.0] * 2000)

    assert foreign(count(step)) == []
