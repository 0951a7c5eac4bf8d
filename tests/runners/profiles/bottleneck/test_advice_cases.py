"""The advice on real recordings: each rule has two that it fits and two that only look like it.

The files hold the figures of public recordings, whose source they name, and of our own, as
benchmarks/profiles/advice_cases.py cuts them down.
"""

import json
from pathlib import Path

import msgspec
import pytest

from perfledger.profile import Profile
from perfledger_profiles.bottleneck import copy_advice, device_advice, host_advice
from perfledger_profiles.bottleneck.advice import Advice, AdviceContext, Rule
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.bottleneck.recommendations import recommendations
from perfledger_profiles.hardware.device_lookup import hardware_of

FOLDER = Path(__file__).with_name("advice_cases")
RULES: dict[str, Rule] = {
    rule.__name__.removeprefix("_"): rule
    for rule in (*host_advice.RULES, *copy_advice.RULES, *device_advice.RULES)
}
NAMES = {
    advice.text: name
    for module in (host_advice, copy_advice, device_advice)
    for name, advice in vars(module).items()
    if isinstance(advice, Advice)
} | {advice.text: detail.name for detail, advice in host_advice.COLLECTIVES.items()}

# What saves most comes first.
EXPECTED = {
    "a100_add_first_calls": "WARM_UP",
    "a100_alexnet_first_calls": "WARM_UP",
    "a100_dlrm": "ANY_COLLECTIVE FUSE OVERLAP_COPIES MORE_BLOCKS",
    "a100_resnet_ddp": "GRAPHS NO_OVERLAP",
    "a100_torchrec": "NO_OVERLAP",
    "a100_transposes": "HOST_CODE ASYNCHRONOUS_COPIES COPY_BACK FEWER_WAITS",
    "b200_eager": "GRAPHS",
    "cpu_attention": "ATTENTION",
    "cpu_compiled_once": "",
    "cpu_contiguous_heads": "CONTIGUOUS",
    "cpu_contiguous_transposed": "CONTIGUOUS",
    "cpu_float64_mask": "FLOAT64",
    "cpu_float64_product": "FLOAT64",
    "cpu_load_here": "WORKERS",
    "cpu_load_two_workers": "MORE_WORKERS PYTHON",
    "cpu_optimizer_fused": "PYTHON",
    "cpu_optimizer_single": "OPTIMIZER PYTHON",
    "cpu_python_loop": "PYTHON",
    "cpu_recompiled": "RECOMPILE",
    "cpu_zero_grad_filled": "PYTHON",
    "gtx1660_hashing": "HOST_CODE PINNED_MEMORY",
    "h100_jax_copies": "STAGED_COPIES COPY_LESS",
    "h100_jax_copies_sleep": "STAGED_COPIES COPY_LESS",
    "h100_owlv2": "WORKERS ATTENTION FUSE MULTIPLE_OF_8 COPY_BACK",
    "h100_qwen": "FUSE CONTIGUOUS READ_BACK",
    "h100_timesformer": "PYTHON ATTENTION FUSE MULTIPLE_OF_8",
    "h100_two_devices_load": "COPY_LESS",
    "h100_vit": "GRAPHS MORE_BLOCKS",
    "jax_many_jits": "JIT",
    "jax_newshape": "RETRACE",
    "jax_once": "JAX_PYTHON",
    "jax_rejit": "RETRACE",
    "mi300_bert": "GRAPHS READ_BACK",
    "mi300_flux_compiles": "",
    "mi300_normalization_first_calls": "WARM_UP",
    "mi300_owlv2": "WORKERS ATTENTION FUSE",
    "mi300_qwen": "FUSE",
    "mi300_resnet_ddp": "NO_OVERLAP FUSE",
    "mi300_sd35": "GRAPHS",
    "mi300_sglang_capture": "",
    "mi300_sglang_decode": "",
    "mi300_sglang_prefill": "",
    "mi300_vllm_capture": "",
    "mi300_vllm_decode": "",
    "mtia_training": "OPTIMIZER",
    "openmp_offload": "HOST_CODE PINNED_MEMORY COPY_BACK",
    "shampoo_sampled": "PYTHON NO_OVERLAP",
    "t4_triangular_levels": "MORE_BLOCKS WARM_UP ASYNCHRONOUS_COPIES",
    "tpu_v6e_offload": "OFFLOAD",
    "v100_ddp": "NO_OVERLAP TENSOR_CORES_HALF FUSE OPTIMIZER ZERO_GRAD",
    "v100_dlrm": "TENSOR_CORES_HALF ANY_COLLECTIVE FUSE",
    "v100_resnet_workers0": "WORKERS TENSOR_CORES_HALF FUSE ZERO_GRAD PINNED",
    "v100_resnet_workers4": "TENSOR_CORES_HALF GRAPHS FUSE ZERO_GRAD PINNED",
    "v100_vision": "TENSOR_CORES_HALF FUSE",
}

