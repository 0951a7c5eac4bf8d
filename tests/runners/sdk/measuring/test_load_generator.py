"""Queues whose arithmetic is known, on a clock that moves only while a step runs or one sleeps."""

from contextlib import nullcontext
from itertools import chain, repeat
from threading import Barrier, Event, get_ident

import pytest
from hypothesis import given, strategies as st

from perfledger.load import MAX_REQUESTS, Load, LoadResult, LoopKind
from perfledger.measuring.load_generator import (
    SHARES,
    LoadTimer,
    StepServer,
    Workers,
    run_load,
)


def driven(load, crew, timer):
    served: list[LoadResult] = []
    run_load(load, crew, timer, report=served.append)
    return tuple(served)


class Host:
    """One server whose services take these seconds in turn; time passes in nothing else."""

    def __init__(self, services_s, *, late_s=0.0):
        self.now_s = 100.0
        self.services = iter(services_s)
        self._late_s = late_s
        self.timer = LoadTimer(now=lambda: self.now_s, sleep=self.sleep)

    def sleep(self, seconds):
        self.now_s += seconds + self._late_s

    def step(self):
        self.now_s += next(self.services)

    def served(self, **load):
        with Workers(lambda: StepServer(self.step, nullcontext), 1) as crew:
            return driven(Load(**load), crew, self.timer)


def constant(service_s, **options):
    return Host(repeat(service_s), **options)


@given(clients=st.integers(1, 32), exponent=st.integers(-12, 3))
def test_clients_of_a_constant_server_wait_for_each_other_exactly(clients, exponent):
    service_s = 2.0**exponent  # sums of it are exact

    (served,) = constant(service_s).served(concurrency=(clients,), seconds=8 * service_s)

    assert set(served.latencies_s) == {clients * service_s}
    assert set(served.services_s) == {service_s}
    assert served.per_second == 1 / service_s
    assert (served.mode, served.concurrency) == (LoopKind.CLOSED, clients)


def test_even_arrivals_below_the_capacity_never_wait():
    host = constant(0.25)

    (served,) = host.served(arrivals_s=tuple(0.5 * n for n in range(101)))

    assert set(served.latencies_s) == {0.25}
    assert served.per_second == served.offered_per_second == 2.0


def test_a_stall_shows_in_all_that_should_have_begun_meanwhile():
    host = Host(chain([0.25] * 4, [8.0], repeat(0.25)))

    (served,) = host.served(arrivals_s=tuple(map(float, range(40))))

    late = [latency for latency in served.latencies_s if latency > 0.25]
    assert late[:8] == [8.0, 7.25, 6.5, 5.75, 5.0, 4.25, 3.5, 2.75]
    assert len(late) == 11  # each wins back 0.75 s of them
    assert sum(service > 0.25 for service in served.services_s) == 1


def test_a_stall_at_the_end_of_a_closed_loop_counts_for_all_who_wait():
    host = Host(chain([1.0] * 7, [50.0], repeat(1.0)))

    (served,) = host.served(concurrency=(4,), seconds=3.5)

    assert served.latencies_s == (4.0, 4.0, 4.0, 53.0, 53.0, 53.0, 53.0)
    assert served.answered == 4


def test_what_the_host_sleeps_too_long_is_latency():
    (served,) = constant(0.25, late_s=0.125).served(arrivals_s=(0.0, 1.0, 2.0))

    assert served.latencies_s == (0.25, 0.375, 0.375)


def test_more_arrivals_than_can_be_served_are_given_up_and_counted():
    (served,) = constant(1.0).served(rates=(10.0,), seconds=5.0)

    assert served.per_second == 1.0
    assert len(served.latencies_s) + served.unserved == 50
    assert served.unserved > 0


def test_random_arrivals_are_as_many_as_asked_for_and_the_same_for_a_seed():
    def latencies(seed):
        (served,) = constant(0.01).served(rates=(50.0,), seconds=20.0, seed=seed)
        assert served.offered_per_second == 50.0
        assert len(served.latencies_s) == 1000
        return served.latencies_s

    assert latencies(1) == latencies(1) != latencies(2)


