import json
from datetime import UTC, datetime, timedelta

import pytest

from perfledger_service.errors import SettingsError, UsageError
from tests.service.retention_history import add_newer_checks, commits


@pytest.fixture
def prune(run, database_url):
    def prune(*words, **environment):
        return run("server", "prune", *words, PERFLEDGER_DATABASE_URL=database_url, **environment)

    return prune


@pytest.fixture
def old_check(engine, judged, make_bundle):
    """Store a check of half a year ago, behind a hundred newer ones."""
    today = datetime.now(UTC)
    before = today - timedelta(days=200)
    uploads = [
        judged(
            engine,
            make_bundle(
                seed=number,
                ratio=1.0,
                pull_request=None,
                created_at=at.isoformat(),
                **commits(number, number + 1),
            ),
            upload_id=f"{number:032x}",
            now=at,
            trust_runners=True,
        )
        for number, at in enumerate((before, before + timedelta(hours=1), today))
    ]
    add_newer_checks(engine, uploads[-1], since=today)
    return uploads[0]


def class_of(answer, name):
    return next(one for one in json.loads(answer)["classes"] if one["class"] == name)


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("old_check")
def test_without_a_setting_everything_is_kept_for_ever(prune):
    output = prune("--dry-run")

    assert "ever" in output
    assert class_of(prune("--json"), "bundles")["removed_rows"] == 0
    assert "still need" not in output
    kept_output = prune("--dry-run", "--keep", "jobs=90")
    assert "still need is never removed" in " ".join(kept_output.split())


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("old_check")
def test_a_setting_is_obeyed_and_a_dry_run_only_tells(prune):
    setting = {"PERFLEDGER_KEEP_BUNDLES_DAYS": "90"}

    told_class = class_of(prune("--dry-run", "--json", **setting), "bundles")
    went = class_of(prune("--json", **setting), "bundles")

    assert told_class["kept_days"] == 90
    assert told_class["removed_rows"] == went["removed_rows"] == 1
    assert told_class["removed_bytes"] == went["removed_bytes"] > 0
    assert class_of(prune("--json", **setting), "bundles")["removed_rows"] == 0


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("old_check")
def test_an_option_replaces_a_setting_and_the_file_shrinks(prune):
    answer = prune(
        "--keep", "bundles=100", "--vacuum", "--json", PERFLEDGER_KEEP_BUNDLES_DAYS="300"
    )

    assert class_of(answer, "bundles")["kept_days"] == 100
    assert class_of(answer, "bundles")["removed_rows"] == 1
    assert json.loads(answer)["free_bytes"] == 0


@pytest.mark.parametrize(
    "text", ["bundles", "bundles=", "bundles=13", "bundles=-90", "bundles=1e9", "cats=90", "=90",
             "workflows=90", "bundles=" + "9" * 5000, "bundles=٩٠"],
)  # fmt: skip
def test_a_wrong_period_is_refused_with_the_classes(prune, text):
    with pytest.raises(UsageError, match="classes are bundles, samples, pull-requests, branch"):
        prune("--dry-run", "--keep", text)


@pytest.mark.parametrize("days", ["13", "36501", "soon"])
def test_a_wrong_setting_is_refused(prune, days):
    with pytest.raises(SettingsError, match="keep_bundles_days"):
        prune("--dry-run", PERFLEDGER_KEEP_BUNDLES_DAYS=days)


@pytest.mark.slow(ci_only=True)
@pytest.mark.usefixtures("old_check")
def test_a_project_has_periods_of_its_own_which_are_shown(prune):
    setting = {
        "PERFLEDGER_KEEP_BUNDLES_DAYS": "90",
        "PERFLEDGER_KEEP_OF_PROJECTS": "octo/models:bundles=ever,samples=90",
    }

    assert "Periods of single projects" in prune("--dry-run", **setting)
    answer = prune("--json", **setting)
    assert class_of(answer, "bundles")["removed_rows"] == 0
    assert class_of(answer, "samples")["removed_rows"] > 0
    assert json.loads(answer)["own_periods"] == [
        {"project": "octo/models", "class": "bundles", "kept_days": None},
        {"project": "octo/models", "class": "samples", "kept_days": 90},
    ]


def test_a_wrong_period_of_a_project_is_refused(prune):
    with pytest.raises(SettingsError, match="KEEP_OF_PROJECTS has 'octo/models:bundles=1'"):
        prune("--dry-run", PERFLEDGER_KEEP_OF_PROJECTS="octo/models:bundles=1")