# Recordings with the operations of a trigger for which the advice would be wrong.
NEAR_MISSES = {
    # The workers keep up.
    "input": ("v100_resnet_workers4", "a100_dlrm"),
    # Compiled before the first step; nothing compiles again.
    "compile": ("mi300_flux_compiles", "cpu_compiled_once", "jax_once"),
    # Slow because there are many launches, not because they are the first.
    "warm_up": ("b200_eager", "mi300_vllm_capture"),
    # The host waits inside a copy.
    "read_back": ("mi300_sglang_decode", "a100_torchrec"),
    # The copies are those of item(); they take 0.2 % of the step; they wait for unrecorded work.
    "blocking_copies": (
        "gtx1660_hashing",
        "mi300_bert",
        "h100_timesformer",
        "mi300_sglang_decode",
        "a100_torchrec",
    ),
    # Short kernels beside first calls; launches that a graph captures; a busy device.
    "launch": ("a100_alexnet_first_calls", "mi300_vllm_capture", "mi300_vllm_decode"),
    # Time outside operators between short kernels is that of launching them.
    "python": ("mi300_bert", "h100_vit"),
    # foreach and fused optimizers of many parameters.
    "optimizer": ("a100_resnet_ddp", "cpu_optimizer_fused"),
    # Filled within 1 % of the step; not filled.
    "zero_grad": ("cpu_zero_grad_filled", "a100_resnet_ddp"),
    # Pinned; unknown.
    "pageable": ("a100_dlrm", "mi300_owlv2"),
    # Below 3 % of the step.
    "exposed_copies": ("v100_dlrm", "a100_torchrec"),
    # To the device; a fifth of a percent of the step.
    "copies_back": ("a100_dlrm", "mi300_bert"),
    # Prepared behind the step before; already pinned.
    "staged_copies": ("tpu_v6e_offload", "a100_dlrm"),
    # Below 3 % of the step.
    "collectives": ("b200_eager", "mtia_training"),
    # Most of the device's time is matrix products, or the device is hardly used.
    "fuse": ("mi300_sglang_prefill", "h100_vit"),
    # Fused already; products without a softmax.
    "attention": ("h100_qwen", "v100_ddp"),
    # Below 5 % of the step on the device.
    "contiguous": ("mi300_qwen", "v100_dlrm"),
    # An AMD device; products on tensor cores.
    "tensor_cores": ("mi300_owlv2", "a100_dlrm"),
    # The host's counters are double, the device computes in float32.
    "float64": ("a100_torchrec", "mtia_training"),
    # Only M is odd and kernels are align8; an AMD device.
    "multiple_of_8": ("h100_vit", "mi300_owlv2"),
    # Persistent kernels; one shape of several of a name.
    "few_blocks": ("h100_qwen", "v100_resnet_workers0"),
}


def recorded(case: str) -> Profile:
    record = json.loads((FOLDER / f"{case}.json").read_text(encoding="utf-8"))
    assert record.pop("source")
    return msgspec.convert(record, Profile)


def fits(rule: str, case: str) -> bool:
    profile = recorded(case)
    context = AdviceContext(
        profile=profile,
        classification=classify(profile),
        hardware=hardware_of(profile).hardware,
    )
    return RULES[rule](context) is not None


@pytest.mark.parametrize("case", EXPECTED)
def test_a_real_recording_gets_the_advice_of_an_engineer(case):
    profile = recorded(case)

    found_recommendations = recommendations(profile, classify(profile))

    assert " ".join(NAMES[one.text] for one in found_recommendations) == EXPECTED[case]
    assert all(one.assumption.startswith("if ") for one in found_recommendations)
    assert all(0 < one.saved_share <= one.share for one in found_recommendations)


def test_no_recording_is_left_out():
    assert {path.stem for path in FOLDER.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_each_rule_fits_two_real_recordings(rule):
    assert sum(fits(rule, case) for case in EXPECTED) >= 2


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_leaves_two_real_recordings_alone_that_look_like_it(rule):
    cases = NEAR_MISSES[rule]

    assert len(cases) >= 2
    assert [case for case in cases if fits(rule, case)] == []
