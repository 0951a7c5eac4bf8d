"""jax.jit: flags, donated inputs, and what makes jit do nothing."""

from types import SimpleNamespace

import numpy as np
import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.registration.variant_name import parse_variant
from perfledger.variants.jax_jit import jitted_step, xla_flags
from perfledger.variants.transformed_step import FunctionCall

jax = pytest.importorskip("jax")
FAST_MATH = "jit:xla_cpu_enable_fast_math=True"


class FakeJax:
    """JAX as far as donating needs it: it compiles nothing and takes nothing."""

    config = SimpleNamespace(jax_disable_jit=False)
    numpy = SimpleNamespace(shape=lambda leaf: leaf.shape, result_type=lambda leaf: leaf.dtype)
    tree_util = SimpleNamespace(
        tree_leaves=lambda state: [state],
        tree_flatten=lambda state: ([state], "leaf"),
        tree_map=lambda function, state: function(state),
    )
    Array = object

    def jit(self, function, donate_argnums):
        assert donate_argnums == (0,)
        return function

    def eval_shape(self, function, *inputs):
        return function(*inputs)


def step_of(name, function, *inputs):
    return jitted_step(jax, parse_variant(name), FunctionCall(function, inputs))


def array(value=1.0):
    return jax.numpy.full((2, 2), value)


def test_flags_have_the_types_of_their_values():
    options = ("donate", "xla_a=True", "xla_b=3", "xla_c=0.5", "xla_d=fast", "xla_e=false")

    flags = xla_flags(options)

    assert flags == {"xla_a": True, "xla_b": 3, "xla_c": 0.5, "xla_d": "fast", "xla_e": False}


@pytest.mark.parametrize("name", ["jit", FAST_MATH])
def test_a_jitted_step_returns_what_the_function_returns(name):
    step = step_of(name, lambda x: (x @ x).sum(), array())

    assert float(step.run()) == 8.0
    assert step.verify() == ()


def test_a_function_that_is_jitted_as_it_is_written_is_the_same_program():
    step = step_of("jit", jax.jit(lambda x: x + 1), array())

    (remark,) = step.verify()
    assert "jitted as written" in remark


@pytest.mark.parametrize("option", ["xla_no_such_flag=1", "xla_cpu_enable_fast_math=often"])
def test_a_flag_that_xla_refuses_is_not_available(option):
    with pytest.raises(UnmeasurableError, match=r"is refused .*xla_"):
        step_of(f"jit:{option}", lambda x: x, array())


def test_without_jit_nothing_is_that_variant():
    with jax.disable_jit(), pytest.raises(UnmeasurableError, match="jax_disable_jit is set"):
        step_of("jit", lambda x: x, array())


def test_a_donated_input_is_followed_by_its_successor():
    step = step_of("jit:donate", lambda state, x: (state + x, x.sum()), array(0.0), array())

    states = [float(step.run()[0][0, 0]) for _ in range(3)]

    assert states == [1.0, 2.0, 3.0]
    assert step.verify() == ()


def test_a_successor_may_be_returned_alone():
    step = step_of("jit:donate", lambda state: {"a": state["a"] * 2}, {"a": array()})

    step.run()

    assert float(step.run()["a"][0, 0]) == 4.0


def test_a_successor_that_is_a_tuple_may_be_returned_alone():
    step = step_of("jit:donate", lambda state: (state[0] + 1, state[1] * 2), (array(), array()))

    step.run()

    assert [float(each[0, 0]) for each in step.run()] == [3.0, 4.0]
    assert step.verify() == ()


def test_arrays_on_the_host_and_numbers_are_donated_as_arrays_of_jax():
    rows = np.ones((2, 2), np.float32)
    step = step_of(
        "jit:donate",
        lambda last: {"rows": last["rows"] * 2, "count": last["count"] + 1},
        {"rows": rows, "count": 0},
    )

    step.run()

    assert int(step.run()["count"]) == 2
    assert step.verify() == ()
    assert rows.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_arrays_that_an_earlier_set_up_gave_away_are_refused():
    shared = array()
    step_of("jit:donate", lambda state: state + 1, shared).run()

    with pytest.raises(UnmeasurableError, match="create it in the set-up"):
        step_of("jit:donate", lambda state: state + 1, shared)


@pytest.mark.parametrize(
    "function",
    [
        lambda state: state.sum(),
        lambda state: (state[0], state),
        lambda _: None,
        lambda _: (),
    ],
    ids=["another shape", "not the first", "nothing", "an empty tuple"],
)
def test_a_function_without_a_successor_gives_nothing_away(function):
    with pytest.raises(UnmeasurableError, match="returns the successor of its first input"):
        step_of("jit:donate", function, array())


def test_donating_needs_an_input():
    with pytest.raises(UnmeasurableError, match="successor"):
        step_of("jit:donate", lambda: 1)


class KeptArray:
    """An array that XLA did not take."""

    shape, dtype = (2, 2), "float32"

    def is_deleted(self):
        return False


def test_memory_that_xla_does_not_take_is_not_donated():
    kept_array = KeptArray()
    step = jitted_step(
        FakeJax(), parse_variant("jit:donate"), FunctionCall(lambda state: state, (kept_array,))
    )

    with pytest.raises(UnmeasurableError, match="gave nothing away"):
        step.verify()


class TakenArray(KeptArray):
    """An array that XLA takes when it runs."""

    is_taken = False

    def is_deleted(self):
        return self.is_taken


def test_memory_of_which_xla_takes_a_part_is_a_remark():
    fake, state = FakeJax(), (KeptArray(), TakenArray())
    fake.tree_util = SimpleNamespace(
        tree_leaves=list,
        tree_flatten=lambda leaves: (list(leaves), "pair"),
        tree_map=lambda function, leaves: tuple(map(function, leaves)),
    )
    step = jitted_step(fake, parse_variant("jit:donate"), FunctionCall(lambda last: last, (state,)))

    state[1].is_taken = True

    assert step.verify() == ("XLA did not use 1 of 2 donated arrays",)
