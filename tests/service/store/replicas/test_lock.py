"""Locks of replicas, on a real PostgreSQL."""

from zlib import crc32

import pytest

from perfledger_service.store.database import open_engine
from perfledger_service.store.replicas.lock import ReplicaLock

pytestmark = pytest.mark.slow


@pytest.fixture
def start_replica(postgres_url):
    """Start replicas that hold their locks."""
    replicas = []

    def start():
        engine = open_engine(postgres_url)
        lock = ReplicaLock(engine)
        replicas.append((engine, lock))
        lock.hold()
        return lock

    yield start
    for engine, lock in replicas:
        lock.release()
        engine.dispose()


def is_dead(lock, other):
    with lock.of_dead(other.executor_id) as is_dead:
        return is_dead


def test_every_start_is_another_executor(start_replica):
    assert start_replica().executor_id != start_replica().executor_id


def test_a_replica_lives_until_its_connection_ends(start_replica):
    one, two = start_replica(), start_replica()

    assert not is_dead(two, one)
    one.release()
    assert is_dead(two, one)


def test_only_one_replica_buries_a_dead_one_at_a_time(start_replica):
    dead, two, three = start_replica(), start_replica(), start_replica()
    dead.release()

    with two.of_dead(dead.executor_id) as first, three.of_dead(dead.executor_id) as second:
        assert (first, second) == (True, False)
    assert is_dead(three, dead)


def test_a_lost_connection_is_replaced_and_the_lock_taken_again(start_replica, caplog):
    one, two = start_replica(), start_replica()
    with two._engine.connect() as connection:
        connection.exec_driver_sql(
            "select pg_terminate_backend(pid, 600000) from pg_locks"
            " where locktype = 'advisory' and pid <> pg_backend_pid() and objid::bigint ="
            f" {crc32(one.executor_id.encode()) ^ 2**31}"
        )
    assert is_dead(two, one)

    one.hold()

    assert not is_dead(two, one)
    assert "was lost" in caplog.text
