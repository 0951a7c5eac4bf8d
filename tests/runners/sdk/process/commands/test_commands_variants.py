"""Variants in processes of their own: measured, compared with the step as written, refused.

The children import the real torch and JAX, and compile with the compiler of this machine.
"""

from functools import partial

import pytest

from perfledger.failure_reason import UnmeasurableError
from perfledger.process import measure_command
from perfledger.protocol import Command, MeasuringEffort
from perfledger.records import FailureReason
from perfledger.variants.remarks import SEVERAL_RANKS
from perfledger.variants.transformed_step import TransformedStep

NET = """
import perfledger
import torch

@perfledger.workload(device="cpu", variants={variants})
def net():
    torch.manual_seed(0)
    layers = (torch.nn.Linear(16, 16), torch.nn.GELU(), torch.nn.Linear(16, 16))
    model = torch.nn.Sequential(*layers).requires_grad_(False)
    return model, (torch.randn(4, 16),)
"""
FUNCTION = """
import perfledger
import torch

@perfledger.workload(device="cpu", variants=["compile"])
def net():
    inputs = torch.ones(4, 4)
    weights = torch.eye(4)

    def function(values):
{body}
    return function, (inputs,)
"""
JAX = """
import jax.numpy
import perfledger

@perfledger.workload(device="cpu", variants={variants})
def tower():
    def function(state, rows):
        return state + rows @ rows, (rows * rows).sum()
    return function, (jax.numpy.zeros((8, 8)), jax.numpy.ones((8, 8)))
"""
PLAIN = """
import perfledger

@perfledger.workload(device="cpu", framework="torch", variants=["compile"])
def plain():
    return lambda: 1
"""
NAME = "benchmarks.b:{}[variant={}]"
ABSENT = ("cudagraphs", "compile:reduce-overhead", "tensorrt", "jit")
JITS = ["jit", "jit:donate", "jit:xla_cpu_enable_fast_math=True"]


def body(*lines):
    return FUNCTION.format(body="\n".join(f"        {line}" for line in lines))


def ask(run_child, write, text, command, **changes):
    return run_child(write({"benchmarks/b.py": text}), command, **changes)


@pytest.fixture(scope="module")
def measured(run_child, tmp_path_factory):
    """Measure in one child, as importing and preparing torch takes most of its time."""
    root = tmp_path_factory.mktemp("measured")
    (root / "benchmarks").mkdir()
    text = NET.format(variants=[*ABSENT, "eager", "compile"])
    (root / "benchmarks" / "b.py").write_text(text)
    nothing = body("return values").replace("def net", "def nothing")
    (root / "benchmarks" / "c.py").write_text(nothing)
    return run_child(root, Command.MEASURE)


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_compiled_variant_is_measured_with_what_it_compiled(measured):
    check_compiled(measured, "compile")


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
@pytest.mark.parametrize("variant", ["compile:max-autotune", "aotinductor"])
def test_other_compiled_variants_are_measured_with_what_they_compiled(run_child, write, variant):
    text = NET.format(variants=["eager", variant])

    check_compiled(ask(run_child, write, text, Command.MEASURE), variant)


def check_compiled(answer, variant):
    eager, compiled = answer.about("benchmarks.b:net"), answer.about(NAME.format("net", variant))
    assert [each["event"] for each in (eager, compiled)] == ["run", "run"]
    assert eager["compiled"]["phases_s"] == {}
    assert sum(compiled["compiled"]["phases_s"].values()) > 0
    assert compiled["evidence"]["result"] == "finite"


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_the_same_result_has_no_remark_and_the_counts_of_the_step_as_it_is_written(
    run_child, write
):
    text = NET.format(variants=["eager", "compile"])

    answer = ask(run_child, write, text, Command.COUNT)

    eager, compiled = (answer.about(f"benchmarks.b:net{end}") for end in ("", "[variant=compile]"))
    assert compiled["variant_remarks"] == []
    assert compiled["counts"] == eager["counts"] != []


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_graph_break_is_a_remark(run_child, write):
    text = body("total = values @ weights", "print('step')", "return total + weights")

    counted = ask(run_child, write, text, Command.COUNT).about(NAME.format("net", "compile"))

    (remark,) = counted["variant_remarks"]
    assert remark.startswith("compiled in 2 parts with 1 graph break, between which")


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_step_that_torch_does_not_compile_is_not_measured_as_compiled(measured):
    failed = measured.about("benchmarks.c:nothing[variant=compile]")

    assert failed["reason"] == FailureReason.NOT_AVAILABLE
    assert "compiled nothing of the step" in failed["detail"]


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_step_that_torch_gives_up_compiling_is_not_measured_as_compiled(run_child, write):
    text = body("calls.append(1)", "return values + len(calls)").replace(
        "    weights =", "    calls = []\n    weights ="
    )
    effort = MeasuringEffort(min_steps=12, max_steps=12, min_warmups=1, max_warmups=1)

    answer = ask(run_child, write, text, Command.MEASURE, effort=effort)

    failed = answer.about(NAME.format("net", "compile"))
    assert failed["reason"] == FailureReason.NOT_AVAILABLE
    assert "up to torch's limit" in failed["detail"]


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_another_result_than_the_step_as_it_is_written_is_a_remark(run_child, write):
    text = body("return values * (2.0 if torch.compiler.is_compiling() else 1.0)")

    counted = ask(run_child, write, text, Command.COUNT).about(NAME.format("net", "compile"))

    (remark,) = counted["variant_remarks"]
    assert remark.startswith("its result differs by up to 1 of the largest number")


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_a_step_that_does_not_repeat_itself_says_nothing_about_the_variant(run_child, write):
    text = body("return values * offset").replace(
        "    weights =", "    import os\n    offset = int.from_bytes(os.urandom(4))\n    weights ="
    )

    counted = ask(run_child, write, text, Command.COUNT).about(NAME.format("net", "compile"))

    assert "gives a different result" in counted["variant_remarks"][-1]


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_what_this_machine_lacks_is_not_available_and_costs_the_others_nothing(measured):
    failures = [measured.about(NAME.format("net", variant)) for variant in ABSENT]

    assert {each["reason"] for each in failures} == {FailureReason.NOT_AVAILABLE}
    assert measured.about("benchmarks.b:net")["event"] == "run"


