"""Replicas write to GitHub in turn, on a real PostgreSQL."""

import math
import threading

import pytest
from sqlalchemy import text

from perfledger_service.github.api import GitHubApi
from perfledger_service.github.session import token_auth
from perfledger_service.store.database import open_engine
from perfledger_service.store.replicas.write_turns import WriteTurns

pytestmark = pytest.mark.slow
AUTH = token_auth("t")
COMMENTS = "repos/octo/models/issues/7/comments"
HOUR_S = 3600.0


def never_closed():
    return 0.0


@pytest.fixture
def start_replica(migrated_postgres_url):
    """Start replicas with a pool of connections each."""
    engines = []

    def start():
        engines.append(open_engine(migrated_postgres_url))
        return WriteTurns(engines[-1])

    yield start
    for engine in engines:
        engine.dispose()


def change(turns, values):
    with turns._engine.begin() as connection:
        connection.execute(text(f"update write_turn set {values}"))


def test_the_first_turn_knows_of_no_write_and_the_next_how_long_ago_it_was(start_replica):
    one, two = start_replica(), start_replica()
    with one.turn("41", never_closed) as first:
        pass
    with two.turn("41", never_closed) as second:
        pass
    change(one, "written_at = clock_timestamp() - interval '1 hour'")
    with two.turn("41", never_closed) as third:
        pass

    assert (first.idle_s, first.closed_s) == (math.inf, 0.0)
    assert 0 <= second.idle_s < HOUR_S <= third.idle_s


def test_a_replica_waits_for_the_turn_of_another_and_not_of_another_installation(start_replica):
    one, two = start_replica(), start_replica()
    order, has_begun = [], threading.Event()

    def write():
        has_begun.set()
        with two.turn("41", never_closed):
            order.append("second")

    thread = threading.Thread(target=write)
    with one.turn("41", never_closed):
        thread.start()
        assert has_begun.wait(600)
        with two.turn("42", never_closed):
            order.append("another installation")
        order.append("first")
    thread.join()

    assert order == ["another installation", "first", "second"]


def test_a_limit_that_a_write_met_is_known_to_the_others(start_replica):
    one, two = start_replica(), start_replica()
    with one.turn("41", lambda: HOUR_S):
        pass
    with two.turn("41", never_closed) as closed:
        pass
    change(one, "closed_until = clock_timestamp() - interval '1 minute'")
    with two.turn("41", never_closed) as opened:
        pass

    assert 0 < closed.closed_s <= HOUR_S
    assert opened.closed_s == 0.0


def test_a_holder_that_dies_gives_its_turn_up_and_its_own_write_is_no_failure(
    start_replica, caplog
):
    one, two = start_replica(), start_replica()
    with one.turn("41", never_closed):
        with two._engine.connect() as connection:
            connection.exec_driver_sql(
                "select pg_terminate_backend(pid, 600000) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )
        with two.turn("41", never_closed):
            pass

    assert "a write to GitHub is not recorded" in caplog.text


def test_writes_of_two_replicas_are_an_interval_apart(start_replica, stand_in, at_github):
    at_github.open_pull()
    slept: list[float] = []
    apis = [
        GitHubApi(stand_in.url, turns=start_replica(), write_interval_s=HOUR_S, sleep=slept.append)
        for _ in range(2)
    ]

    def write(api):
        for _ in range(3):
            api.request("POST", COMMENTS, auth=AUTH, json={"body": "text"})

    threads = [threading.Thread(target=write, args=(api,)) for api in apis]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for api in apis:
        api.close()

    assert len(at_github.comments) == 6
    assert len(slept) == 5  # all but the first of both
    assert all(HOUR_S / 2 < seconds <= HOUR_S for seconds in slept)
