"""What is said of recorded profiles, and of a trace with every kind of call, is in golden files.

PERFLEDGER_UPDATE_GOLDEN=1 writes them.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.bottleneck.classifier import classify
from perfledger_profiles.bottleneck.recommendations import recommendations
from perfledger_profiles.bottleneck.step_shares import typical_step_seconds
from perfledger_profiles.bottleneck.whatif import what_if
from perfledger_profiles.diff.diff import explain
from perfledger_profiles.hardware.device_lookup import hardware_of
from perfledger_profiles.hardware.device_state import device_state, disturbances, memory_notes
from perfledger_profiles.parsing.device_choice import DeviceChoice
from tests.runners.profiles.example_trace import training_trace

FOLDER = Path(__file__).parent
GOLDEN = FOLDER / "golden"
CASES = sorted(path.stem for path in (FOLDER / "bottleneck" / "advice_cases").glob("*.json"))
UPDATE = "PERFLEDGER_UPDATE_GOLDEN"
# Recordings of the same code before and after a change, or of the same model on another device.
PAIRS = (
    ("a100_add_first_calls", "a100_alexnet_first_calls"),
    ("a100_dlrm", "v100_dlrm"),
    ("a100_resnet_ddp", "mi300_resnet_ddp"),
    ("cpu_compiled_once", "cpu_recompiled"),
    ("cpu_contiguous_heads", "cpu_contiguous_transposed"),
    ("cpu_float64_product", "cpu_float64_mask"),
    ("cpu_load_here", "cpu_load_two_workers"),
    ("cpu_optimizer_single", "cpu_optimizer_fused"),
    ("h100_owlv2", "mi300_owlv2"),
    ("h100_qwen", "mi300_qwen"),
    ("jax_once", "jax_newshape"),
    ("jax_once", "jax_rejit"),
    ("mi300_sglang_prefill", "mi300_sglang_decode"),
    ("v100_ddp", "v100_dlrm"),
    ("v100_resnet_workers4", "v100_resnet_workers0"),
)


def recorded(case: str) -> Profile:
    path = FOLDER / "bottleneck" / "advice_cases" / f"{case}.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    return msgspec.convert({**record, "source": None}, Profile)


def readable(value):
    """Return a value without what is unknown or empty; no processor changes its digits."""
    if isinstance(value, dict):
        return {key: readable(part) for key, part in value.items() if part not in (None, "", ())}
    if isinstance(value, tuple):
        return [readable(part) for part in value]
    if isinstance(value, float):  # sums are compensated since Python 3.12: what is left is zero
        return 0.0 if abs(value) < 1e-15 else float(f"{value:.9g}")
    return value


def rows(value, margin=""):
    """Return JSON with one line for each list or object that holds no other."""
    parts = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(parts, list) or not any(isinstance(part, dict | list) for part in parts):
        return json.dumps(value, ensure_ascii=False)
    inner = margin + " "
    texts = [rows(part, inner) for part in parts]
    if isinstance(value, dict):
        texts = [f"{json.dumps(key)}: {text}" for key, text in zip(value, texts, strict=True)]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{begin}\n{inner}" + f",\n{inner}".join(texts) + f"\n{margin}{end}"


def matches_golden(name, value):
    """Return whether a value is that of its golden file, or write it."""
    path = GOLDEN / f"{name}.json"
    text = rows(readable(msgspec.to_builtins(value))) + "\n"
    if os.environ.get(UPDATE) == "1":
        path.write_text(text, encoding="utf-8")
    return text == path.read_text(encoding="utf-8")


def findings(profile):
    """Return all that is said of one profile."""
    classification = classify(profile)
    longest = profile.operations[0].name
    return {
        "classification": classification,
        "recommendations": recommendations(profile, classification),
        "typical_step_seconds": typical_step_seconds(profile),
        "twice_as_fast": what_if(profile, changes={longest: 2.0}),
        "device": device_state(profile),
        "notes": memory_notes(profile),
        "disturbances": disturbances(profile, hardware_of(profile).hardware),
    }


@pytest.mark.parametrize("case", CASES)
def test_what_is_said_of_a_recorded_profile(case):
    assert matches_golden(case, findings(recorded(case))), f"run again with {UPDATE}=1 if intended"


@pytest.mark.parametrize(("base", "head"), PAIRS)
def test_what_explains_the_difference_of_two_recorded_profiles(base, head):
    before, after = recorded(base), replace(recorded(head), side=Side.HEAD)

    explanation = explain(before, after, classifier=classify)

    assert matches_golden(f"{base}-{head}", explanation), f"run again with {UPDATE}=1 if intended"


@pytest.mark.parametrize(
    ("name", "choice"),
    [("all", DeviceChoice()), ("device_1", DeviceChoice(device=1))],
)
def test_what_is_read_of_a_training_trace(name, choice):
    profile = training_trace().read(choice=choice)

    assert matches_golden(f"training_{name}", profile), f"run again with {UPDATE}=1 if intended"
    assert matches_golden(f"training_{name}_findings", findings(profile))


def test_what_explains_slower_products_of_a_training_trace():
    """Three windows a side, whose products take one and two per cent longer and shorter."""
    base, *base_more = [training_trace(gemm_us=time).read() for time in (240, 242, 239)]
    head, *head_more = [training_trace(gemm_us=time).read() for time in (320, 318, 325)]
    base = replace(base, side=Side.BASE)
    repeats = [*(replace(one, side=Side.BASE) for one in base_more), *head_more]

    explanation = explain(
        base,
        head,
        repeats=repeats,
        timing=(1.9e-3, 2.1e-3),
        timing_error_seconds=2e-5,
        classifier=classify,
        reproduction="perfledger check",
    )

    assert matches_golden("training_slower", explanation), f"run again with {UPDATE}=1 if intended"


def test_no_golden_file_is_left_over():
    training = ("all", "all_findings", "device_1", "device_1_findings", "slower")
    named = {
        *CASES,
        *("-".join(pair) for pair in PAIRS),
        *(f"training_{part}" for part in training),
    }

    assert {path.stem for path in GOLDEN.iterdir()} == named