@pytest.mark.slow(ci_only=True)
def test_variants_of_jax_are_measured(run_child, write):
    answer = ask(run_child, write, JAX.format(variants=JITS), Command.MEASURE)

    names = [NAME.format("tower", variant) for variant in JITS]
    assert [answer.about(name)["event"] for name in names] == ["run"] * 3


@pytest.mark.slow(ci_only=True)
def test_variants_of_jax_are_counted(run_child, write):
    answer = ask(run_child, write, JAX.format(variants=JITS), Command.COUNT)

    names = [NAME.format("tower", variant) for variant in JITS]
    assert [answer.about(name)["variant_remarks"] for name in names] == [[], [], []]


def test_the_result_of_a_variant_in_several_ranks_is_not_taken_for_equal(send_command, write):
    place = write({"benchmarks/b.py": PLAIN.replace('framework="torch"', 'framework="host"')})

    counted = send_command(place, Command.COUNT, link=object())

    remarks = counted.about(NAME.format("plain", "compile"))["variant_remarks"]
    assert remarks == [SEVERAL_RANKS]


@pytest.mark.torch
def test_a_step_without_inputs_says_what_to_return(send_command, write):
    answer = ask(send_command, write, PLAIN, Command.MEASURE)

    failed = answer.about(NAME.format("plain", "compile"))
    assert failed["reason"] == FailureReason.NOT_AVAILABLE
    assert "return model, (images,) instead" in failed["detail"]


def test_a_function_and_its_inputs_are_a_step_without_variants_too(send_command, write):
    text = "import perfledger\n@perfledger.workload\ndef add():\n    return sum, ([1, 2],)\n"

    run = ask(send_command, write, text, Command.MEASURE).about("benchmarks.b:add")

    assert run["event"] == "run"


@pytest.mark.parametrize("returned", ["(sum, 3)", "(sum, {})", "(3, ())", "(sum,)", "[sum, ()]"])
def test_what_is_neither_a_step_nor_a_function_with_inputs_is_an_error(
    send_command, write, returned
):
    text = f"import perfledger\n@perfledger.workload\ndef add():\n    return {returned}\n"

    failed = ask(send_command, write, text, Command.MEASURE).about("benchmarks.b:add")

    assert failed["reason"] == FailureReason.RAISED
    assert "or a function and a tuple of inputs" in failed["detail"]


def test_a_variant_that_falls_back_in_one_set_up_of_several_is_not_measured(
    send_command, write, monkeypatch
):
    """The first set-up falls back after its first step, the last one never."""
    set_ups: list[int] = []

    def set_up(*_, **__):
        set_ups.append(0)
        return TransformedStep(step=list, verify=partial(verify, len(set_ups) - 1))

    def verify(number):
        set_ups[number] += 1
        if set_ups[0] > 1:
            raise UnmeasurableError(FailureReason.NOT_AVAILABLE, "it fell back")
        return ()

    monkeypatch.setattr(measure_command, "set_up_variant", set_up)
    text = "import perfledger\n@perfledger.workload(set_ups=3)\ndef add():\n    return list\n"

    failed = ask(send_command, write, text, Command.MEASURE).about("benchmarks.b:add")

    assert failed["reason"] == FailureReason.NOT_AVAILABLE
    assert len(set_ups) == 1


def test_a_teardown_receives_the_function(send_command, write):
    text = (
        "import perfledger\nclosed = []\n"
        "@perfledger.workload(teardown=closed.append, check=lambda total: total)\n"
        "def add():\n    print(closed)\n    return sum, ([1, 2],)\n"
    )

    run = ask(send_command, write, text, Command.MEASURE).about("benchmarks.b:add")

    assert run["evidence"]["answer"] == {"": 3}


def test_the_requests_variants_replace_the_decorators(send_command, write):
    text = "import perfledger\n@perfledger.workload\ndef add():\n    return sum, ([1, 2],)\n"

    answer = ask(
        send_command, write, text, Command.LIST, variants={"benchmarks.b:add": ("eager", "jit")}
    )

    ids = [each["id"] for each in answer.of("workload")]
    assert ids == ["benchmarks.b:add", "benchmarks.b:add[variant=jit]"]
