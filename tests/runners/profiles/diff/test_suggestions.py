from dataclasses import replace

import pytest

from perfledger.profile import Bucket
from perfledger_profiles.diff.diff import explain
from perfledger_profiles.diff.suggestions import (
    ATTENTION,
    CALLBACK,
    COMPILE,
    COPIES,
    DROPOUT,
    EAGER,
    FLOAT64,
    FUSED_OPTIMIZER,
    GATHER,
    GRADIENTS,
    GRAPH_BREAK,
    INPUT,
    LARGER_INPUTS,
    LAYOUT,
    LOOP,
    MASK,
    MORE_CALLS,
    ONE_HOT,
    PIECES,
    PYTHON,
    READ_BACK,
    RECOMPILE,
    RECOMPUTE,
    SEQUENTIAL,
    SMALL_CALLS,
    SORT,
    WORKERS,
)
from perfledger_profiles.timeline.breakdown import OUTSIDE_OPERATIONS
from perfledger_profiles.xla.host_events import XLA_RUNTIME


def advice(base, head):
    return {cause.name: cause.suggestion for cause in explain(base, head).causes}


def test_compiling_in_the_step_is_advised_against(make):
    base = make.profile(make.operation("dot", 10e-3))
    head = make.profile(make.operation("dot", 10e-3), make.operation("(compiling) f", 90e-3))

    assert advice(base, head) == {"(compiling) f": COMPILE}


def test_a_lost_fused_attention_is_advised_back(make):
    base = make.profile(
        make.operation("aten::_scaled_dot_product_flash_attention_for_cpu", 5e-3, 4.0)
    )
    head = make.profile(
        make.operation("aten::bmm", 6e-3, 8.0, path="aten::matmul"),
        make.operation("aten::_softmax", 4e-3, 4.0, path="aten::softmax"),
    )

    assert advice(base, head) == {"aten::bmm (+1)": ATTENTION}


def test_a_fused_attention_lost_in_one_layer_of_several_is_seen_too(make):
    fused = "aten::_flash_attention_forward"
    base = make.profile(make.operation(fused, 4e-3, 4.0))
    head = make.profile(make.operation(fused, 3e-3, 3.0), make.operation("aten::bmm", 6e-3, 2.0))

    assert advice(base, head) == {"aten::bmm": ATTENTION}


def test_new_float64_is_advised_against(make):
    base = make.profile(make.operation("aten::mm", 5e-3, shapes="float[8,8]", path="p"))
    head = make.profile(make.operation("aten::mm", 9e-3, shapes="double[8,8]", path="p"))

    assert advice(base, head) == {"aten::mm": FLOAT64}


def test_float64_that_was_there_before_is_not_mentioned(make):
    base = make.profile(make.operation("aten::mm", 5e-3, shapes="double[8,8]", path="p"))
    head = make.profile(make.operation("aten::mm", 9e-3, shapes="double[8,8]", path="p"))

    assert advice(base, head) == {"aten::mm": ""}


@pytest.mark.parametrize(
    "name", ["aten::item", "aten::_local_scalar_dense", "cudaStreamSynchronize"]
)
def test_values_read_back_more_often_are_advised_against(make, name):
    base = make.profile(make.operation("aten::mm", 5e-3), make.operation(name, 1e-5, 1.0))
    head = make.profile(make.operation("aten::mm", 5e-3), make.operation(name, 4e-3, 64.0))

    assert advice(base, head) == {name: READ_BACK}


def test_the_loop_around_the_values_that_are_read_back_is_the_same_matter(make):
    base = make.profile(make.operation("aten::mm", 5e-3))
    head = make.profile(
        make.operation("aten::mm", 5e-3),
        make.operation(OUTSIDE_OPERATIONS, 4e-3, 0.0),
        make.operation("aten::item", 1e-6, 64.0),
    )

    assert advice(base, head) == {OUTSIDE_OPERATIONS: READ_BACK}


def test_copies_that_are_made_more_often_are_advised_against(make):
    base = make.profile(make.operation("aten::copy_", 1e-3, 1.0))
    head = make.profile(make.operation("aten::copy_", 8e-3, 8.0))

    assert advice(base, head) == {"aten::copy_": COPIES}


def test_slower_calls_without_evidence_get_no_advice(make):
    for name in ("aten::copy_", "aten::item", "(compiling) f", "aten::bmm", "sort.3"):
        base = make.profile(make.operation(name, 1e-3, 1.0))
        head = make.profile(make.operation(name, 2e-3, 1.0))

        assert advice(base, head) == {name: ""}


def test_what_got_faster_needs_no_advice(make):
    base = make.profile(make.operation("(compiling) f", 9e-3, 1.0))
    head = make.profile(make.operation("(compiling) f", 1e-3, 2.0))

    assert advice(base, head) == {"(compiling) f": ""}


