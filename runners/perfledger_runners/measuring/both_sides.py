"""Runs untimed tasks for both sides at the same time."""

import math
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from threading import Event
from typing import TypeVar

from perfledger.records import Side
from perfledger_runners.children.harness import Harness

T = TypeVar("T")


def on_both_sides(harness: Harness, task: Callable[[Harness, Side], T]) -> Mapping[Side, T]:
    """Return the task's result for each side.

    If this process is interrupted, or a task raises an exception, the other task's harness is out
    of time: its children end, and no thread is left.
    """
    is_interrupted = Event()
    hasty = replace(harness, clock=lambda: math.inf if is_interrupted.is_set() else harness.clock())
    with ThreadPoolExecutor(len(Side)) as pool:
        results = {side: pool.submit(task, hasty, side) for side in Side}
        try:
            for result in as_completed(results.values()):
                result.result()
        except BaseException:
            is_interrupted.set()
            raise
    return {side: result.result() for side, result in results.items()}
