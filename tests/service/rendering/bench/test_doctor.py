import json
from dataclasses import replace

import pytest

from perfledger.metrics import CPU_TIME, PEAK_MEMORY, STEP_TIME
from perfledger.records import Device, Machine
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.judge import judge_tests
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_runners.machine.setting_fixes import SettingFix
from perfledger_service.rendering.bench.doctor import doctor_document
from perfledger_service.rendering.layout.writers import to_json, to_markdown
from perfledger_service.values.doctor_views import DoctorView, MetricNoise, NoiseFloor
from perfledger_service.values.power_views import SpreadView

FIXES = (
    SettingFix(
        setting="governor: powersave",
        command="sudo cpupower frequency-set -g performance",
        undo="sudo cpupower frequency-set -g powersave",
    ),
    SettingFix(
        setting="GPU clock: not known to be locked",
        command="sudo nvidia-smi -i GPU-1 -lgc 1590,1590",
        undo="sudo nvidia-smi -i GPU-1 -rgc",
    ),
)


def view_with(fixes):
    machine = Machine(device=Device.CPU, model="Test CPU")
    return DoctorView(machine=machine, findings=(), noise=None, fixes=fixes)


def test_what_an_administrator_should_set_is_a_script_with_its_undoing():
    document = doctor_document(view_with(FIXES))
    text = to_markdown(document)

    assert "perfledger runs none of these commands" in text
    assert (
        "# governor: powersave\n"
        "sudo cpupower frequency-set -g performance\n"
        "# undo: sudo cpupower frequency-set -g powersave\n"
        "# GPU clock: not known to be locked\n"
        "sudo nvidia-smi -i GPU-1 -lgc 1590,1590\n"
        "# undo: sudo nvidia-smi -i GPU-1 -rgc"
    ) in text
    assert json.loads(to_json(document))["fixes"][0]["command"] == FIXES[0].command


@pytest.mark.parametrize(
    ("fixes", "has_sentence"),
    [((), True), (None, False)],  # nothing to set; not asked for
)
def test_where_nothing_is_to_be_set_that_is_said_if_it_was_asked_for(fixes, has_sentence):
    document = doctor_document(view_with(fixes))

    assert ("No known setting" in to_markdown(document)) is has_sentence
    assert ("fixes" in json.loads(to_json(document))) is (fixes is not None)


def a_noise_of(*sources, pairs, seconds_per_pair=30.3):
    """Return a noise floor whose metrics have no spread, each for its reason."""
    numbers = tuple(range(1, pairs + 1))
    metrics = (STEP_TIME, CPU_TIME, PEAK_MEMORY)
    tests = [
        PairedTest(
            workload="gpt:step",
            metric=metric,
            base=(0.01,) * pairs,
            head=(0.01,) * pairs,
            numbers=numbers,
        )
        for metric in metrics[: len(sources)]
    ]
    verdicts = judge_tests(
        tests, rule=DecisionRule(looks=(5,), alpha=0.05, margin=0.01, floor=0.003)
    )
    return NoiseFloor(
        workload="gpt:step",
        pairs=pairs,
        seconds_per_pair=seconds_per_pair,
        margin=0.01,
        max_pairs=20,
        check_pairs=20,
        metrics=tuple(
            MetricNoise(
                test=test, verdict=verdict, spread=SpreadView(name="x", sd=None, source=source)
            )
            for test, verdict, source in zip(tests, verdicts, sources, strict=True)
        ),
    )


@pytest.mark.parametrize(
    ("pairs", "seconds_per_pair", "advice"),
    [
        (3, 30.3, "5 pairs take about 2.52 min here: allow them with `--budget 4m` and at least"),
        (1, 1200.0, "5 pairs take about 1.67 h here: allow them with `--budget 150m`"),
        (4, 0.5, "5 pairs take about 2.5 s here: allow them with `--budget 1m`"),
        (5, 30.3, ""),
    ],
)
def test_too_few_pairs_are_said_once_with_the_time_that_enough_of_them_take(
    pairs, seconds_per_pair, advice
):
    few = "too few pairs"
    noise = a_noise_of(few, "flawed", few, pairs=pairs, seconds_per_pair=seconds_per_pair)
    view = replace(view_with(None), noise=noise)

    text = to_markdown(doctor_document(view)).replace("\u00a0", " ")

    assert "step time, peak memory: too few pairs." in text
    assert "CPU time: flawed." in text
    assert advice in text
    assert ("allow them with" in text) is bool(advice)
