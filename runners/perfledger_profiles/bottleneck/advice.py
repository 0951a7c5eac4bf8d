"""Holds the context that advice rules examine, and formats their triggers."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from perfledger.profile import JAX_PROFILER, Bucket, Kernel, Operation, Profile
from perfledger.rounding import digits, integer, percentage
from perfledger_profiles.bottleneck.classification import Bottleneck, Classification, Recommendation
from perfledger_profiles.bottleneck.communication_bound import OVERLAP
from perfledger_profiles.bottleneck.kernel_time import kernel_operations
from perfledger_profiles.bottleneck.step_shares import (
    BOTTLENECKS,
    ON_DEVICE,
    median_shares,
    whole_name,
)
from perfledger_profiles.hardware.device_peaks import HardwareSpec
from perfledger_profiles.timeline.concurrent_work import ALONE_TIME

# Readings of a step: all of its collectives and copies, exposed or not.
COMMUNICATION_TIME = "comm_time"
COPY_TIMES = ("h2d_time", "d2h_time")
# The smallest share of a step that is worth advice.
MIN_SHARE = 0.01

MAX_NAMES_SHOWN = 2  # of operations, in a trigger's text
# Enough to recognise a generated name (Tensile's have 300 characters).
_MAX_NAME = 60
_ANONYMOUS = re.compile(r"\(anonymous namespace\)::|<unnamed>::")  # of clang, of nvcc
_ARGUMENTS = re.compile(r"[<(]")


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do, and what its estimate assumes."""

    text: str
    assumption: str
    saved: float = 1.0  # of its share of the step, 0 to 1, under the assumption
    is_beside_compute: bool = False  # saves at most the compute beside which none runs yet


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceContext:
    """A profile and its classification, in which rules look for their triggers."""

    profile: Profile
    classification: Classification
    hardware: HardwareSpec | None = None
    timed_seconds: float | None = None  # step time without a profiler

    @property
    def is_jax(self) -> bool:
        """Return whether the operations are XLA's; this decides what is fused."""
        return self.profile.tool == JAX_PROFILER

    @property
    def typical_step(self) -> str:
        """Return the name of the step that the classification's shares refer to."""
        return "the median step" if len(self.profile.each_step) > 1 else "the step"

    @property
    def hidden_collectives_share(self) -> float:
        """Return the share of the step in which collectives already run beside compute."""
        seconds = self.profile.reading(COMMUNICATION_TIME) or 0.0
        return self._share_of_step(seconds * (self.profile.reading(OVERLAP) or 0.0))

    @property
    def hidden_copies_share(self) -> float:
        """Return the share of the step in which copies from or to the host run beside other work.

        It is the time of all of them without the exposed part.
        """
        readings = (self.profile.reading(name) for name in COPY_TIMES)
        exposed_s = self.profile.bucket_seconds()[Bucket.COPY]
        return self._share_of_step(sum(one or 0.0 for one in readings) - exposed_s)

    def overlappable_share(self, hidden_share: float) -> float:
        """Return the share of the step that more work can be hidden behind: the device's own.

        `hidden_share` is the part of it beside which such work runs already.
        """
        return max(0.0, median_shares(self.profile).get(ON_DEVICE, 0.0) - hidden_share)

    def _share_of_step(self, seconds: float) -> float:
        return (
            max(0.0, seconds / self.profile.step_seconds) if self.profile.step_seconds > 0 else 0.0
        )

    def select(self, is_chosen: Callable[[Operation], bool]) -> tuple[Operation, ...]:
        """Return the matching operations, the longest first.

        The host's are left out if its calls do not show what the device waits for.
        """
        return tuple(
            operation
            for operation in self.profile.operations
            if is_chosen(operation) and self._is_known(operation)
        )

    def matching(self, pattern: re.Pattern[str]) -> tuple[Operation, ...]:
        """Return the operations whose path and name match."""
        return self.select(lambda op: pattern.search(f"{op.path}/{op.name}") is not None)

    def of_kernels(self, kernels: Iterable[Kernel]) -> tuple[Operation, ...]:
        """Return the operations of these kernels, with their exclusive time."""
        return kernel_operations(self.profile, kernels)

    def share(self, operations: Iterable[Operation]) -> float:
        """Return the operations' exclusive share of the step, 0 to 1."""
        if not self.profile.step_seconds > 0:
            return 0.0
        spent = sum(operation.seconds for operation in operations)
        return min(spent / self.profile.step_seconds, 1.0)

    def alone_share(self, operations: Iterable[Operation]) -> float:
        """Return the share of the step in which only these operations run on the device.

        Where other work runs as well, the step takes just as long without them.
        """
        if not self.profile.step_seconds > 0:
            return 0.0
        alone = {one.subject: one.value for one in self.profile.readings if one.name == ALONE_TIME}
        of_name: dict[str, float] = defaultdict(float)
        for operation in self.profile.operations:
            of_name[operation.name] += operation.seconds
        spent = sum(
            operation.seconds * min(alone[operation.name] / of_name[operation.name], 1.0)
            if operation.name in alone and of_name[operation.name] > 0
            else operation.seconds
            for operation in operations
        )
        return min(spent / self.profile.step_seconds, 1.0)

    def _is_known(self, operation: Operation) -> bool:
        is_hosts = BOTTLENECKS[operation.bucket] is Bottleneck.HOST
        return self.profile.is_host_known or not is_hosts

    def overhead(self, bottleneck: Bottleneck) -> float:
        """Return the classification's share of the step for a bottleneck."""
        shares = (s.share for s in self.classification.shares if s.bottleneck is bottleneck)
        return next(shares, 0.0)

    def advise(
        self,
        advice: Advice,
        operations: Sequence[Operation],
        what: str,
        *,
        least: float = MIN_SHARE,
    ) -> Recommendation | None:
        """Return the advice if the operations take at least this share of the step.

        The trigger is their share, `what` they are, and their names.
        """
        share, alone_share = self.share(operations), self.alone_share(operations)
        if min(share, alone_share) < least:
            return None
        total_name = whole_name(self.profile)
        trigger = f"{percentage(share)} of {total_name} {what} ({name_operations(operations)})"
        if share - alone_share >= MIN_SHARE:
            beside = (
                f"; other kernels run as well in all but {percentage(alone_share)} of {total_name}"
            )
            trigger = f"{trigger[:-1]}{beside})"
        return self.recommendation(
            advice, trigger=trigger, share=share, saved_share=alone_share * advice.saved
        )

    def recommendation(
        self,
        advice: Advice,
        *,
        trigger: str,
        share: float,
        saved_share: float | None = None,
        hidden_share: float = 0.0,
    ) -> Recommendation:
        """Return the advice with its saving: the assumption's, or the given share.

        `hidden_share` is the part of the step in which such work runs beside compute already.
        """
        saved = share * advice.saved if saved_share is None else saved_share
        if advice.is_beside_compute:
            saved = min(saved, self.overlappable_share(hidden_share))
        return Recommendation(
            text=advice.text,
            trigger=trigger,
            share=share,
            saved_share=saved,
            step_seconds=(self.timed_seconds or self.profile.step_seconds) * (1 - saved),
            assumption=advice.assumption,
        )


