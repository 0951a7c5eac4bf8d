import json

import pytest

from perfledger_service.errors import UsageError

LLAMA = ("fleet", "faults", "--faults", 419, "--devices", 16384, "--days", 54)


def test_llama_3s_interruptions_are_three_hours_apart(run):
    document = json.loads(run(*LLAMA, "--json"))

    rates = {row["figure"]: row for row in document["rates"]}
    assert rates["hours_between_faults"]["estimate"] == pytest.approx(3.093, abs=0.001)
    assert rates["faults_per_1000_device_days"]["estimate"] == pytest.approx(0.4736, abs=0.0001)


def test_another_fleet_has_its_own_faults_and_the_same_rate(run):
    half = json.loads(run(*LLAMA, "--fleet-devices", 8192, "--json"))
    rates = {row["figure"]: row for row in half["rates"]}

    assert rates["hours_between_faults"]["estimate"] == pytest.approx(2 * 3.0929, abs=0.001)
    assert rates["faults_a_year"]["estimate"] == pytest.approx(419 * 365 / 54 / 2)


def test_no_fault_has_bounds_alone(run):
    text = " ".join(run("fleet", "faults", "--faults", 0, "--devices", 8, "--days", 365).split())

    assert "No faults were observed: at most 3.689 a year" in text
    assert "unknown" in text


@pytest.mark.parametrize(
    "words",
    [
        ("--faults", -1),
        ("--days", 0),
        ("--days", "nan"),
        ("--devices", -8, "--days", -30),
        ("--devices", 10**400),
        ("--confidence-percent", 100),
    ],
)
def test_what_gives_no_rate_is_refused(run, words):
    values = {"--faults": 1, "--devices": 8, "--days": 30} | dict(
        zip(words[::2], words[1::2], strict=True)
    )

    with pytest.raises(UsageError):
        run("fleet", "faults", *(each for pair in values.items() for each in pair))
