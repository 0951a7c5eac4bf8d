"""Admits workloads to the measuring in waves, if the time is too short for all of them at once.

One pair of each of a hundred workloads settles none of them. The order is that of the suite, behind
those whose steps call what the change edits. The clock decides how many begin, and no result does,
so what is measured is no choice by results.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Self

from perfledger.protocol import ChildRequest

# Workloads that begin together. They share the start of a process and the imports of their file:
# with half as many, a file that is imported for as long as they step costs a third more time.
WAVE = 16
# As many times their measured steps as pairs take: processes start, files are imported and steps
# warm up. Without time for that, workloads begin in waves.
USUAL_SLOWNESS = 2.0
# Share of the time in which only workloads that call changed functions are measured, until they are
# settled. The rest is for the others: a call may be hidden.
FIRST_SHARE = 0.5


def least_pair_s(request: ChildRequest) -> float:
    """Return how long a pair takes at least: the measured steps of both sides.

    Interleaved sides step for a fixed time each, others for as long as they need to.
    """
    effort = request.effort
    return 2 * (effort.max_seconds if request.is_interleaved else effort.min_seconds)


@dataclass(slots=True, kw_only=True)
class Admission:
    """The workloads that are being measured, and those that wait for a later wave, in order.

    Each workload needs the `fewest` pairs for a test. While more than `others_s` seconds are left,
    only those of `first` are measured.
    """

    fewest: int
    waiting: tuple[str, ...]
    first: frozenset[str] = frozenset()
    others_s: float = 0.0
    admitted: set[str] = field(default_factory=set[str])

    @classmethod
    def begin(
        cls,
        workloads: Sequence[str],
        *,
        fewest: int,
        least_pair_s: float,
        seconds_left: float,
        first: Sequence[str] = (),
        last: Collection[str] = (),
    ) -> Self:
        """Admit all workloads, or a first wave if there is hardly time for all of them.

        The workloads of `first` then begin before the others, in their order, and those of `last`
        after them.
        """
        admission = cls(fewest=fewest, waiting=tuple(workloads))
        if has_time_for(
            len(workloads), fewest=fewest, least_pair_s=least_pair_s, seconds_left=seconds_left
        ):
            admission.admit(workloads)
            return admission
        admission.first = frozenset(first)
        admission.others_s = (1 - FIRST_SHARE) * seconds_left
        ordered = sorted(workloads, key=lambda name: name in last)
        admission.waiting = tuple(dict.fromkeys((*first, *ordered)))
        admission.admit(admission.waiting[: min(WAVE, len(first) or WAVE)])
        return admission

    def admit(self, workloads: Iterable[str]) -> None:
        """Admit these workloads."""
        self.admitted |= set(workloads)
        self.waiting = tuple(each for each in self.waiting if each not in self.admitted)

    def next_round(
        self,
        open_workloads: Collection[str],
        done: Mapping[str, int],
        *,
        seconds: Mapping[str, float],
        pair_s: float,
        seconds_left: float,
    ) -> frozenset[str]:
        """Return the workloads of the next round, which have equally many pairs.

        `open_workloads` are admitted and need more pairs than they have `done`; `seconds` is the
        time of a pair of each that ran alone, and `pair_s` the mean time in rounds. Those without a
        test go first, then a next wave, then all. There is none without time for the rounds up to a
        test, or if some workloads are behind.
        """
        untested = [each for each in open_workloads if done[each] < self.fewest]
        most = max((done[each] for each in untested), default=0)
        ahead = [each for each in untested if done[each] == most]
        if most == 0 and ahead:
            return frozenset(ahead)
        # In a round workloads share the start of a process, so that each costs less than alone.
        alone_s = sum(done[each] * seconds[each] for each in done.keys() & seconds.keys())
        share = pair_s * sum(done.values()) / alone_s if alone_s else 1.0
        chosen = _affordable(
            {each: share * seconds.get(each, pair_s) for each in ahead},
            seconds_left=seconds_left / max(1, self.fewest - most),
        )
        if not chosen and self.waiting:
            return self._open_first(open_workloads, done, pair_s, seconds_left) or self._next_wave(
                pair_s=pair_s, seconds_left=seconds_left
            )
        if chosen or untested:
            return chosen
        is_together = len({done[each] for each in open_workloads}) == 1
        has_time = len(open_workloads) * pair_s <= seconds_left
        return frozenset(open_workloads) if is_together and has_time else frozenset()

    def _open_first(
        self,
        open_workloads: Collection[str],
        done: Mapping[str, int],
        pair_s: float,
        seconds_left: float,
    ) -> frozenset[str]:
        """Return those of the first workloads to go on with, before others begin; may be none."""
        tested = [each for each in open_workloads if each in self.first]
        if not tested or self.first.intersection(self.waiting):
            return frozenset()
        fewest_done = min(done[each] for each in tested)
        chosen = frozenset(each for each in tested if done[each] == fewest_done)
        return chosen if seconds_left - len(chosen) * pair_s > self.others_s else frozenset()

    def _next_wave(self, *, pair_s: float, seconds_left: float) -> frozenset[str]:
        """Admit and return as many of the next workloads as there is time to test."""
        needed_s = self.fewest * pair_s
        number = min(WAVE, int(seconds_left / needed_s)) if needed_s > 0 else WAVE
        number = min(number, len(self.first.intersection(self.waiting)) or number)
        wave = self.waiting[: max(0, number)]
        self.admit(wave)
        return frozenset(wave)


def has_time_for(workloads: int, *, fewest: int, least_pair_s: float, seconds_left: float) -> bool:
    """Return whether there is probably time for a test of so many workloads."""
    return USUAL_SLOWNESS * workloads * fewest * least_pair_s <= seconds_left


def _affordable(costs_s: Mapping[str, float], *, seconds_left: float) -> frozenset[str]:
    """Return the workloads that one round has time for, the cheapest ones first."""
    names = sorted(costs_s, key=lambda name: (costs_s[name], name))
    totals_s = accumulate(costs_s[name] for name in names)
    return frozenset(
        name for name, total_s in zip(names, totals_s, strict=True) if total_s <= seconds_left
    )
