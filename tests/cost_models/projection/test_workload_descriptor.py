from textwrap import dedent

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.projection import workload_descriptor
from perfledger_cost_models.projection.published_results import packaged_ratios
from perfledger_cost_models.projection.workload_descriptor import (
    MAX_CHARACTERS,
    CommunicationPattern,
    DescriptorError,
    packaged_descriptors,
    read_descriptors,
)

SMALLEST = """
[[workload]]
name = "gpt:step"
unit = "tokens"
[[workload.arithmetic]]
dtypes = ["bfloat16"]
flops = 1.8e9
source = "6 N"
"""


def test_the_example_of_the_module_is_read_whole():
    _, _, example = (workload_descriptor.__doc__ or "").partition("\n")

    (found_workload_descriptor,) = read_descriptors(example, "example.toml")

    assert (
        found_workload_descriptor.name,
        found_workload_descriptor.unit,
        found_workload_descriptor.devices,
        found_workload_descriptor.model,
    ) == (
        "gpt:train_step",
        "tokens",
        8,
        "gpt",
    )
    assert found_workload_descriptor.arithmetic[0].dtypes == ("float8", "bfloat16")
    assert found_workload_descriptor.memory[0].bytes == 4.2e6
    assert found_workload_descriptor.communication[0].pattern is CommunicationPattern.ALL_REDUCE
    assert found_workload_descriptor.fixed is not None
    assert found_workload_descriptor.fixed.seconds == 1e-6
    assert found_workload_descriptor.assumed == (found_workload_descriptor.memory[0].source,)


def test_what_is_left_out_is_not_known_rather_than_nothing():
    (found_workload_descriptor,) = read_descriptors(SMALLEST, "small.toml")

    assert found_workload_descriptor.fixed is None
    assert (
        found_workload_descriptor.memory,
        found_workload_descriptor.communication,
        found_workload_descriptor.devices,
    ) == ((), (), 1)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "workload"),
        ("[[workload]]", "name"),
        ("not toml", "not.toml"),
        (SMALLEST + "colour = 1", "colour"),
        (SMALLEST.replace("1.8e9", "nan"), "above 0"),
        (SMALLEST.replace("1.8e9", "inf"), "above 0"),
        (SMALLEST.replace("1.8e9", "0"), "above 0"),
        (SMALLEST.replace("1.8e9", "-1"), "above 0"),
        (SMALLEST.replace("1.8e9", "5e-324"), "above 0"),
        (SMALLEST.replace("1.8e9", '"many"'), "flops"),
        (SMALLEST.replace('["bfloat16"]', "[]"), "dtypes"),
        (SMALLEST.replace("gpt:step", ""), "name"),
        (SMALLEST + SMALLEST, "the same name"),
        ('[[workload]]\nname = "empty"\nunit = "steps"', "no operations"),
        ("workload = " + "[" * 5000 + "]" * 5000, "not.toml"),
        ("#" * (MAX_CHARACTERS + 1), "characters"),
        (SMALLEST + "[workload.fixed]\nseconds = -1\nsource = 'x'", "at least 0"),
        (SMALLEST + "[workload.fixed]\nseconds = nan\nsource = 'x'", "at least 0"),
        (
            SMALLEST
            + "[[workload.communication]]\npattern = 'all_reduce'\nbytes = 1\nsource = 'x'",
            "one device",
        ),
        (
            SMALLEST + "[[workload.communication]]\npattern = 'gossip'\nbytes = 1\nsource = 'x'",
            "gossip",
        ),
    ],
)
def test_what_cannot_be_trusted_is_refused_with_its_place(text, problem):
    with pytest.raises(DescriptorError, match=problem):
        read_descriptors(dedent(text), "not.toml")


@pytest.mark.slow
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    try:
        workload_descriptors = read_descriptors(text, "fuzzed.toml")
    except DescriptorError:
        return

    assert workload_descriptors


def test_every_published_result_is_of_a_packaged_workload():
    names = {each.name for each in packaged_descriptors()}

    assert {ratio.workload for ratio in packaged_ratios()} < names


def test_what_buyers_run_is_packaged_though_no_published_result_checks_it():
    published = {ratio.workload for ratio in packaged_ratios()}
    models = {each.model for each in packaged_descriptors() if each.name not in published}

    assert models >= {"Llama 3.1 8B", "Llama 3.1 70B", "Mixtral 8x7B", "Stable Diffusion 1"}


def test_a_batch_of_32_decodes_at_less_operations_a_byte_than_a_prompt_is_read():
    by_name = {each.name: each for each in packaged_descriptors()}

    def intensity(name):
        found_by_name = by_name[name]
        return found_by_name.arithmetic[0].flops / found_by_name.memory[0].bytes

    assert intensity("serving/llama-3.1-8b-decode") < 32
    assert intensity("serving/llama-3.1-8b-prefill") > 1000


@pytest.mark.parametrize("result", packaged_descriptors(), ids=lambda result: result.name)
def test_a_packaged_workload_says_what_it_assumes(result):
    assert result.model
    assert all(part.source in result.assumed for part in result.memory)


TRAFFIC = "[[workload.communication]]\npattern = 'all_reduce'\nbytes = 1\nsource = 'x'"
FIXED = "[workload.fixed]\nseconds = {}\nsource = 'x'"


@pytest.mark.parametrize(
    ("text", "is_accepted"),
    [
        (SMALLEST.replace("gpt:step", "x"), True),
        (SMALLEST.replace("gpt:step", "x" * 500), True),
        (SMALLEST.replace("gpt:step", "x" * 501), False),
        (SMALLEST.replace('["bfloat16"]', str(["x"] * 20)), True),
        (SMALLEST.replace('["bfloat16"]', str(["x"] * 21)), False),
        (SMALLEST.replace("1.8e9", "1e30"), True),
        (SMALLEST.replace("1.8e9", "1.1e30"), False),
        (SMALLEST.replace("1.8e9", "1e-30"), True),
        (SMALLEST.replace("1.8e9", "0.9e-30"), False),
        (SMALLEST + FIXED.format(0), True),
        (SMALLEST + FIXED.format("1e30"), True),
        (SMALLEST + FIXED.format("1.1e30"), False),
        (SMALLEST.replace("[[workload.arith", "devices = 1\n[[workload.arith"), True),
        (SMALLEST.replace("[[workload.arith", "devices = 0\n[[workload.arith"), False),
        (SMALLEST.replace("[[workload.arith", "devices = 1000000\n[[workload.arith"), True),
        (SMALLEST.replace("[[workload.arith", "devices = 1000001\n[[workload.arith"), False),
        (SMALLEST.replace("[[workload.arith", "devices = 2\n[[workload.arith") + TRAFFIC, True),
        (SMALLEST.replace("[[workload.arith", "devices = 1\n[[workload.arith") + TRAFFIC, False),
    ],
)
def test_a_descriptor_is_accepted_up_to_its_limits(text, is_accepted):
    if is_accepted:
        read_descriptors(text, "limits.toml")
    else:
        with pytest.raises(DescriptorError):
            read_descriptors(text, "limits.toml")
