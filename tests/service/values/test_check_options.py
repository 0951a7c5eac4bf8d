import pytest

from perfledger.bundle import LaidOverFiles, StartOptions
from perfledger_service.values.check_options import CheckOptions, TimeBudget


def test_the_options_of_a_bundle_are_those_of_its_start_and_what_was_laid_over(make_bundle):
    bundle = make_bundle(
        settings={"build": "make", "isolated": True, "budget": 60.0},
        options=StartOptions(
            workloads=("b:*",),
            expression="not slow",
            spreads="spreads.json",
            settings={"build": "make", "max_pairs": "30"},
            unshown=("PERFLEDGER_SANDBOX",),
        ),
        laid_over=LaidOverFiles(source="my work", files={}),
    )

    assert CheckOptions.of_bundle(bundle) == CheckOptions(
        workloads_from="my work",
        workloads=("b:*",),
        expression="not slow",
        spreads="spreads.json",
        settings={"build": "make", "max_pairs": "30"},
        unshown=("PERFLEDGER_SANDBOX",),
    )


def test_a_bundle_that_does_not_record_its_start_is_repeated_with_its_unusual_settings(make_bundle):
    bundle = make_bundle(
        settings={"build": "make", "isolated": True, "suite": "asv", "device": "auto", "budget": 9}
    )

    assert CheckOptions.of_bundle(bundle) == CheckOptions(
        settings={"build": "make", "isolated": "true", "suite": "asv"}
    )
    assert CheckOptions.of_bundle(make_bundle(settings={})) == CheckOptions()


@pytest.mark.parametrize(
    ("settings", "budget"),
    [
        ({"budget": 600.0, "budget_usd": "(none)"}, TimeBudget(600.0)),
        ({"budget": 600}, TimeBudget(600.0)),
        ({"budget": 600.0, "budget_usd": "1.50"}, TimeBudget(None, ("budget", "budget_usd"))),
        ({}, TimeBudget()),
        ({"budget": "long"}, TimeBudget()),
    ],
)
def test_the_time_of_a_check_is_known_unless_money_limits_it_too(settings, budget):
    assert TimeBudget.of_settings(settings) == budget
