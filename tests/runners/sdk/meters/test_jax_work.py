"""What a JAX step asks for, counted by the real JAX on the CPU, and by a scripted one elsewhere."""

from types import SimpleNamespace

import pytest

from perfledger import step_work
from perfledger.meters import jax_work as module
from perfledger.meters.jax_work import (
    COMPILED_PROGRAM,
    LOWERED_PROGRAM,
    SEVERAL_DEVICES,
    count_jax_work,
)
from perfledger.protocol import Command

SIZE = 64


def values(found_count):
    return {count.name: count.value for count in found_count.counts}


@pytest.mark.slow
def test_a_jitted_product_is_two_operations_for_each_multiply_add(jax, count):
    x = jax.numpy.ones((SIZE, SIZE))
    multiply = jax.jit(lambda a: a @ a)

    found_count = count(lambda: multiply(x))

    assert values(found_count)[step_work.FLOPS] == 2 * SIZE**3
    assert values(found_count)[step_work.BYTES] == 2 * 4 * SIZE**2  # both factors are one array
    assert values(found_count)[step_work.PROGRAMS] == 1
    assert values(found_count)[step_work.ARGUMENT_MEMORY] == 4 * SIZE**2
    assert values(found_count)[step_work.OUTPUT_MEMORY] == 4 * SIZE**2
    assert found_count.limits == ()
    assert len(found_count.program) == 64


@pytest.mark.slow
def test_what_a_step_closes_over_is_not_computed_while_it_compiles(jax, count):
    x = jax.numpy.ones((SIZE, SIZE))

    assert values(count(jax.jit(lambda: x @ x)))[step_work.FLOPS] == 2 * SIZE**3


@pytest.mark.slow
def test_a_program_that_runs_twice_counts_twice_and_one_that_is_not_used_too(jax, count):
    x = jax.numpy.ones((SIZE, SIZE))
    multiply = jax.jit(lambda a: a @ a)

    def step():
        multiply(x)
        return multiply(x)

    assert values(count(step))[step_work.FLOPS] == 2 * 2 * SIZE**3
    assert values(count(step))[step_work.PROGRAMS] == 2


@pytest.mark.slow
def test_operations_outside_of_jit_are_programs_of_their_own(jax, count):
    x = jax.numpy.ones((SIZE, SIZE))

    counts = values(count(lambda: jax.lax.sin(jax.lax.add(x, 1.0))))

    assert counts[step_work.PROGRAMS] == 2
    assert counts[step_work.FLOPS] == SIZE**2
    assert counts[step_work.TRANSCENDENTALS] == SIZE**2


@pytest.mark.slow
def test_a_loop_counts_for_every_turn(jax, count):
    x = jax.numpy.ones((SIZE, SIZE))

    def layers(turns):
        def layer(carried, _):
            return carried @ x, None

        return jax.jit(lambda a: jax.lax.scan(layer, a, None, length=turns)[0])

    few, many = layers(1), layers(19)
    once, often = (
        values(count(step))[step_work.FLOPS] for step in (lambda: few(x), lambda: many(x))
    )

    assert often - once == pytest.approx(18 * 2 * SIZE**3, rel=1e-3)


@pytest.mark.slow
def test_a_step_that_keeps_its_state_is_counted(jax, count):
    state = jax.numpy.ones((SIZE, SIZE))
    update = jax.jit(lambda a: a @ a, donate_argnums=0)

    def step():
        nonlocal state
        state = update(state)
        return state

    counts = values(count(step))

    assert counts[step_work.FLOPS] == 2 * SIZE**3
    assert counts[step_work.ALIASED_MEMORY] == 4 * SIZE**2


@pytest.mark.slow
def test_a_step_that_reads_a_value_is_not_known(jax, count):
    x = jax.numpy.ones((SIZE, SIZE))

    found_count = count(lambda: float(jax.numpy.sum(x)))

    assert found_count.counts == ()
    (limit,) = found_count.limits
    assert limit.startswith("its programs are unknown without running it: Concretization")
    assert "\n" not in limit