# A rule returns None if its trigger is absent.
Rule = Callable[[AdviceContext], Recommendation | None]


def name_operations(operations: Sequence[Operation]) -> str:
    """Return the longest operations' names and their number of calls, for a trigger."""
    calls = sum(operation.count for operation in operations)
    number = integer(calls) if calls >= 1 else digits(calls, 2)  # the devices' mean may be below 1
    return f"{first_names(operations)}; {number} call{'' if calls == 1 else 's'}"


def first_names(operations: Iterable[Operation]) -> str:
    """Return the names of the longest operations, and how many more there are."""
    ranked = sorted(operations, key=lambda operation: -operation.seconds)
    names = list(dict.fromkeys(short_name(operation.name) for operation in ranked))
    more = f" and {len(names) - MAX_NAMES_SHOWN} more" if len(names) > MAX_NAMES_SHOWN else ""
    return ", ".join(names[:MAX_NAMES_SHOWN]) + more


def short_name(name: str) -> str:
    """Return a kernel's name without its return type, template arguments and parameters."""
    full_name = _ANONYMOUS.sub("", name.removeprefix("void "))
    if full_name.startswith("("):  # not a kernel: "(compiling) <lambda>"
        return full_name
    cut = _ARGUMENTS.search(full_name, 1)
    short = full_name[: cut.start()].rstrip() if cut else full_name
    return short if len(short) <= _MAX_NAME else f"{short[: _MAX_NAME - 1]}…"
