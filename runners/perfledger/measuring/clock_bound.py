"""Finds steps that work until a clock says so: slower code does less in the same time.

Their time is what they were given, whatever they do in it. A step that asks a clock again and again
is run once with clocks that run faster: only a step that they end ends much earlier. It may be one
that is done before its time limit, but not with faster clocks: so it also runs with slower ones.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any

Clock = Callable[[], float]

CLOCKS: tuple[Clock, ...] = (
    *(time.perf_counter, time.perf_counter_ns, time.monotonic, time.monotonic_ns),
    *(time.time, time.time_ns, time.process_time, time.process_time_ns),
    *(time.thread_time, time.thread_time_ns),
)
# Times that one function asks a clock in one step. Twice is a measurement of its own.
MIN_ASKED = 3
FAST = 4.0  # speed of the faster clocks
SLOW = 0.5  # speed of the slower clocks
# Part of the shortest step. A step that the faster clocks end takes a quarter.
MAX_FAST_PART = 0.5
# Part of a short step. A step that the slower clocks end takes twice as long.
MIN_SLOW_PART = 1.5
# Beside other programs a step may wait for a core.
TRIES = 5
# Longer steps are not looked at: what watches a step's calls makes it several times slower.
MAX_STEP_S = 0.25
MODULES_THAT_COMPILE = ("torch._dynamo",)  # which a watched frame could disturb


def ends_by_clock(step: Callable[[], object], steps_s: Sequence[float]) -> bool:
    """Return whether clocks say when a step ends; it runs once and twice TRIES times at most.

    `steps_s` are its usual times. False if that is unknown: its calls are watched already, or it
    raises an exception.
    """
    shortest_s = min(steps_s, default=0.0)
    is_watched = sys.getprofile() is not None
    is_compiled = any(name in sys.modules for name in MODULES_THAT_COMPILE)
    if not 0 < shortest_s <= MAX_STEP_S or is_watched or is_compiled:
        return False
    try:
        places = _asking_places(step)
        return (
            bool(places)
            and _ends_within(MAX_FAST_PART * shortest_s, step, places, speed=FAST)
            and not _ends_within(MIN_SLOW_PART * _short_s(steps_s), step, places, speed=SLOW)
        )
    except BaseException:
        return False


def _asking_places(step: Callable[[], object]) -> list[dict[str, Any]]:
    """Run the step; return the global names of the functions that ask a clock again and again."""
    polls: Counter[CodeType] = Counter()
    names: dict[CodeType, dict[str, Any]] = {}

    def hear(frame: FrameType, event: str, argument: object) -> None:
        if event == "c_call" and argument in CLOCKS:
            polls[frame.f_code] += 1
            names[frame.f_code] = frame.f_globals

    sys.setprofile(hear)
    try:
        step()
    finally:
        sys.setprofile(None)
    return [names[code] for code, times in polls.items() if times >= MIN_ASKED]


def _short_s(steps_s: Sequence[float]) -> float:
    """Return the time of a step that hardly waited for a core: a tenth takes less."""
    return sorted(steps_s)[len(steps_s) // 10]


def _ends_within(
    limit_s: float, step: Callable[[], object], places: list[dict[str, Any]], *, speed: float
) -> bool:
    """Return whether a step ends within this time in one of its tries."""
    return any(_seconds(step, places, speed=speed) < limit_s for _ in range(TRIES))


def _seconds(step: Callable[[], object], places: list[dict[str, Any]], *, speed: float) -> float:
    """Return how long the step takes if the clocks that these names refer to have this speed."""
    wall = time.perf_counter
    other_clocks = {clock: _at_speed(clock, speed) for clock in CLOCKS}
    old_values: list[tuple[dict[str, Any], str, object]] = []
    try:
        for names in (time.__dict__, *places):
            for name, value in tuple(names.items()):
                with suppress(TypeError):  # a value without a hash
                    if value in other_clocks:
                        old_values.append((names, name, value))
                        names[name] = other_clocks[value]
        began = wall()
        step()
        return wall() - began
    finally:
        for names, name, value in old_values:
            names[name] = value


def _at_speed(clock: Clock, speed: float) -> Clock:
    began = clock()
    kind = type(began)  # whole nanoseconds stay whole
    return lambda: began + kind(speed * (clock() - began))
