"""Nests the operations of two steps, with the time of each on both sides.

A bundle holds no stacks of Python frames. It holds each operation's exclusive wall time and its
enclosing operations, on host and device: a kernel lies in the operator that launched it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum

from perfledger.profile import Operation, Profile
from perfledger.records import Side
from perfledger_profiles.diff.operations import operations_of
from perfledger_profiles.diff.stable_names import normal_name, normal_path
from perfledger_profiles.timeline.breakdown import OUTSIDE_OPERATIONS

# Of nested operations. A picture with more rows is illegible; a deeper frame counts as time of the
# one around it.
MAX_DEPTH = 16
# Relative to the step: sums of floating-point numbers differ by less.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One operation within its enclosing ones: wall time per step, including the frames in it."""

    name: str
    base_seconds: float
    head_seconds: float
    frames: tuple["Frame", ...] = ()  # head's longest first

    @property
    def delta_seconds(self) -> float:
        """Return how many seconds longer a step spends in this frame."""
        return self.head_seconds - self.base_seconds


@dataclass(frozen=True, slots=True)
class Stack:
    """The names of nested operations, outermost first, and the seconds of the innermost."""

    names: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class _SideStack:
    """A stack of one side."""

    side: Side
    stack: Stack


def stacks_of(profile: Profile) -> tuple[Stack, ...]:
    """Return the stacks of a step, longest first; their seconds sum to the step's.

    Time of the step that belongs to no operation is a separate stack.
    """
    operations = operations_of(profile)
    stacks = [Stack(_names(one), max(one.seconds, 0.0)) for one in operations]
    rest_s = profile.step_seconds - fsum(one.seconds for one in stacks)
    if rest_s > ROUNDING * profile.step_seconds:
        stacks.append(Stack((OUTSIDE_OPERATIONS,), rest_s))
    return tuple(sorted(stacks, key=lambda one: -one.seconds))


def frame_tree(base: Profile, head: Profile) -> Frame:
    """Return the step as a frame with all operations of both sides.

    Frames of both sides are merged if their names agree apart from what depends on the build, the
    tuning and the numbering of instances. The seconds of the frames in a frame sum to at most its
    own; the rest is its own work.
    """
    sides = ((Side.HEAD, head), (Side.BASE, base))
    stacks = [_SideStack(side, stack) for side, profile in sides for stack in stacks_of(profile)]
    return _frame("step", stacks, depth=0)


def frames_below(frame: Frame, *, depth: int = 0) -> Iterator[tuple[int, Frame]]:
    """Yield the frames in a frame with their depth, each before its own children."""
    for one in frame.frames:
        yield depth, one
        yield from frames_below(one, depth=depth + 1)


def _names(operation: Operation) -> tuple[str, ...]:
    around = [part for part in operation.path.split("/") if part]
    return (*around, operation.name)


def _frame(name: str, stacks: Sequence[_SideStack], *, depth: int) -> Frame:
    groups: defaultdict[str, list[_SideStack]] = defaultdict(list)
    for one in stacks:
        if depth < min(len(one.stack.names), MAX_DEPTH):
            groups[_key(one.stack.names[depth])].append(one)
    frames = [_frame(_label(each, depth), each, depth=depth + 1) for each in groups.values()]
    return Frame(
        name=name,
        base_seconds=_seconds(stacks, Side.BASE),
        head_seconds=_seconds(stacks, Side.HEAD),
        frames=tuple(sorted(frames, key=lambda one: (-one.head_seconds, -one.base_seconds))),
    )


def _key(name: str) -> str:
    return normal_name(normal_path(name))


def _label(stacks: Sequence[_SideStack], depth: int) -> str:
    """Return the name on head if there is one, and the number of other names on that side."""
    names = [one.stack.names[depth] for one in stacks if one.side is stacks[0].side]
    more = len(set(names)) - 1
    return f"{names[0]} (+{more})" if more else names[0]


def _seconds(stacks: Sequence[_SideStack], side: Side) -> float:
    return fsum(one.stack.seconds for one in stacks if one.side is side)