OPTIMIZER = "Optimizer.step#Adam.step"
SEVERAL = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
SINGLE = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
BACKWARD = "autograd::engine::evaluate_function: AddmmBackward0/AddmmBackward0"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (("aten::_fused_adam_", 1.0, OPTIMIZER), ("aten::lerp_", 9.0, OPTIMIZER), FUSED_OPTIMIZER),
        (None, ("OutputGraph.call_user_compiler (dynamo_timed)", 1.0, ""), RECOMPILE),
        (None, ("aten::addmm", 2.0, f"CheckpointFunctionBackward/{BACKWARD}"), RECOMPUTE),
        (None, ("aten::zero_", 4.0, "Optimizer.zero_grad#SGD.zero_grad"), GRADIENTS),
        (None, ("aten::sort", 1.0, ""), SORT),
        (None, ("xla_python_cpu_callback.1", 1.0, "jit_f"), CALLBACK),
        (None, ("while.3", 1.0, "jit_f"), SEQUENTIAL),
        (None, ("gather.2", 1.0, "jit_f"), GATHER),
        (None, ("aten::nonzero", 1.0, "aten::index"), MASK),
        (None, ("aten::bernoulli_", 1.0, "aten::dropout"), DROPOUT),
        (("aten::bmm", 1.0, ""), ("aten::mm", 8.0, "aten::matmul"), LOOP),
        (("aten::mm", 1.0, "aten::linear"), ("aten::mm", 3.0, "aten::linear"), MORE_CALLS),
        (None, ("copy.4", 1.0, "jit_f"), COPIES),
    ],
)
def test_what_is_new_is_advised_by_its_name_and_place(make, old, new, text):
    (name, count, path) = new
    other = make.operation("aten::mm", 10e-3)
    before = [make.operation(old[0], 1e-3, old[1], path=old[2])] if old else []
    head = make.profile(other, make.operation(name, 8e-3, count, path=path))

    assert list(advice(make.profile(other, *before), head).values()) == [text]


def test_a_one_hot_product_is_advised_against_where_it_replaced_a_look_up(make):
    base = make.profile(make.operation("aten::mm", 5e-3), make.operation("aten::embedding", 1e-4))
    head = make.profile(
        make.operation("aten::mm", 5e-3),
        make.operation("aten::one_hot", 1e-5),
        make.operation("aten::scatter_", 4e-3, path="aten::one_hot"),
    )

    assert advice(base, head) == {"aten::scatter_": ONE_HOT}


def waiting(make, loader, seconds):
    return make.profile(
        make.operation("aten::mm", 9e-3), make.operation(loader, seconds, bucket=Bucket.INPUT)
    )


def test_loading_in_the_steps_own_process_is_advised_against(make):
    advised = advice(waiting(make, SEVERAL, 1e-3), waiting(make, SINGLE, 8e-3))

    assert advised == {SINGLE: WORKERS}


def test_a_longer_wait_for_data_alone_asks_for_more_workers(make):
    advised = advice(waiting(make, SINGLE, 1e-3), waiting(make, SINGLE, 8e-3))

    assert advised == {SINGLE: INPUT}


def test_more_and_smaller_calls_are_advised_into_a_batch(make):
    base = make.profile(make.operation("aten::bmm", 1e-3, 1.0, shapes="float[64,8,8]"))
    head = make.profile(make.operation("aten::bmm", 4e-3, 64.0, shapes="float[1,8,8]"))

    assert advice(base, head) == {"aten::bmm": LOOP}


def test_a_layout_that_was_lost_is_seen_by_the_call_that_loses_it(make):
    sizes = "float[8,32,32,32]"
    base = make.profile(make.operation("aten::avg_pool2d", 1e-3, shapes=sizes))
    contiguous = make.operation("aten::contiguous", 1e-6, shapes=sizes)
    head = make.profile(make.operation("aten::avg_pool2d", 4e-3, shapes=sizes), contiguous)

    assert advice(base, head) == {"aten::avg_pool2d": LAYOUT}


def test_larger_inputs_are_named_as_such(make):
    base = make.profile(make.operation("aten::mm", 1e-3, shapes="float[8,8]", path="aten::linear"))
    head = make.profile(make.operation("aten::mm", 4e-3, shapes="float[32,8]", path="aten::linear"))

    assert advice(base, head) == {"aten::mm": LARGER_INPUTS}


@pytest.mark.parametrize("shapes", ["Half[8,8]", "float[4,8]", "float[64]"])
def test_other_inputs_that_are_no_larger_are_not_called_larger(make, shapes):
    base = make.profile(make.operation("aten::mm", 1e-3, shapes="float[8,8]", path="aten::linear"))
    head = make.profile(make.operation("aten::mm", 4e-3, shapes=shapes, path="aten::linear"))

    assert LARGER_INPUTS not in advice(base, head).values()


def test_time_outside_of_operations_is_pythons_or_that_of_many_calls(make):
    base = make.profile(
        make.operation("aten::mm", 9e-3), make.operation(OUTSIDE_OPERATIONS, 1e-3, 0.0)
    )
    python = make.profile(
        make.operation("aten::mm", 9e-3), make.operation(OUTSIDE_OPERATIONS, 8e-3, 0.0)
    )
    calls = make.profile(
        make.operation("aten::mm", 9e-3),
        make.operation("aten::add", 1e-6, 99.0),
        make.operation(OUTSIDE_OPERATIONS, 8e-3, 0.0),
    )

    assert advice(base, python) == {OUTSIDE_OPERATIONS: PYTHON}
    assert advice(base, calls) == {"aten::add": SMALL_CALLS}


