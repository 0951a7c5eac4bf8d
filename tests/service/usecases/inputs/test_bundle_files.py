"""Tests the spool of bundles on disk, and reading a bundle that somebody named."""

import gzip
from pathlib import Path

import pytest

from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.inputs.bundle_files import (
    SPOOLED_BUNDLES,
    bundle_path,
    named_bundle_path,
    newest_bundle_path,
    prepare_spool,
    read_bundle_file,
    spool_bundle,
)


@pytest.fixture
def environment(tmp_path):
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture
def spooled(tmp_path):
    """Return the names of the spooled bundles, oldest first."""
    return lambda: sorted(
        path.name for path in (tmp_path / "state" / "perfledger" / "bundles").iterdir()
    )


def test_a_spooled_bundle_is_read_as_it_was(make_bundle, environment):
    bundle = make_bundle()

    path = spool_bundle(bundle, environment)

    assert read_bundle_file(path) == bundle
    assert ":" not in path.name  # which no file on Windows may have


def test_a_bundle_is_also_written_where_the_user_wants_it(make_bundle, environment, tmp_path):
    target = tmp_path / "out" / "bundle.json"

    path = spool_bundle(make_bundle(), environment, also=target)

    assert path == target
    assert read_bundle_file(target) == make_bundle()


@pytest.fixture
def full_spool(environment, tmp_path):
    """Fill the spool with bundles of 2026, of which only the names count."""
    prepare_spool(environment)
    for number in range(SPOOLED_BUNDLES):
        (tmp_path / "state" / "perfledger" / "bundles" / f"2026-{number:03}.json").touch()


@pytest.mark.usefixtures("full_spool")
def test_the_oldest_bundle_goes_when_the_spool_is_full(make_bundle, environment, spooled):
    path = spool_bundle(make_bundle(created_at="2027-01-01T00:00:00+00:00"), environment)

    assert spooled() == [
        *(f"2026-{number:03}.json" for number in range(1, SPOOLED_BUNDLES)),
        path.name,
    ]


@pytest.mark.usefixtures("full_spool")
def test_a_bundle_from_a_clock_that_went_back_is_not_lost(make_bundle, environment, spooled):
    path = spool_bundle(make_bundle(created_at="2025-01-01T00:00:00+00:00"), environment)

    assert spooled() == [
        path.name,
        *(f"2026-{number:03}.json" for number in range(1, SPOOLED_BUNDLES)),
    ]


def test_other_files_of_the_spool_are_left_alone(make_bundle, environment, spooled):
    path = spool_bundle(make_bundle(), environment)
    path.with_name("notes.txt").write_text("mine")

    spool_bundle(make_bundle(seed=1), environment)

    assert "notes.txt" in spooled()


def test_a_prepared_spool_has_its_folders_and_no_file(environment, tmp_path, spooled):
    prepare_spool(environment, also=tmp_path / "out" / "bundle.json")

    assert spooled() == []
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("blocked", ["state", "out"])
def test_a_folder_that_cannot_be_made_is_an_error_before_measuring(environment, tmp_path, blocked):
    (tmp_path / blocked).write_text("a file")

    with pytest.raises(UsageError, match=r"cannot keep the bundle: .*set XDG_STATE_HOME"):
        prepare_spool(environment, also=tmp_path / "out" / "bundle.json")


def test_without_a_variable_the_spool_is_in_the_users_home(make_bundle, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))

    path = spool_bundle(make_bundle(), {})

    assert path.parent == tmp_path / ".local" / "state" / "perfledger" / "bundles"


def test_a_packed_bundle_is_read(make_bundle, tmp_path):
    path = tmp_path / "bundle.json.gz"
    path.write_bytes(gzip.compress(make_bundle().to_json().encode()))

    assert read_bundle_file(path) == make_bundle()


def test_a_missing_bundle_is_named_and_a_broken_one_is_refused(tmp_path):
    (tmp_path / "broken.json").write_text("{}")

    with pytest.raises(NotFoundError, match=r"there is no file .*gone\.json"):
        read_bundle_file(tmp_path / "gone.json")
    with pytest.raises(UsageError, match="is a folder: give a file"):
        read_bundle_file(tmp_path)
    with pytest.raises(UsageError, match="this is not a bundle"):
        read_bundle_file(tmp_path / "broken.json")


def test_a_bundle_is_kept_under_a_name_and_found_by_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environment = {"XDG_STATE_HOME": str(tmp_path / "state")}
    path = named_bundle_path("before-1.2", environment)
    assert bundle_path(Path("before-1.2"), environment) == Path("before-1.2")

    path.parent.mkdir(parents=True)
    path.write_text("{}")

    assert bundle_path(Path("before-1.2"), environment) == path
    assert bundle_path(Path("other"), environment) == Path("other")


def test_a_file_comes_before_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environment = {"XDG_STATE_HOME": str(tmp_path / "state")}
    path = named_bundle_path("before", environment)
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    Path("before").write_text("{}")

    assert bundle_path(Path("before"), environment) == Path("before")


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "-k", "x" * 101, "a b"])
def test_a_name_is_no_path(name, tmp_path):
    with pytest.raises(UsageError, match="is not a name"):
        named_bundle_path(name, {"XDG_STATE_HOME": str(tmp_path)})


def test_a_kept_bundle_is_compared_with_the_last_check_of_its_repository(make_bundle, environment):
    kept_file = named_bundle_path("first", environment)
    prepare_spool(environment, also=kept_file)
    days = [f"2027-01-0{day}T00:00:00+00:00" for day in (1, 2, 3, 4)]
    ids = [digit * 32 for digit in "4321"]
    repositories = ("acme/gpt", "acme/gpt", "acme/gpt", "other/gpt")
    bundles = [
        make_bundle(created_at=day, id=one, repository=repository)
        for day, one, repository in zip(days, ids, repositories, strict=True)
    ]
    spool_bundle(bundles[0], environment, also=kept_file)

    with pytest.raises(UsageError, match="run `perfledger check`"):  # the only one is the same
        newest_bundle_path(kept_file, environment)

    for bundle in bundles[1:]:
        spool_bundle(bundle, environment)

    assert read_bundle_file(newest_bundle_path(kept_file, environment)) == bundles[2]


@pytest.mark.parametrize("name", ["runs.csv", "bundles"])
def test_only_a_bundle_has_a_last_check_to_compare_with(environment, tmp_path, name):
    (tmp_path / "bundles").mkdir()

    with pytest.raises(UsageError, match="compared with what"):
        newest_bundle_path(tmp_path / name, environment)
