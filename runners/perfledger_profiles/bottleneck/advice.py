"""Holds the context in which rules look for advice, and formats their triggers."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from perfledger.profile import Kernel, Operation, Profile
from perfledger_profiles.bottleneck.classification import Bottleneck, Classification, Recommendation
from perfledger_profiles.bottleneck.kernel_time import kernel_operations
from perfledger_profiles.bottleneck.step_shares import BOTTLENECKS, typical_step_seconds
from perfledger_profiles.hardware.device_peaks import HardwareSpec

# The least share of a step that is worth advice.
MIN_SHARE = 0.01

_NAMES_SHOWN = 2
_ARGUMENTS = re.compile(r"[<(]")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceContext:
    """A profile and its classification, in which rules look for triggers."""

    profile: Profile
    classification: Classification
    hardware: HardwareSpec | None = None
    memory_share: float | None = None  # peak memory over the device's, 0 to 1

    @property
    def is_jax(self) -> bool:
        """Return whether the operations are XLA's, which decides what is fused."""
        return self.profile.tool == "jax.profiler"

    def select(self, is_chosen: Callable[[Operation], bool]) -> tuple[Operation, ...]:
        """Return the operations that match, longest first.

        None of the host's, if its calls do not show what the device waits for.
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

    def _is_known(self, operation: Operation) -> bool:
        is_hosts = BOTTLENECKS[operation.bucket] is Bottleneck.HOST
        return self.profile.is_host_known or not is_hosts

    def overhead(self, bottleneck: Bottleneck) -> float:
        """Return a bottleneck's share of the step by the classification."""
        shares = (s.share for s in self.classification.shares if s.bottleneck is bottleneck)
        return next(shares, 0.0)

    def advice(
        self, text: str, operations: Sequence[Operation], what: str, *, least: float = MIN_SHARE
    ) -> Recommendation | None:
        """Return the advice if the operations have at least this share of the step.

        The trigger is their share, `what` of the step they are, and their names.
        """
        share = self.share(operations)
        if share < least:
            return None
        trigger = f"{100 * share:.1f} % of the step {what} ({name_operations(operations)})"
        return self.recommendation(text, trigger=trigger, share=share)

    def recommendation(self, text: str, *, trigger: str, share: float) -> Recommendation:
        """Return the advice with the step time without its share (Amdahl)."""
        return Recommendation(
            text=text,
            trigger=trigger,
            share=share,
            step_seconds=typical_step_seconds(self.profile) * (1 - share),
        )


# A rule returns None without its trigger.
Rule = Callable[[AdviceContext], Recommendation | None]


def name_operations(operations: Iterable[Operation]) -> str:
    """Return the names of the longest operations and their number of calls, for a trigger."""
    ranked = sorted(operations, key=lambda operation: -operation.seconds)
    calls = sum(operation.count for operation in ranked)
    names = list(dict.fromkeys(short_name(operation.name) for operation in ranked))
    first_names = ", ".join(names[:_NAMES_SHOWN])
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"{first_names}{more}; {calls:,.0f} call{'' if calls == 1 else 's'}"


def short_name(name: str) -> str:
    """Return a kernel's name without its return type, template arguments and parameters."""
    without_void = name.removeprefix("void ")
    if without_void.startswith("("):  # not a kernel: "(compiling) <lambda>"
        return without_void
    cut = _ARGUMENTS.search(without_void, 1)
    return without_void[: cut.start()].rstrip() if cut else without_void