@pytest.mark.slow
def test_moving_data_is_no_program(jax, count):
    multiply = jax.jit(lambda a: a @ a)

    found_count = count(lambda: multiply(jax.device_put(jax.numpy.ones((SIZE, SIZE)))))

    assert values(found_count)[step_work.FLOPS] == 2 * SIZE**3


@pytest.mark.slow
def test_a_step_may_return_more_than_arrays(jax, count):
    x = jax.numpy.ones((SIZE, SIZE))
    multiply = jax.jit(lambda a: a @ a)

    found_count = count(lambda: (multiply(x), "done", object()))

    assert values(found_count)[step_work.FLOPS] == 2 * SIZE**3


@pytest.mark.slow
def test_the_same_program_has_the_same_hash_and_another_one_another(jax, count):
    x = jax.numpy.ones((SIZE, SIZE))

    def program(operation):
        step = jax.jit(operation)
        return count(lambda: step(x)).program

    assert program(lambda a: a @ a) == program(lambda b: b @ b)
    assert program(lambda a: a @ a) != program(lambda a: a @ a + 1)


@pytest.mark.slow
def test_a_step_of_too_many_programs_is_not_counted(jax, count, monkeypatch):
    monkeypatch.setattr(module, "MAX_PROGRAMS", 1)
    x = jax.numpy.ones(4)

    found_count = count(lambda: jax.lax.sin(jax.lax.cos(x)))

    assert found_count.counts == ()
    assert found_count.limits == ("it runs more than 1 distinct programs: jit larger parts of it",)


WORKLOADS = """
import jax
import jax.numpy as jnp
import perfledger

STATE = []

@perfledger.workload()
def leaves_a_tracer_behind():
    x = jnp.ones((8, 8))
    multiply = jax.jit(lambda a: a @ a)
    def step():
        STATE.append(multiply(x))
        return STATE[-1]
    return step

@perfledger.workload()
def comes_after_it():
    multiply = jax.jit(lambda a: a @ a)
    return lambda: multiply(jnp.ones((8, 8)))
"""


@pytest.mark.slow(ci_only=True)
def test_a_child_answers_for_each_workload(tmp_path, run_child):
    root = tmp_path / "repository"
    (root / "benchmarks").mkdir(parents=True)
    (root / "benchmarks/mul.py").write_text(WORKLOADS)

    answer = run_child(root, Command.COUNT)

    for name in ("leaves_a_tracer_behind", "comes_after_it"):
        counted = answer.about(f"benchmarks.mul:{name}")
        assert counted["event"] == "counted"
        assert {c["name"]: c["value"] for c in counted["counts"]}[step_work.FLOPS] == 2 * 8**3


class FakeStage:
    """A lowered and compiled program, as a backend tells of it."""

    def __init__(self, costs, *, written=None, memory=None):
        self.costs, self.written, self.memory = costs, written, memory

    def lower(self, *_):
        return SimpleNamespace(
            compile=lambda: self,
            cost_analysis=lambda: self.written,
            as_text=lambda: "module",
        )

    def cost_analysis(self):
        return self.costs

    def memory_analysis(self):
        if self.memory is None:
            raise NotImplementedError
        return SimpleNamespace(**self.memory)


class FakeCore:
    ClosedJaxpr = staticmethod(lambda jaxpr, consts: SimpleNamespace(jaxpr=jaxpr, consts=consts))
    jaxpr_as_fun = staticmethod(lambda closed: closed)


class FakeJaxpr(SimpleNamespace):
    def replace(self, **changes):
        return FakeJaxpr(**(vars(self) | changes))


