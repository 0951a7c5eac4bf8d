import threading
from importlib.resources import files

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from perfledger_service.errors import SettingsError
from perfledger_service.store.database import open_engine
from perfledger_service.store.tables import StoreRow
from perfledger_service.store.upgrade import is_current, open_current, upgrade

FIRST_VERSION = """
insert into project values (1, 'octo/models', 'octo/models', '2026-11-20 12:00:00');
insert into bundle (sha256, unpacked_bytes, content) values ('b', 1, {blob});
insert into env values ('e', 'cpu:Test CPU:1', '{{}}');
insert into upload
    (id, project_id, bundle_sha256, env_hash, base_sha, head_sha, head_subject, status, reason,
    attempt, conclusion, title, headline, created_at)
    values ('u', 1, 'b', 'e', 'a', 'b', '', 'judged', '', 1, '', '', '', '2026-11-20 12:00:00');
insert into verdict
    (upload_id, place, workload, metric, unit, worse, kind, scale, outcome, adjusted_p, is_warning,
    reason)
    values ('u', 0, 'm:f', 'step_time_p50', 's', 'higher', 'speed', 'log', 'undecided', 1.0, false,
    'as it was said')"""


def first_version(engine):
    blob = "x''" if engine.dialect.name == "sqlite" else "''"
    return FIRST_VERSION.format(blob=blob).split(";")


@pytest.mark.slow(ci_only=True)
def test_migrations_make_exactly_the_tables(empty_url, empty_engine, differences):
    upgrade(empty_url)

    assert differences(empty_engine) == ()
    assert set(StoreRow.metadata.tables) < set(inspect(empty_engine).get_table_names())


def test_a_database_is_current_after_the_upgrade_and_not_before(empty_url, empty_engine):
    assert not is_current(empty_engine)

    upgrade(empty_url)

    assert is_current(empty_engine)


@pytest.mark.slow(ci_only=True)
def test_an_upgrade_may_be_repeated(empty_url, empty_engine):
    upgrade(empty_url)
    upgrade(empty_url)

    assert is_current(empty_engine)


@pytest.mark.slow(ci_only=True)
def test_a_database_of_the_first_version_keeps_what_is_in_it(
    empty_url, empty_engine, upgrade_to, differences
):
    upgrade_to("0001")
    with empty_engine.begin() as connection:
        for statement in first_version(empty_engine):
            connection.exec_driver_sql(statement)

    upgrade(empty_url)

    with empty_engine.connect() as connection:
        row = connection.exec_driver_sql("select reason, spread_source from verdict").one()
    assert tuple(row) == ("as it was said", None)
    assert differences(empty_engine) == ()


@pytest.mark.slow(ci_only=True)
def test_commits_of_a_database_of_the_second_version_are_claimed_to_be_on_the_branch(
    empty_url, empty_engine, upgrade_to, differences
):
    upgrade_to("0002")
    with empty_engine.begin() as connection:
        for statement in first_version(empty_engine)[:-1]:
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql(
            "insert into revision values (1, 0, 'x'), (1, 1, 'a'), (1, 2, 'b'), (1, 3, 'head')"
        )

    upgrade(empty_url)

    with empty_engine.connect() as connection:
        rows = connection.exec_driver_sql(
            "select sha, is_claimed from revision order by position"
        ).all()
    assert [tuple(row) for row in rows] == [("x", 0), ("a", 1), ("b", 1), ("head", 0)]
    assert differences(empty_engine) == ()


def test_two_upgrades_at_once_come_one_after_the_other(empty_url, empty_engine):
    problems = []

    def attempt():
        try:
            upgrade(empty_url)
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=attempt) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == []
    assert is_current(empty_engine)


@pytest.mark.slow(ci_only=True)
def test_differences_sees_a_missing_column(tmp_path, differences):
    url = f"sqlite:///{tmp_path / 'odd.db'}"
    upgrade(url)
    engine = open_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("alter table upload drop column title")

    [difference] = differences(engine)
    assert "add_column" in str(difference)
    engine.dispose()


def test_a_database_without_tables_is_not_opened(tmp_path):
    (tmp_path / "empty.db").touch()

    with (
        pytest.raises(SettingsError, match="tables are of another version"),
        open_current(f"sqlite:///{tmp_path / 'empty.db'}"),
    ):
        pass


def test_a_database_that_is_not_there_is_said_so_and_not_made(tmp_path):
    url = f"sqlite:///{tmp_path / 'no' / 'such' / 'folder.db'}"

    with pytest.raises(SettingsError, match=r"no database .*folder\.db"), open_current(url):
        pass
    with pytest.raises(SettingsError, match="cannot be upgraded"):
        upgrade(url)


def test_the_current_database_is_opened(database_url):
    with open_current(database_url) as engine:
        assert is_current(engine)


def test_the_history_has_one_end():
    folder = files("perfledger_service.store") / "migrations"

    assert len(ScriptDirectory(str(folder)).get_heads()) == 1