def test_a_rate_that_comes_again_has_other_arrivals():
    one, other = constant(0.01).served(rates=(50.0, 50.0), seconds=20.0)

    assert one.offered_per_second == other.offered_per_second
    assert one.latencies_s != other.latencies_s


def test_random_arrivals_at_a_constant_server_wait_as_pollaczek_and_khinchine_say():
    (served,) = constant(0.01).served(rates=(70.0,), seconds=280.0)

    waits = [all_ - own for all_, own in zip(served.latencies_s, served.services_s, strict=True)]
    assert sum(waits) / len(waits) == pytest.approx(0.7 / 0.3 * 0.01 / 2, rel=0.1)


def test_a_sweep_doubles_the_clients_until_that_adds_nothing_and_then_offers_shares():
    points = constant(0.125).served(seconds=20.0)

    closed = [each.concurrency for each in points if each.mode is LoopKind.CLOSED]
    offered = [each.offered_per_second for each in points if each.mode is LoopKind.OPEN]
    assert closed == [1, 2]
    assert offered == [share * 8.0 for share in SHARES]


def test_a_sweep_goes_on_while_twice_the_clients_gain_at_all_much():
    host = Host(iter(()))
    host.services = iter(lambda: 0.125 if host.now_s < 120.0 else 0.1, None)

    points = host.served(seconds=20.0)

    assert [each.concurrency for each in points if each.mode is LoopKind.CLOSED] == [1, 2, 4]


@pytest.mark.slow
def test_a_fast_step_ends_a_point_at_the_most_requests():
    closed, opened = constant(2.0**-20).served(concurrency=(8,), rates=(1e6,), seconds=10.0)

    assert len(closed.latencies_s) == MAX_REQUESTS
    assert len(opened.latencies_s) + opened.unserved == MAX_REQUESTS
    assert opened.seconds == MAX_REQUESTS / 1e6


def test_servers_work_at_once_each_on_the_thread_that_set_it_up():
    barrier, threads = Barrier(3, timeout=600), []

    def set_up():
        mine = get_ident()
        threads.append(mine)

        def step():
            assert get_ident() == mine
            barrier.wait()

        return StepServer(step, nullcontext)

    with Workers(set_up, 3) as crew:
        (served,) = driven(Load(arrivals_s=(0.0,) * 5 + (1e-9,)), crew, LoadTimer())

    assert len(served.latencies_s) == 6
    assert threads[0] == get_ident()
    assert len(set(threads)) == 3


def test_no_more_servers_work_than_there_are_clients():
    used = []

    def set_up():
        return StepServer(lambda: used.append(get_ident()), nullcontext)

    with Workers(set_up, 3) as crew:
        driven(Load(concurrency=(1,), seconds=0.001), crew, LoadTimer())

    assert set(used) == {get_ident()}


@pytest.mark.parametrize("failing", range(3))
def test_a_server_that_fails_ends_the_load_with_its_error(failing):
    results: list[int] = []
    failed = Event()

    def set_up():
        number = len(results)
        results.append(number)

        def step():
            if number == failing:
                failed.set()
                raise ValueError(number)
            assert failed.wait(timeout=600)

        return StepServer(step, nullcontext)

    with pytest.raises(ValueError, match=str(failing)), Workers(set_up, 3) as crew:
        driven(Load(concurrency=(6,), seconds=600.0), crew, LoadTimer())


def test_a_set_up_that_fails_leaves_no_thread_behind():
    results = []

    def set_up():
        results.append(get_ident())
        if len(results) == 2:
            raise MemoryError
        return StepServer(lambda: None, nullcontext)

    with pytest.raises(MemoryError):
        Workers(set_up, 3)

    assert len(results) == 2


def test_arrivals_are_as_long_after_the_begin_as_they_say():
    host = constant(0.25)

    host.served(arrivals_s=(0.5, 1.5))

    assert host.now_s == 100.0 + 1.5 + 0.25