@pytest.mark.parametrize("facts", [{"is_host_known": False}, {"tool": "nsys"}])
def test_time_outside_of_operations_is_not_pythons_where_the_file_does_not_show_python(make, facts):
    base, head = (
        replace(
            make.profile(
                make.operation("gemm", 9e-3), make.operation(OUTSIDE_OPERATIONS, seconds, 0.0)
            ),
            **facts,
        )
        for seconds in (1e-3, 8e-3)
    )

    assert advice(base, head) == {OUTSIDE_OPERATIONS: ""}


def test_functions_dispatched_one_by_one_are_advised_into_one(make):
    base = make.profile(make.operation("PjitFunction(step)", 1e-3))
    head = make.profile(
        make.operation("PjitFunction(tanh)", 4e-3, 9.0),
        make.operation("PjitFunction(dot)", 1e-3, 9.0),
    )

    assert advice(base, head)["PjitFunction(tanh)"] == EAGER


REGION = "Torch-Compiled Region: {}"
GRAPH = "## Call CompiledFxGraph f{}zuzpq7 ##"


def test_more_compiled_regions_are_graph_breaks_and_compile_nothing(make):
    base = make.profile(
        make.operation(REGION.format("0/0"), 1e-4),
        make.operation(GRAPH.format(1), 3e-3, path=REGION.format("0/0")),
    )
    head = make.profile(
        make.operation(REGION.format("1/0"), 2e-3, 8.0),
        make.operation(REGION.format("2/1"), 1e-3, 8.0, path=REGION.format("1/0")),
        make.operation(GRAPH.format(2), 3e-3, 8.0, path=REGION.format("1/0")),
    )

    assert set(advice(base, head).values()) <= {PIECES, ""}
    assert advice(base, head)[REGION.format("1/0")] == PIECES
    assert PIECES not in advice(base, base).values()


def test_a_compiled_function_that_is_called_more_often_has_no_more_pieces(make):
    sides = (make.profile(make.operation(REGION.format("0/0"), n * 1e-3, n)) for n in (1.0, 8.0))

    assert PIECES not in advice(*sides).values()


def test_another_compilation_of_the_same_code_is_no_more_pieces(make):
    first = make.operation(REGION.format("0/0"), 1e-3)
    head = make.profile(first, make.operation(REGION.format("0/1"), 5e-3, 2.0))

    assert PIECES not in advice(make.profile(first), head).values()


@pytest.mark.parametrize(
    ("name", "count", "text"),
    [
        ("debug_callback.6", 4.0, CALLBACK),
        ("while.3", 1.0, SEQUENTIAL),
        ("PjitFunction(tanh)", 9.0, EAGER),
        ("dot.3", 4.0, ""),
    ],
)
def test_a_longer_wait_for_xla_is_advised_on_by_what_the_step_calls_more_often(
    make, name, count, text
):
    base = make.profile(make.operation("dot.1", 5e-3), make.operation(XLA_RUNTIME, 1e-3))
    head = make.profile(
        make.operation("dot.1", 5e-3),
        make.operation(XLA_RUNTIME, 9e-3),
        make.operation(name, 1e-6, count),
    )

    assert advice(base, head)[XLA_RUNTIME] == text


def test_a_compiled_region_that_was_taken_apart_is_a_graph_break(make):
    region = "Torch-Compiled Region: 0/0"
    base = make.profile(make.operation("aten::mm", 5e-3), make.operation(region, 2e-3))
    head = make.profile(
        make.operation("aten::mm", 5e-3),
        make.operation("Torch-Compiled Region: 0/0", 1e-5, 2.0),
        make.operation("aten::sin", 4e-3),
        make.operation("aten::mul", 3e-3),
    )

    assert GRAPH_BREAK in advice(base, head).values()


def test_advice_on_a_group_is_about_its_longest_operation(make):
    names = ["aten::mm", *(f"aten::op{number}" for number in range(8)), "aten::copy_"]
    times = [2e-3, *(1e-3,) * 8, 1e-4]
    base = make.profile(*(make.operation(n, t, 2.0) for n, t in zip(names, times, strict=True)))
    head = make.profile(*(make.operation(n, 3 * t, 6.0) for n, t in zip(names, times, strict=True)))

    assert advice(base, head) == {"aten::mm (+9): 3 times as many calls": MORE_CALLS}


def test_a_step_that_became_faster_is_not_told_to_checkpoint_less(make):
    again = make.operation("aten::addmm", 1e-3, 2.0, path=f"CheckpointFunctionBackward/{BACKWARD}")
    base = make.profile(make.operation("aten::mm", 10e-3))
    head = make.profile(make.operation("aten::mm", 5e-3), again)

    assert RECOMPUTE not in advice(base, head).values()
