"""Sends messages as lines of JSON on a private descriptor."""

import fcntl
import json
import os
from collections.abc import Callable, Mapping

from perfledger.protocol import MIN_DESCRIPTOR, PROTOCOL_VERSION, MessageType

MAX_TURN_BYTES = 16  # the number of a core, and the end of the line
FOLLOWER_MESSAGES = (MessageType.RANK, MessageType.FAILED)


class MessageChannel:
    """A channel of JSON lines that only the harness may write: one process at a time.

    If a workload forks and the fork returns into the harness, it exits at once, because it would
    measure and answer a second time. A `follower`, any rank but the first of a launched workload,
    sends only its failures, and waits for the first rank instead of the agent.
    """

    def __init__(
        self,
        descriptor: int,
        *,
        is_follower: bool = False,
        at_fork: Callable[[Callable[[], None]], None] = lambda in_child: os.register_at_fork(
            after_in_child=in_child
        ),
        leave: Callable[[int], object] = os._exit,
    ) -> None:
        self._descriptor = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, MIN_DESCRIPTOR)
        os.close(descriptor)
        self._is_follower = is_follower
        self._leave = leave
        self._is_forked = False
        at_fork(self._note_fork)

    def send(self, event: MessageType, fields: Mapping[str, object] | None = None) -> None:
        """Write one message as a line."""
        self.leave_if_forked()
        if self._is_follower and event not in FOLLOWER_MESSAGES:
            return
        message = {"version": PROTOCOL_VERSION, "event": event, **(fields or {})}
        text = json.dumps(message, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        line = text.encode("utf-8", "replace") + b"\n"  # file names may have lone surrogates
        while line:
            line = line[os.write(self._descriptor, line) :]

    def wait(self) -> int | None:
        """Wait until the agent writes a line, which gives this child its turn.

        Return the number in it: the core on which the other side ran last, None without one.
        """
        if self._is_follower:
            return None
        line = os.read(self._descriptor, MAX_TURN_BYTES).strip()
        return int(line) if line.isdigit() else None

    def close(self) -> None:
        """Close the channel, even if the workload's threads live on."""
        os.close(self._descriptor)

    def answer_from_fork(self) -> None:
        """Answer from this process, a fork that the harness made, not the workload."""
        self._is_forked = False

    def leave_if_forked(self) -> None:
        """Exit at once if this process is a fork that the harness did not make.

        It is called after every step: a flag costs nanoseconds, getpid a system call.
        """
        if self._is_forked:
            self._leave(0)

    def _note_fork(self) -> None:
        self._is_forked = True
