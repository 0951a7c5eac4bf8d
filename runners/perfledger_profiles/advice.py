"""Turn a share of the step and the evidence for it into a recommendation with its estimate."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from perfledger.profile import Kernel, Operation, Profile
from perfledger_profiles.bottleneck import Bottleneck, Classification, Recommendation
from perfledger_profiles.hardware import Hardware
from perfledger_profiles.kernel_time import kernel_operations
from perfledger_profiles.step_shares import typical_step_seconds

# What a single kind of operation has to take before anyone should look at it.
MIN_SHARE = 0.01

_NAMES_SHOWN = 2
_ARGUMENTS = re.compile(r"[<(]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A profile with what is known of it, to look for triggers in."""

    profile: Profile
    classification: Classification
    hardware: Hardware | None = None
    memory_share: float | None = None  # peak memory over the device's, 0 to 1

    @property
    def is_jax(self) -> bool:
        """Tell whether XLA made the operations, and decides what is fused."""
        return self.profile.tool == "jax.profiler"

    def chosen(self, is_chosen: Callable[[Operation], bool]) -> tuple[Operation, ...]:
        """Return the operations that are meant, longest first."""
        return tuple(operation for operation in self.profile.operations if is_chosen(operation))

    def matching(self, pattern: re.Pattern[str]) -> tuple[Operation, ...]:
        """Return the operations whose place and name match."""
        return self.chosen(lambda op: pattern.search(f"{op.path}/{op.name}") is not None)

    def of_kernels(self, kernels: Iterable[Kernel]) -> tuple[Operation, ...]:
        """Return the operations that are these kernels, with their exclusive time."""
        return kernel_operations(self.profile, kernels)

    def share(self, operations: Iterable[Operation]) -> float:
        """Return the exclusive share of the step that the operations have, 0 to 1."""
        if not self.profile.step_seconds > 0:
            return 0.0
        spent = sum(operation.seconds for operation in operations)
        return min(spent / self.profile.step_seconds, 1.0)

    def overhead(self, bottleneck: Bottleneck) -> float:
        """Return a bottleneck's share of the step, as it was classified."""
        shares = (s.share for s in self.classification.shares if s.bottleneck is bottleneck)
        return next(shares, 0.0)

    def recommendation(self, text: str, *, trigger: str, share: float) -> Recommendation:
        """Return the advice with what a step would take without its share (Amdahl)."""
        return Recommendation(
            text=text,
            trigger=trigger,
            share=share,
            step_seconds=typical_step_seconds(self.profile) * (1 - share),
        )


# Looks for one trigger; None without it.
Rule = Callable[[Case], Recommendation | None]


def counted(operations: Iterable[Operation]) -> str:
    """Return how often the operations run and what the longest are called, for a trigger."""
    found = sorted(operations, key=lambda operation: -operation.seconds)
    calls = sum(operation.count for operation in found)
    names = list(dict.fromkeys(short_name(operation.name) for operation in found))
    shown = ", ".join(names[:_NAMES_SHOWN])
    more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    return f"{shown}{more}; {calls:,.0f} call{'' if calls == 1 else 's'}"


def short_name(name: str) -> str:
    """Return a kernel's name without its return type, template arguments and parameters."""
    plain = name.removeprefix("void ")
    if plain.startswith("("):  # no kernel's: "(compiling) <lambda>"
        return plain
    cut = _ARGUMENTS.search(plain, 1)
    return plain[: cut.start()].rstrip() if cut else plain
