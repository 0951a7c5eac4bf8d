"""Connects the ranks of a launched workload: processes on one host that run one step together.

Every rank runs the same loop and makes the same decisions, which depend only on the times of all
ranks; the ranks exchange these. A launcher such as torchrun passes no descriptors on, so the ranks
meet at Unix sockets in a private folder.
"""

import fcntl
import os
import re
import socket
import struct
import time
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from perfledger.protocol import AGENT_SOCKET, MIN_DESCRIPTOR

RANK_SOCKET = "rank-0"
# The variables in which launchers give a process its place; the first pair that is set counts. Open
# MPI's and MPICH's come first, because a Slurm job around them sets the others for its own step.
PLACE_VARIABLES = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)
NUMBER = re.compile(r"[0-9]{1,6}")
LOOPBACK = "127.0.0.1"
ENDED_EARLY = "ended before the others"  # what the ranks say that waited for another one
RETRY_S = 0.01  # until rank 0 listens, or the agent's start-up limit ends it
HEADER = struct.Struct("!IBI")  # number of the exchange, its kind, bytes of the payload
RANK_FORMAT = struct.Struct("!I")
SECONDS_FORMAT = struct.Struct("!d")


class ExchangeKind(IntEnum):
    """The purpose of an exchange between ranks."""

    BARRIER = 1
    TIMES = 2
    FACTS = 3
    END = 4


class RankError(Exception):
    """An error of ranks that do not run the same workload together."""


@dataclass(frozen=True, slots=True)
class RankPlace:
    """The place of a process among the ranks of its launch."""

    rank: int
    ranks: int


def rank_place(environment: Mapping[str, str]) -> RankPlace:
    """Return the place that the launcher gave this process. Raises RankError without one."""
    for rank, ranks in PLACE_VARIABLES:
        if rank in environment and ranks in environment:
            numbers = (environment[rank], environment[ranks])
            if all(map(NUMBER.fullmatch, numbers)):
                place = RankPlace(*map(int, numbers))
                if place.rank < place.ranks:
                    return place
            msg = f"{rank}={numbers[0]!r:.40} is not a rank of {ranks}={numbers[1]!r:.40}"
            raise RankError(msg)
    msg = "`launch` starts a process that has no rank: none of RANK, OMPI_COMM_WORLD_RANK, …"
    raise RankError(msg)


class RankLink:
    """The connections of one rank: rank 0's to all others in order, the others' to rank 0."""

    def __init__(self, place: RankPlace, sockets: Sequence[socket.socket]) -> None:
        self.rank, self.ranks = place.rank, place.ranks
        self._sockets = sockets
        self._number = 0
        # A worker that a rank forks would keep the connections of a dead rank open.
        os.register_at_fork(after_in_child=self.close)

    def exchange(self, kind: ExchangeKind, payload: bytes = b"") -> tuple[bytes, ...]:
        """Return the payloads of all ranks, by rank; no rank returns before all have called it.

        Raises RankError if a rank has ended or does something else.
        """
        self._number += 1
        if self.rank > 0:
            (first,) = self._sockets
            _send(first, self._packed(kind, payload))
            return tuple(self._receive_payload(first, kind, 0) for _ in range(self.ranks))
        answers = [
            self._receive_payload(each, kind, rank) for rank, each in enumerate(self._sockets, 1)
        ]
        payloads = (payload, *answers)
        answer = b"".join(self._packed(kind, each) for each in payloads)
        for each in self._sockets:
            _send(each, answer)
        return payloads

    def exchange_seconds(self, seconds: float) -> tuple[float, ...]:
        """Return the seconds of all ranks, by rank."""
        answers = self.exchange(ExchangeKind.TIMES, SECONDS_FORMAT.pack(seconds))
        return tuple(float(SECONDS_FORMAT.unpack(each)[0]) for each in answers)

    def close(self) -> None:
        """Close the connections of this process."""
        for each in self._sockets:
            each.close()

    def _packed(self, kind: ExchangeKind, payload: bytes) -> bytes:
        return HEADER.pack(self._number, kind, len(payload)) + payload

    def _receive_payload(self, connection: socket.socket, kind: ExchangeKind, rank: int) -> bytes:
        number, other_kind, size = HEADER.unpack(_receive_bytes(connection, HEADER.size, rank))
        if (number, other_kind) != (self._number, kind):
            msg = (
                f"rank {rank} and rank {self.rank} do not run the same steps: exchange {number} of "
                f"kind {other_kind}, not {self._number} of {int(kind)}; every rank must set "
                "up and run as often as the others"
            )
            raise RankError(msg)
        return _receive_bytes(connection, size, rank)


