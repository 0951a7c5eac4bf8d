"""Computes the fair and dominant shares of teams.

Fair share is Slurm's (https://slurm.schedmd.com/priority_multifactor.html): device time used, with
a decay. Dominant share is that of Ghodsi et al., "Dominant Resource Fairness" (NSDI 2011).
"""

import math

from perfledger_cost_models.scheduling.placement.free_devices import ResourceRequest
from perfledger_cost_models.scheduling.policy import FairShareRule
from perfledger_cost_models.units import MS_PER_DAY

# The default of Slurm's PriorityDecayHalfLife: seven days.
HALF_LIFE_MS = 7 * MS_PER_DAY
_DECAY = math.log(2) / HALF_LIFE_MS


class TeamShares:
    """The shares of teams; the team with the smallest share is next. Unused teams have none."""

    def __init__(self, share: FairShareRule, *, milli: int, cpu: int, memory: int) -> None:
        self._is_dominant = share is FairShareRule.DOMINANT
        self._is_none = share is FairShareRule.NONE
        self._capacity = (milli, cpu, memory)
        self._allocated: dict[int, tuple[int, int, int]] = {}
        self._decayed_usage: dict[
            int, tuple[float, int]
        ] = {}  # decayed thousandths of devices times ms, and its time

    def shares(self, now_ms: int) -> dict[int, float]:
        """Return each team's share now."""
        if self._is_none:
            return {}
        if self._is_dominant:
            return {team: self._dominant(usage) for team, usage in self._allocated.items()}
        return {team: self._usage(team, now_ms) for team in self._allocated}

    def take(self, team: int, request: ResourceRequest, now_ms: int) -> None:
        """Count the resources of a job of the team that starts."""
        self._change(team, request, now_ms, 1)

    def give_back(self, team: int, request: ResourceRequest, now_ms: int) -> None:
        """Release the resources of a job of the team that stops."""
        self._change(team, request, now_ms, -1)

    def _change(self, team: int, request: ResourceRequest, now_ms: int, sign: int) -> None:
        if self._is_none:
            return
        milli, cpu, memory = self._allocated.setdefault(team, (0, 0, 0))
        self._decayed_usage.setdefault(team, (0.0, now_ms))
        self._decayed_usage[team] = (self._usage(team, now_ms), now_ms)
        self._allocated[team] = (
            milli + sign * request.devices * request.share_milli,
            cpu + sign * request.cpu_milli,
            memory + sign * request.memory_mib,
        )

    def _usage(self, team: int, now_ms: int) -> float:
        """Return the decayed use u: du/dt = allocated - decay u, solved since the last update."""
        used, then_ms = self._decayed_usage[team]
        milli, _, _ = self._allocated[team]
        decay = math.exp(-_DECAY * (now_ms - then_ms))
        return used * decay + milli * (1 - decay) / _DECAY

    def _dominant(self, usage: tuple[int, int, int]) -> float:
        pairs = zip(usage, self._capacity, strict=True)
        return max(amount / capacity for amount, capacity in pairs if capacity)
