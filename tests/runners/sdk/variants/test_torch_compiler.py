"""torch.compile: what counts as compiled, and what falls back to the step as written."""

from types import ModuleType, SimpleNamespace

import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.records import Device
from perfledger.registration.variant_name import parse_variant
from perfledger.variants.torch_compiler import (
    CompileCounts,
    compile_remarks,
    compiled_as_written,
    compiled_step,
    read_counts,
)
from perfledger.variants.transformed_step import FunctionCall

COMPILE, REDUCED = parse_variant("compile"), parse_variant("compile:reduce-overhead")
NOTHING = CompileCounts(graphs=0, breaks={}, graph_skips=0)


def counted(graphs=1, breaks=None, skips=0):
    return CompileCounts(graphs=graphs, breaks=breaks or {}, graph_skips=skips)


def test_counts_are_read_from_torchs_own():
    counters = {
        "stats": {"unique_graphs": 3},
        "graph_break": {"print": 2},
        "inductor": {"cudagraph_skips": 1},
    }

    counts = read_counts(SimpleNamespace(counters=counters))

    assert counts == counted(3, {"print": 2}, 1)
    assert read_counts(None) == NOTHING


def test_earlier_counts_are_not_the_steps():
    before, after = counted(3, {"print": 2}, 1), counted(5, {"print": 2, "item": 1}, 1)

    assert after.since(before) == counted(2, {"item": 1}, 0)


def test_a_step_of_which_nothing_was_compiled_is_not_that_variant():
    with pytest.raises(UnmeasurableError, match="compiled nothing of the step"):
        compile_remarks(COMPILE, NOTHING, Device.CPU)


def test_a_function_that_hit_the_recompile_limit_is_not_that_variant():
    why = "Dynamo recompile limit exceeded\n  Explanation: ..."
    utils = SimpleNamespace(
        counters={"stats": {"unique_graphs": 8}, "unimplemented": {why: 1, "other": 3}}
    )

    counts = read_counts(utils)

    assert counts.limits_hit == 1
    with pytest.raises(UnmeasurableError, match="up to torch's limit"):
        compile_remarks(COMPILE, counts, Device.CPU)


@pytest.mark.parametrize("name", ["_torchdynamo_orig_callable", "_orig_mod", "_compiled_call_impl"])
def test_a_function_that_is_compiled_already_may_be_the_same(name):
    (remark,) = compiled_as_written(SimpleNamespace(**{name: abs}))

    assert "compiled as written" in remark
    assert compiled_as_written(abs) == ()


def test_a_module_with_a_compiled_part_is_compiled_as_it_is_written():
    def module(part):
        return SimpleNamespace(_compiled_call_impl=None, modules=lambda: [part])

    assert compiled_as_written(module(SimpleNamespace(_compiled_call_impl=None))) == ()
    assert len(compiled_as_written(module(SimpleNamespace(_compiled_call_impl=abs)))) == 1


def test_a_function_that_torch_is_told_not_to_compile_is_not_compiled_as_it_is_written():
    disabled = SimpleNamespace(_torchdynamo_orig_callable=abs, _torchdynamo_disable=True)

    assert compiled_as_written(disabled) == ()


def test_a_step_in_one_part_has_no_remarks():
    assert compile_remarks(COMPILE, counted(), Device.CPU) == ()


def test_graph_breaks_are_named_with_the_first_reason():
    breaks = {"Failed to trace print\n  Explanation: long": 1, "other": 2}

    (remark,) = compile_remarks(COMPILE, counted(4, breaks), Device.CPU)

    assert remark == (
        "compiled in 4 parts with 3 graph breaks, between which it runs as written: "
        "Failed to trace print"
    )


def test_one_part_is_no_parts():
    (remark,) = compile_remarks(COMPILE, counted(1, {"print": 1}), Device.CPU)

    assert remark.startswith("compiled in 1 part with 1 graph break, ")


def test_all_parts_without_cuda_graphs_are_not_reduced_overhead():
    with pytest.raises(UnmeasurableError, match=r"all it compiled \(2 parts\) without CUDA graphs"):
        compile_remarks(REDUCED, counted(2, skips=2), Device.CUDA)


def test_some_parts_without_cuda_graphs_are_named():
    remarks = compile_remarks(REDUCED, counted(2, skips=1), Device.CUDA)

    assert remarks == ("1 compiled part without CUDA graphs",)


def test_skipped_graphs_do_not_matter_to_a_mode_without_them():
    assert compile_remarks(COMPILE, counted(1, skips=1), Device.CPU) == ()


def test_autotuning_on_a_cpu_says_that_it_has_no_cuda_graphs():
    autotuned = parse_variant("compile:max-autotune")

    remarks = compile_remarks(autotuned, counted(1, skips=1), Device.CPU)

    assert remarks == ("1 compiled part without CUDA graphs",)


def test_reduced_overhead_needs_cuda(fake_torch):
    with pytest.raises(UnmeasurableError, match="CUDA graphs, which need a CUDA device"):
        compiled_step(fake_torch, REDUCED, FunctionCall(abs, (-1,)), Device.CPU)


def test_on_cuda_triton_is_needed(fake_torch, fake_modules):
    fake_modules({"triton": None})

    with pytest.raises(UnmeasurableError, match="needs triton"):
        compiled_step(fake_torch, COMPILE, FunctionCall(abs, (-1,)), Device.CUDA)


@pytest.mark.parametrize("setting", ["disable", "suppress_errors"])
def test_a_setting_that_hides_what_is_not_compiled_is_refused(fake_torch, fake_modules, setting):
    config = ModuleType("torch._dynamo.config")
    setattr(config, setting, True)
    fake_modules({"torch._dynamo.config": config})

    with pytest.raises(UnmeasurableError, match=rf"torch\._dynamo\.config\.{setting} is set"):
        compiled_step(fake_torch, COMPILE, FunctionCall(abs, (-1,)), Device.CPU)


def test_the_mode_is_torchs_and_each_set_up_begins_anew(fake_torch, fake_modules):
    modes: list[str | None] = []
    resets: list[int] = []

    def compile_function(function, mode):
        modes.append(mode)
        return function

    fake_torch.compile = compile_function
    fake_torch.compiler.reset = lambda: resets.append(len(modes))
    utils = SimpleNamespace(counters={"stats": {"unique_graphs": 1}})
    fake_modules({"torch._dynamo.config": None, "torch._dynamo.utils": utils})

    step = compiled_step(fake_torch, COMPILE, FunctionCall(abs, (-1,)), Device.CPU)
    utils.counters["stats"]["unique_graphs"] = 2

    assert (step.run(), step.verify()) == (1, ())
    assert (modes, resets) == ([None], [0])


def test_a_second_step_that_compiles_nothing_is_found(fake_torch, fake_modules):
    utils = SimpleNamespace(counters={"stats": {"unique_graphs": 1}})
    fake_modules({"torch._dynamo.config": None, "torch._dynamo.utils": utils})

    step = compiled_step(fake_torch, COMPILE, FunctionCall(abs, (-1,)), Device.CPU)

    with pytest.raises(UnmeasurableError, match="compiled nothing"):
        step.verify()
