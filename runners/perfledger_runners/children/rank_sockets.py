"""Connects the agent to the ranks of a launched child, which find it by a socket in a folder.

Rank 0 answers as any child does. Any other rank sends at most its failure; if it closes its
connection before rank 0 is done, it has died.
"""

import selectors
import socket
from contextlib import suppress
from pathlib import Path

import msgspec

from perfledger.protocol import AGENT_SOCKET, RANKS_VARIABLE
from perfledger.records import FailureReason
from perfledger_runners.children.answer_socket import READ_BYTES, turn_line
from perfledger_runners.children.launch import LaunchError
from perfledger_runners.children.protocol_parser import (
    MAX_LINE_BYTES,
    FailedMessage,
    GarbageError,
    RankMessage,
    decode_message,
)

RANK_DECODER = msgspec.json.Decoder(RankMessage)
# Longest queue of connections: of ranks, and of programs that probe the socket.
MAX_CONNECTIONS_PER_RANK = 4
DIED = "it ended without an error message: it was killed, crashed or exited the interpreter"


class RankSockets:
    """The agent's end of the connections to all ranks of one child."""

    def __init__(self, folder: Path, ranks: int) -> None:
        folder.mkdir()
        self._folder, self._expected = folder, ranks
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            self._listener.bind(str(folder / AGENT_SOCKET))
        except OSError as error:  # a path of more than 107 bytes
            self._listener.close()
            msg = (
                f"the ranks cannot meet in {folder}: {error}; set TMPDIR to a folder whose path is "
                "shorter"
            )
            raise LaunchError(msg) from error
        self._listener.listen(ranks)
        self._listener.setblocking(False)
        self._selector: selectors.BaseSelector | None = None
        self._texts: dict[socket.socket, bytes] = {}  # open connections, with unread text
        self._ranks: dict[socket.socket, int] = {}
        self._first: socket.socket | None = None
        self._trouble: tuple[FailureReason, str] | None = None

    @property
    def variables(self) -> dict[str, str]:
        """Return the variable with the folder of the sockets."""
        return {RANKS_VARIABLE: str(self._folder)}

    @property
    def inherited(self) -> tuple[int, ...]:
        """Return nothing: launchers close descriptors that their ranks would inherit."""
        return ()

    def child_started(self) -> None:
        """Do nothing: the ranks connect by themselves."""

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Let a selector wake when a rank connects or writes."""
        selector.register(self._listener, selectors.EVENT_READ)
        self._selector = selector

    def read(self) -> bytes:
        """Return rank 0's answers so far, without waiting; read the other ranks first."""
        self._accept()
        for connection in tuple(self._texts):
            if connection is not self._first:
                self._hear(connection)
        if self._first is None:
            return b""
        data, self._texts[self._first] = self._texts[self._first], b""
        while self._first in self._open() and len(data) < MAX_LINE_BYTES:
            part = self._receive(self._first)
            data += part
            if not part or self._trouble is None:
                break  # its last answers come before another rank's end
        return data

    def unread(self) -> bytes:
        """Return the beginning of rank 0's answers that `read` has not returned yet."""
        if self._first is None or self._first not in self._open():
            return b""
        with suppress(OSError):  # no more, or the rank is gone
            return self._texts[self._first] + self._first.recv(READ_BYTES, socket.MSG_PEEK)
        return self._texts[self._first]

    def start_turn(self, core: int | None = None) -> None:
        """Start the child's next turn, through rank 0."""
        with suppress(OSError):  # it is gone, which is detected elsewhere
            if self._first is not None:
                self._first.send(turn_line(core))

    def trouble(self) -> tuple[FailureReason, str] | None:
        """Return the failure of the first rank that failed or died."""
        return self._trouble

    @property
    def missing(self) -> tuple[int, ...]:
        """Return the ranks that have not connected."""
        return tuple(sorted({*range(self._expected)} - {*self._ranks.values()}))

    def close(self) -> None:
        """Close all connections."""
        for each in (*self._texts, self._listener):
            each.close()

    def _open(self) -> set[socket.socket]:
        return {each for each in self._texts if each.fileno() >= 0}

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            while True:
                connection, _ = self._listener.accept()
                if len(self._texts) >= MAX_CONNECTIONS_PER_RANK * self._expected:
                    connection.close()
                    self._lose(FailureReason.GARBAGE, "more connections than ranks")
                    continue
                connection.setblocking(False)
                self._texts[connection] = b""
                if self._selector is not None:
                    self._selector.register(connection, selectors.EVENT_READ)

    def _hear(self, connection: socket.socket) -> None:
        """Take the first line of a connection, and the failure of a rank other than 0."""
        if connection not in self._open():
            return
        self._texts[connection] += self._receive(connection)
        try:
            if connection not in self._ranks:
                self._introduce(connection)
            rank = self._ranks.get(connection)
            line, end, _ = self._texts[connection].partition(b"\n")
            if rank and (end or len(line) > MAX_LINE_BYTES):
                self._fail(rank, decode_message(line))
        except (GarbageError, msgspec.MsgspecError) as error:
            self._lose(FailureReason.GARBAGE, str(error))
        rank = self._ranks.get(connection)
        if rank and connection not in self._open():
            self._lose(FailureReason.RAISED, f"rank {rank}: {DIED}")

    def _introduce(self, connection: socket.socket) -> None:
        line, end, rest = self._texts[connection].partition(b"\n")
        if len(line) > MAX_LINE_BYTES:
            msg = "a connection does not name its rank"
            raise GarbageError(msg)
        if not end:
            return
        message = RANK_DECODER.decode(line)
        if message.rank in self._ranks.values():
            msg = f"two processes claim to be rank {message.rank}"
            raise GarbageError(msg)
        self._ranks[connection] = message.rank
        self._texts[connection] = rest
        if message.rank == 0:
            self._first = connection

    def _fail(self, rank: int, message: object) -> None:
        if not isinstance(message, FailedMessage):
            msg = f"rank {rank} answers in place of rank 0"
            raise GarbageError(msg)
        self._lose(message.reason, f"rank {rank}: {message.detail}")

    def _receive(self, connection: socket.socket) -> bytes:
        """Return the data so far; close a connection that the rank has closed."""
        try:
            data = connection.recv(READ_BYTES)
        except BlockingIOError:
            return b""
        except ConnectionError:
            data = b""
        if not data:
            if self._selector is not None:
                self._selector.unregister(connection)
            connection.close()
            if connection is self._first:
                self._lose(FailureReason.RAISED, f"rank 0: {DIED}")
        return data

    def _lose(self, reason: FailureReason, detail: str) -> None:
        """Keep the first failure; the others follow from it."""
        self._trouble = self._trouble or (reason, detail)
