"""What is compiled and for how long: of made-up times, and of real compilations."""

import sys
from itertools import chain, repeat
from types import SimpleNamespace

import pytest

from perfledger.compile_record import MAX_PROGRAMS, CompiledProgram, CompilePhase, CompileRecord
from perfledger.meters.compile_watch import (
    DYNAMO,
    JAX_PHASES,
    JaxCompilations,
    torch_record,
    watched_jax,
    watched_torch,
)

TRACE, LOWER, COMPILE = JAX_PHASES


def compilation(number, *, name=None, seconds=1.0):
    return SimpleNamespace(compile_id=number, co_name=name, duration_us=int(seconds * 1e6))


def test_torchs_nested_times_are_told_apart_and_sum_to_the_whole():
    times = {
        "_compile.compile_inner": [10.0, 6.0],
        "OutputGraph.call_user_compiler": [9.0, 5.5],
        "backward._backward_impl": [2.0],
        "compile_fx_inner": [8.0, 5.0, 1.5],
        "bytecode_tracing": [0.5],
    }

    record = torch_record(
        times,
        [
            compilation("0/0", name="forward", seconds=10.0),
            compilation("0/0", seconds=2.0),
            compilation("0/1", name="forward", seconds=6.0),
        ],
    )

    assert record == CompileRecord(
        phases_s={"tracing": 1.5, "lowering": 2.0, "backend compile": 14.5},
        programs=(CompiledProgram(name="forward", count=2, seconds=18.0),),
    )
    assert record.seconds == 18.0


def test_programs_of_which_torch_forgot_some_are_unknown():
    times = {"_compile.compile_inner": [1.0] * 65, "OutputGraph.call_user_compiler": [0.5] * 65}

    record = torch_record(times, [compilation(f"{n}/0", name="f") for n in range(64)])

    assert record.programs == ()
    assert record.seconds == 65.0


def test_a_name_that_cannot_be_shown_is_left_out_and_many_are_cut():
    times = {"_compile.compile_inner": [1.0] * 30}
    names = ["a\nb", *(f"f{number}" for number in range(29))]

    programs = torch_record(
        times, [compilation(name, name=name, seconds=n) for n, name in enumerate(names)]
    ).programs

    assert [one.name for one in programs] == [f"f{n}" for n in range(28, 28 - MAX_PROGRAMS, -1)]


def heard(*events):
    """Return the record of events that end at these times: (end, event, duration, function)."""
    watch = JaxCompilations(clock=iter([end for end, *_ in events]).__next__)
    for _, event, duration_s, name in events:
        watch.heard(event, duration_s, fun_name=name)
    return watch.record()


def test_what_jax_compiles_while_it_traces_is_counted_once():
    record = heard(
        (3.0, TRACE, 1.0, "inner"),
        (5.0, COMPILE, 1.5, "jit(constant)"),
        (6.0, TRACE, 5.0, "model"),
        (8.0, LOWER, 1.0, "jit(model)"),
        (12.0, COMPILE, 4.0, "jit_model"),
    )

    assert record.phases_s == {"tracing": 3.5, "lowering": 1.0, "backend compile": 5.5}
    assert record.programs == (
        CompiledProgram(name="model", count=1, seconds=7.5),
        CompiledProgram(name="constant", count=1, seconds=1.5),
    )


def test_other_events_are_no_compilations():
    assert heard((1.0, "/jax/checkpoint/write_duration", 9.0, "f")) == CompileRecord()


def test_jax_is_heard_inside_the_context_only_whatever_its_version_unregisters():
    listeners = []
    monitoring = SimpleNamespace(register_event_duration_secs_listener=listeners.append)

    with watched_jax(monitoring) as compiled:
        listeners[0](COMPILE, 1.0, fun_name="jit(f)")
    listeners[0](COMPILE, 1.0, fun_name="jit(g)")

    assert [one.name for one in compiled().programs] == ["f"]


def test_a_process_that_compiles_nothing_says_so_and_a_torch_with_other_names_is_unknown(
    monkeypatch,
):
    monkeypatch.delitem(sys.modules, DYNAMO, raising=False)
    with watched_torch() as compiled:
        assert compiled() == CompileRecord()
        times = {"_compile.compile_inner": [1.0]}
        monkeypatch.setitem(sys.modules, DYNAMO, SimpleNamespace(compilation_time_metrics=times))
        assert compiled() is None


def test_what_was_read_before_a_reset_stays_known(monkeypatch):
    frames, backends = "_compile.compile_inner", "OutputGraph.call_user_compiler"
    utils = SimpleNamespace(compilation_time_metrics={frames: [9.0], backends: [9.0]})
    monkeypatch.setitem(sys.modules, DYNAMO, utils)

    with watched_torch() as read:
        for key, seconds in ((frames, 4.0), (backends, 3.0)):
            utils.compilation_time_metrics[key].append(seconds)
        assert read().seconds == 4.0
        utils.compilation_time_metrics.clear()  # as torch.compiler.reset does
        utils.compilation_time_metrics.update({frames: [0.5], backends: [0.25]})

        assert read().seconds == read().seconds == 4.5


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_function_that_torch_compiles_for_two_sizes_is_compiled_twice(torch):
    def model_of_a_compile_watch(x):
        return x.sin().sum()

    compiled = torch.compile(model_of_a_compile_watch, backend="eager", dynamic=False)
    compiled(torch.ones(3))

    with watched_torch() as read:
        for size in chain([4, 5], repeat(5, 3)):
            compiled(torch.ones(size))

    record = read()
    (program,) = record.programs
    assert (program.name, program.count) == ("model_of_a_compile_watch", 2)
    assert 0 < program.seconds <= record.seconds
    assert record.phases_s[CompilePhase.TRACING] > 0


@pytest.mark.slow
def test_a_function_that_jax_compiles_for_two_shapes_is_compiled_twice():
    jax = pytest.importorskip("jax")

    @jax.jit
    def model_of_a_compile_watch(x):
        return x.sum()

    arrays = [jax.numpy.ones(size) for size in (3, 3, 4)]
    with watched_jax(jax.monitoring) as read:
        for array in arrays:
            model_of_a_compile_watch(array).block_until_ready()

    record = read()
    assert [(one.name, one.count) for one in record.programs] == [("model_of_a_compile_watch", 2)]
    assert set(record.phases_s) == set(CompilePhase)
    assert read().programs[0].seconds == pytest.approx(record.seconds)
