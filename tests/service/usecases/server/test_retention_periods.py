"""Tests that periods are read as they are meant, or not at all."""

import pytest

from perfledger_service.errors import SettingsError
from perfledger_service.usecases.server.retention_periods import (
    MAX_CHARACTERS,
    check_projects,
    own_periods,
    read_own_periods,
)
from perfledger_service.values.storage.retention import OwnPeriod, RetentionClass, RetentionPolicy

SETTING = "Octo/Models:bundles=400,samples=ever octo/other:pull-requests=14"


def test_projects_have_their_own_periods_and_else_those_of_all():
    policy = RetentionPolicy(
        {RetentionClass.BUNDLES: 90, RetentionClass.SAMPLES: 90, RetentionClass.JOBS: 30},
        read_own_periods(SETTING),
    )

    assert policy.of("octo/models").days == {RetentionClass.BUNDLES: 400, RetentionClass.JOBS: 30}
    assert policy.of("OCTO/other").days == {
        **policy.days,
        RetentionClass.PULL_REQUESTS: 14,
    }
    assert policy.of("octo/third").days == policy.days
    assert RetentionPolicy({}).is_for_ever
    assert RetentionPolicy({}, read_own_periods("octo/models:bundles=ever")).is_for_ever


def test_each_own_period_is_listed():
    assert own_periods(read_own_periods(SETTING)) == (
        OwnPeriod(repository="octo/models", kind=RetentionClass.BUNDLES, kept_days=400),
        OwnPeriod(repository="octo/models", kind=RetentionClass.SAMPLES, kept_days=None),
        OwnPeriod(repository="octo/other", kind=RetentionClass.PULL_REQUESTS, kept_days=14),
    )


def test_without_the_setting_no_project_has_any():
    assert read_own_periods("") == {}


@pytest.mark.parametrize(
    "text",
    [
        "octo/models", "octo/models:", "octo/models:bundles", "octo/models:bundles=13",
        "octo/models:bundles=36501", "octo/models:bundles=-90", "octo/models:bundles=1e3",
        "octo/models:bundles=" + "9" * 5000, "octo/models:bundles=٩٠", "models:bundles=90",
        "/models:bundles=90", "octo/:bundles=90", "octo/models:jobs=90", "octo/models:cats=90",
        "octo/models:bundles=90,bundles=91", "octo/models:bundles=90 octo/MODELS:samples=90",
        "octo/models:bundles=90,", "bundles=90",
    ],
)  # fmt: skip
def test_a_wrong_period_is_refused_with_the_classes(text):
    with pytest.raises(SettingsError, match="classes are bundles, samples, pull-requests, branch"):
        read_own_periods(text)


def test_a_setting_that_is_too_long_is_refused():
    with pytest.raises(SettingsError, match="name fewer projects"):
        read_own_periods("o/m:bundles=90 " * MAX_CHARACTERS)


def test_a_project_that_is_not_there_is_named():
    policy = RetentionPolicy({}, read_own_periods(SETTING))
    check_projects(policy, ["octo/models", "Octo/Other", "octo/third"])

    with pytest.raises(SettingsError, match="octo/other, which is not a project here"):
        check_projects(policy, ["octo/models"])
