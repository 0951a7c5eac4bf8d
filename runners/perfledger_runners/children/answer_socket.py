"""Connects the agent to a child: a process with an inherited pair of sockets."""

import os
import selectors
import socket
from contextlib import suppress
from typing import Protocol

from perfledger.protocol import FD_VARIABLE
from perfledger.records import FailureReason

READ_BYTES = 2**16


def turn_line(core: int | None) -> bytes:
    """Return the line that starts a child's turn, with the number of a core unless it is None."""
    return f"{'' if core is None else core}\n".encode()


class AnswerSocket(Protocol):
    """The agent's end of the connections to one child."""

    @property
    def variables(self) -> dict[str, str]:
        """Return the variables by which the child finds the agent."""
        ...

    @property
    def inherited(self) -> tuple[int, ...]:
        """Return the descriptors that the child inherits."""
        ...

    def child_started(self) -> None:
        """Release resources that only the child needs."""
        ...

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Let a selector wake when the child has written."""
        ...

    def read(self) -> bytes:
        """Return the child's answers so far, without waiting."""
        ...

    def unread(self) -> bytes:
        """Return the answers that `read` has not returned yet, without waiting."""
        ...

    def start_turn(self, core: int | None = None) -> None:
        """Let the child continue, on this core."""
        ...

    def trouble(self) -> tuple[FailureReason, str] | None:
        """Return why the child cannot continue, if its answers do not say so."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class PairedSocket:
    """The agent's end of a pair of sockets; the child inherits the other."""

    def __init__(self) -> None:
        # A socket, because the agent writes to it to start a turn.
        self._socket, self._theirs = socket.socketpair()
        self._socket.setblocking(False)
        self._selector: selectors.BaseSelector | None = None

    @property
    def variables(self) -> dict[str, str]:
        """Return the variable with the number of the descriptor."""
        return {FD_VARIABLE: str(self._theirs.fileno())}

    @property
    def inherited(self) -> tuple[int, ...]:
        """Return the child's descriptor."""
        return (self._theirs.fileno(),)

    def child_started(self) -> None:
        """Close the child's end."""
        self._theirs.close()

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Let a selector wake when the child has written."""
        selector.register(self._socket, selectors.EVENT_READ)
        self._selector = selector

    def read(self) -> bytes:
        """Return the answers so far, without waiting."""
        try:
            data = os.read(self._socket.fileno(), READ_BYTES)
        except BlockingIOError:
            return b""
        except ConnectionError:  # it exited with an unread turn
            data = b""
        if not data and self._selector is not None:
            self._selector.unregister(self._socket)  # a closed socket is always ready
            self._selector = None
        return data

    def unread(self) -> bytes:
        """Return the beginning of the answers that `read` has not returned yet."""
        with suppress(OSError):  # none, or the child is gone
            return self._socket.recv(READ_BYTES, socket.MSG_PEEK)
        return b""

    def start_turn(self, core: int | None = None) -> None:
        """Start the child's next turn, on this core."""
        with suppress(OSError):  # it is gone, which is detected elsewhere
            self._socket.send(turn_line(core))

    def trouble(self) -> tuple[FailureReason, str] | None:
        """Return None: the child's answers and its exit say everything."""
        return None

    def close(self) -> None:
        """Close the agent's end, and the child's if it did not start."""
        self._socket.close()
        self._theirs.close()