def fake_work(*stages, constants=()):
    bodies = [FakeJaxpr(eqns=[], constvars=[], invars=[]) for _ in stages]
    equations = [
        SimpleNamespace(
            primitive=SimpleNamespace(name="jit"), params={"jaxpr": FakeCore.ClosedJaxpr(body, [])}
        )
        for body in bodies
    ]
    traced = SimpleNamespace(jaxpr=FakeJaxpr(eqns=equations), consts=constants)
    waiting = iter(stages)
    jax = SimpleNamespace(
        make_jaxpr=lambda step: lambda: (step(), traced)[1],
        jit=lambda _, **__: next(waiting),
        ShapeDtypeStruct=None,
        tree_util=SimpleNamespace(tree_leaves=lambda _: []),
    )
    return count_jax_work(jax, FakeCore, lambda: None)


def sources(found_step_work):
    return {count.name: (count.value, count.source) for count in found_step_work.counts}


def test_where_only_the_compiled_program_is_counted_that_is_said():
    counts = sources(fake_work(FakeStage({"flops": 10.0, "bytes accessed": 4.0})))

    assert counts[step_work.FLOPS] == (10.0, COMPILED_PROGRAM)
    assert counts[step_work.TRANSCENDENTALS] == (0.0, COMPILED_PROGRAM)


def test_the_program_as_written_goes_before_what_was_compiled():
    costs = {"flops": 10.0, "bytes accessed": 4.0}

    counts = sources(fake_work(FakeStage(costs, written={"flops": 12.0, "bytes accessed": 9.0})))

    assert counts[step_work.FLOPS] == (12.0, LOWERED_PROGRAM)
    assert counts[step_work.BYTES] == (4.0, COMPILED_PROGRAM)


@pytest.mark.parametrize(
    "costs",
    [
        None,
        {},
        [],
        {"flops": 10.0},
        {"flops": -1.0, "bytes accessed": float("nan"), "transcendentals": "many"},
    ],
)
def test_what_a_backend_does_not_tell_is_not_there(costs):
    assert set(sources(fake_work(FakeStage(costs)))) == {step_work.PROGRAMS}


def test_an_older_jax_tells_of_each_device():
    counts = sources(fake_work(FakeStage([{"flops": 10.0, "bytes accessed": 4.0}])))

    assert counts[step_work.FLOPS] == (10.0, COMPILED_PROGRAM)


def test_what_is_told_of_some_programs_only_is_not_summed():
    counts = sources(
        fake_work(
            FakeStage({"flops": 10.0, "bytes accessed": 4.0}, memory=MEMORY),
            FakeStage({"flops": -1.0, "bytes accessed": 4.0}),
        )
    )

    assert step_work.FLOPS not in counts
    assert step_work.PROGRAM_MEMORY not in counts
    assert counts[step_work.BYTES] == (8.0, COMPILED_PROGRAM)


MEMORY = {
    "argument_size_in_bytes": 100,
    "output_size_in_bytes": 60,
    "temp_size_in_bytes": 30,
    "alias_size_in_bytes": 60,
    "generated_code_size_in_bytes": 5,
}


def test_what_a_program_returns_in_place_of_an_argument_takes_no_room():
    counts = sources(fake_work(FakeStage({}, memory=MEMORY)))

    assert counts[step_work.PROGRAM_MEMORY][0] == 135
    assert counts[step_work.TEMPORARY_MEMORY][0] == 30


def test_on_several_devices_the_compiled_sizes_are_not_told():
    array = SimpleNamespace(sharding=SimpleNamespace(device_set={0, 1}))

    found_step_work = fake_work(FakeStage({}, memory=MEMORY), constants=[array])

    assert set(sources(found_step_work)) == {step_work.PROGRAMS}
    assert found_step_work.limits == (SEVERAL_DEVICES,)


def test_a_program_that_does_not_compile_alone_is_a_limit():
    class Refusing(FakeStage):
        def lower(self, *_):
            msg = "no mesh\nand pages more"
            raise ValueError(msg)

    assert fake_work(Refusing({})).limits == (
        "one of its programs cannot be compiled alone: ValueError: no mesh",
    )
