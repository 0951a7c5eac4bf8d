"""Messages become lines of JSON on a descriptor that the workload does not know of."""

import fcntl
import json
import os
from collections.abc import Callable, Mapping

from perfledger.protocol import PROTOCOL_VERSION, Event

# High enough that a workload which closes or writes "every" low descriptor rarely meets it.
LOWEST_DESCRIPTOR = 100


class Channel:
    """One line of JSON after another; only the process that opened it may write.

    A child that the workload forked, and that came back into the harness, ends there and then: it
    would measure and answer a second time.
    """

    def __init__(
        self,
        descriptor: int,
        *,
        at_fork: Callable[[Callable[[], None]], None] = lambda in_child: os.register_at_fork(
            after_in_child=in_child
        ),
        leave: Callable[[int], object] = os._exit,
    ) -> None:
        self._descriptor = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR)
        os.close(descriptor)
        self._leave = leave
        self._is_forked = False
        at_fork(self._note_fork)

    def send(self, event: Event, fields: Mapping[str, object] | None = None) -> None:
        """Write one message as a line."""
        self.leave_if_forked()
        message = {"version": PROTOCOL_VERSION, "event": event, **(fields or {})}
        text = json.dumps(message, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        line = text.encode("utf-8", "replace") + b"\n"  # a file's name may hold lone surrogates
        while line:
            line = line[os.write(self._descriptor, line) :]

    def wait(self) -> None:
        """Wait until the agent writes a byte: it is this child's turn."""
        os.read(self._descriptor, 1)

    def close(self) -> None:
        """Tell the reader that nothing more comes, even if the workload's threads live on."""
        os.close(self._descriptor)

    def leave_if_forked(self) -> None:
        """End this process at once if it is not the one that opened the channel.

        This is called after every step: a flag costs nanoseconds, asking for the process's number
        a system call.
        """
        if self._is_forked:
            self._leave(0)

    def _note_fork(self) -> None:
        self._is_forked = True
