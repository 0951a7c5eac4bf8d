"""Ranks that exchange bytes over real Unix sockets; each rank is a thread here."""

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from perfledger.measuring.rank_link import (
    ExchangeKind,
    RankError,
    RankLink,
    RankPlace,
    connect_to_agent,
    join_ranks,
    rank_place,
    set_rank_variables,
    shared_port,
)
from perfledger.protocol import AGENT_SOCKET

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "4"}
IN_SLURM = {"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}


def run_ranks(folder: Path, count: int, work: Callable[[RankLink], object]) -> list[object]:
    """Return what `work` returns on each rank, or its RankError."""

    def rank(number: int) -> object:
        link = join_ranks(folder, RankPlace(number, count))
        try:
            return work(link)
        except RankError as error:
            return error
        finally:
            link.close()

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(rank, range(count)))


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        (TORCHRUN, RankPlace(1, 4)),
        (TORCHRUN | IN_SLURM, RankPlace(1, 4)),
        (IN_SLURM, RankPlace(0, 1)),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"} | IN_SLURM, RankPlace(3, 8)),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, RankPlace(0, 2)),
    ],
)
def test_a_launcher_says_which_rank_a_process_is(environment, place):
    assert rank_place(environment) == place


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"RANK": "0"},
        {"RANK": "4", "WORLD_SIZE": "4"},
        {"RANK": "-1", "WORLD_SIZE": "4"},
        {"RANK": "abc", "WORLD_SIZE": "4"},
        {"RANK": "0", "WORLD_SIZE": "²"},
        {"RANK": "0", "WORLD_SIZE": "9" * 5000},
    ],
)
def test_a_process_without_a_place_is_refused(environment):
    with pytest.raises(RankError, match="rank"):
        rank_place(environment)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_every_rank_gets_the_answers_of_all_by_rank(tmp_path, count):
    answers = run_ranks(
        tmp_path, count, lambda link: link.exchange(ExchangeKind.FACTS, b"x" * link.rank)
    )

    assert answers == [tuple(b"x" * rank for rank in range(count))] * count


def test_seconds_arrive_exactly(tmp_path):
    answers = run_ranks(tmp_path, 2, lambda link: link.exchange_seconds(0.1 + link.rank / 3))

    assert answers == [(0.1, 0.1 + 1 / 3)] * 2


def test_ranks_that_do_different_things_are_told_so(tmp_path):
    def work(link):
        link.exchange(ExchangeKind.BARRIER)
        link.exchange(ExchangeKind.TIMES if link.rank else ExchangeKind.BARRIER)

    first, _ = run_ranks(tmp_path, 2, work)

    assert "rank 1 and rank 0 do not run the same steps" in str(first)


def test_a_rank_that_ends_ends_the_others(tmp_path):
    def work(link):
        if link.rank == 0:
            link.exchange(ExchangeKind.BARRIER)

    first, _ = run_ranks(tmp_path, 2, work)

    assert str(first) == "rank 1 ended before the others"


def test_two_processes_of_one_rank_are_refused(tmp_path):
    with ThreadPoolExecutor(3) as threads:
        places = [RankPlace(0, 3), RankPlace(1, 3), RankPlace(1, 3)]
        first, *others = [threads.submit(join_ranks, tmp_path, place) for place in places]

        error = first.exception()
        for other in others:
            other.result().close()

    assert isinstance(error, RankError)
    assert "two processes with rank 1 of 3" in str(error)


def test_all_ranks_agree_on_a_free_port(tmp_path):
    first, second = run_ranks(tmp_path, 2, shared_port)

    assert first == second
    assert isinstance(first, int)
    assert 0 < first < 2**16


def test_what_a_launcher_does_not_set_is_set_and_the_rest_kept(tmp_path):
    def work(link):
        environment = {"MASTER_PORT": "29500"}
        set_rank_variables(environment, link)
        return environment

    _, second = run_ranks(tmp_path, 2, work)

    assert second == {
        "RANK": "1",
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29500",
    }


def test_a_rank_finds_the_agent_in_the_folder(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / AGENT_SOCKET))
        listener.listen()
        with socket.socket(fileno=connect_to_agent(tmp_path)) as rank:
            rank.sendall(b"here")

            agent, _ = listener.accept()
            with agent:
                assert agent.recv(4) == b"here"