def connect_to_agent(folder: Path) -> int:
    """Return the descriptor of a connection to the agent."""
    return _connect(folder / AGENT_SOCKET).detach()


def join_ranks(folder: Path, place: RankPlace) -> RankLink:
    """Connect this process to the other ranks, as soon as all of them have started."""
    if place.rank > 0:
        connection = _connect(folder / RANK_SOCKET)
        _send(connection, RANK_FORMAT.pack(place.rank))
        return RankLink(place, (connection,))
    connections: dict[int, socket.socket] = {}
    with socket.socket(socket.AF_UNIX) as listener, ExitStack() as unused:
        part = folder / f"{RANK_SOCKET}.part"  # renamed once it listens
        listener.bind(str(part))
        listener.listen(place.ranks)
        part.rename(folder / RANK_SOCKET)
        while len(connections) < place.ranks - 1:
            connection = unused.enter_context(_above_low_descriptors(listener.accept()[0]))
            (rank,) = RANK_FORMAT.unpack(_receive_bytes(connection, RANK_FORMAT.size, 0))
            if not 0 < rank < place.ranks or rank in connections:
                msg = f"`launch` started two processes with rank {rank} of {place.ranks}"
                raise RankError(msg)
            connections[rank] = connection
        unused.pop_all()
    return RankLink(place, tuple(connections[rank] for rank in sorted(connections)))


def set_rank_variables(environment: MutableMapping[str, str], link: RankLink) -> None:
    """Set those of torchrun's variables that another launcher does not set."""
    port = shared_port(link)
    variables = {
        "RANK": link.rank,
        "LOCAL_RANK": link.rank,  # all ranks are on this host
        "WORLD_SIZE": link.ranks,
        "LOCAL_WORLD_SIZE": link.ranks,
        "MASTER_ADDR": LOOPBACK,
        "MASTER_PORT": port,
    }
    for name, value in variables.items():
        environment.setdefault(name, str(value))


def shared_port(link: RankLink) -> int:
    """Return a port of this host that was free a moment ago, the same on all ranks."""
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        port = str(free.getsockname()[1])
    return int(link.exchange(ExchangeKind.FACTS, port.encode())[0])


def _connect(path: Path) -> socket.socket:
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(path))
        except FileNotFoundError:
            connection.close()
            time.sleep(RETRY_S)
        else:
            return _above_low_descriptors(connection)


def _above_low_descriptors(connection: socket.socket) -> socket.socket:
    descriptor = connection.detach()
    try:
        copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, MIN_DESCRIPTOR)
    finally:
        os.close(descriptor)
    return socket.socket(fileno=copy)


def _send(connection: socket.socket, data: bytes) -> None:
    try:
        connection.sendall(data)
    except ConnectionError as error:
        msg = f"a rank {ENDED_EARLY}: {error}"
        raise RankError(msg) from error


def _receive_bytes(connection: socket.socket, size: int, rank: int) -> bytes:
    data = b""
    while len(data) < size:
        try:
            part = connection.recv(size - len(data))
        except ConnectionError:
            part = b""
        if not part:
            msg = f"rank {rank} {ENDED_EARLY}"
            raise RankError(msg)
        data += part
    return data
