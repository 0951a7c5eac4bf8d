from typing import Any

import pytest

from perfledger_cost_models.scheduling.calibration import ReplayCalibration
from perfledger_cost_models.scheduling.day_bootstrap import BootstrapInterval
from perfledger_service.rendering.plan.calibration import (
    NO_RECORD,
    calibration_facts,
    calibration_sentence,
    calibration_table,
    ratio_text,
)

ONE = BootstrapInterval(1.0, 0.9, 1.1)


def plain_text(text):
    """Return a text with plain spaces."""
    return " ".join(text.split())


@pytest.fixture
def calibration():
    def calibration(wait=ONE, *, p95=ONE, waiting_jobs=100, unplaceable=0.0):
        return ReplayCalibration(
            policy="easy",
            wait_mean=wait,
            wait_p95=p95,
            utilization=ONE,
            makespan=None,
            waiting_jobs=waiting_jobs,
            unplaceable=unplaceable,
            job_error=0.1,
        )

    return calibration


def test_a_calibrated_replay_says_so(calibration):
    assert (
        plain_text(calibration_sentence(calibration()))
        == "Calibrated: the replay with easy is within 30 % of the record."
    )


def test_each_figure_beyond_the_limit_is_named_with_its_interval(calibration):
    wait = BootstrapInterval(0.33, 0.21, 0.5)

    assert plain_text(calibration_sentence(calibration(wait, p95=wait, unplaceable=0.2))) == (
        "Not calibrated within 30 %: 20.0 % of the jobs fit no node of the replay; the replay with "
        "easy has 0.33 (0.21 to 0.5) times the recorded mean wait, 0.33 (0.21 to 0.5) times the "
        "recorded P95 wait."
    )


def test_the_waits_of_a_few_jobs_calibrate_nothing(calibration):
    assert plain_text(calibration_sentence(calibration(waiting_jobs=2))) == (
        "Not calibrated: only 2 jobs of the log waited, and the waits of fewer than 10 may be "
        "chance."
    )


def test_a_large_ratio_is_written_without_a_power_of_ten():
    assert plain_text(ratio_text(BootstrapInterval(140.4, 99.4, 1234.0))) == "140 (99 to 1,234)"


@pytest.mark.parametrize("has_starts", [True, False])
def test_without_recorded_waits_there_is_nothing_to_hold_a_replay_against(calibration, has_starts):
    assert calibration_sentence(calibration(None, p95=None) if has_starts else None) == NO_RECORD


def test_programs_get_the_ratios_and_people_a_table(calibration):
    facts: Any = calibration_facts(calibration())
    (table,) = calibration_table([calibration()])

    assert facts["wait_mean_ratio"] == ONE
    assert facts["makespan_ratio"] is None
    texts = tuple(map(plain_text, table.rows[0].texts))
    assert texts == ("easy", *["1 (0.9 to 1.1)"] * 3, "-")
    assert calibration_table([]) == ()
    assert calibration_facts(None) is None


def test_a_ratio_of_few_days_has_no_interval():
    assert ratio_text(BootstrapInterval(4.333, None, None)) == "4.3"
