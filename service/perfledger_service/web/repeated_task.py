"""Runs a task repeatedly beside the requests."""

import threading
from collections.abc import Callable

import structlog

_log = structlog.stdlib.get_logger(__name__)


class RepeatedTask:
    """Thread that calls a task, waits, and calls it again, even if it raises."""

    def __init__(self, name: str, task: Callable[[], None], *, every_s: float) -> None:
        self._name = name
        self._task = task
        self._every_s = every_s
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin with a wait: work due at the start was done there."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the call in progress."""
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(self._every_s):
            try:
                self._task()
            except Exception as error:  # the database may be down: the next call may succeed
                _log.error("a repeated task failed", task=self._name, exc_info=error)
