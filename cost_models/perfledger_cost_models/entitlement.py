"""What each team holds and held into how far it is ahead of the others: fair and dominant share.

Fair share is Slurm's (https://slurm.schedmd.com/priority_multifactor.html): device time used, older
use counting less. Dominant share is Ghodsi et al.'s, "Dominant Resource Fairness" (NSDI 2011).
"""

import math

from perfledger_cost_models.room import Shape
from perfledger_cost_models.scheduling import Share

# Slurm's PriorityDecayHalfLife unless somebody sets it: seven days.
HALF_LIFE_MS = 7 * 24 * 3600 * 1000
_DECAY = math.log(2) / HALF_LIFE_MS


class Entitlement:
    """The shares of teams, smallest first in turn; teams without any use have none."""

    def __init__(self, share: Share, *, milli: int, cpu: int, memory: int) -> None:
        self._share = share
        self._capacity = (milli, cpu, memory)
        self._held: dict[int, tuple[int, int, int]] = {}
        self._used: dict[int, tuple[float, int]] = {}  # decayed milli-ms, and when that was

    def shares(self, now_ms: int) -> dict[int, float]:
        """Return each team's share now."""
        match self._share:
            case Share.NONE:
                return {}
            case Share.FAIR:
                return {team: self._usage(team, now_ms) for team in self._held}
            case Share.DOMINANT:
                return {team: self._dominant(held) for team, held in self._held.items()}

    def take(self, team: int, shape: Shape, now_ms: int) -> None:
        """Count what a job of the team begins to hold."""
        self._move(team, shape, now_ms, 1)

    def give_back(self, team: int, shape: Shape, now_ms: int) -> None:
        """Count what a job of the team no longer holds."""
        self._move(team, shape, now_ms, -1)

    def _move(self, team: int, shape: Shape, now_ms: int, sign: int) -> None:
        if self._share is Share.NONE:
            return
        self._used[team] = (self._usage(team, now_ms), now_ms)
        milli, cpu, memory = self._held.get(team, (0, 0, 0))
        self._held[team] = (
            milli + sign * shape.devices * shape.share_milli,
            cpu + sign * shape.cpu_milli,
            memory + sign * shape.memory_mib,
        )

    def _usage(self, team: int, now_ms: int) -> float:
        """Return decayed use: du/dt = held - decay u, solved since it was last counted."""
        used, then_ms = self._used.get(team, (0.0, now_ms))
        held = self._held.get(team, (0, 0, 0))[0]
        kept = math.exp(-_DECAY * (now_ms - then_ms))
        return used * kept + held * (1 - kept) / _DECAY

    def _dominant(self, held: tuple[int, int, int]) -> float:
        pairs = zip(held, self._capacity, strict=True)
        return max(amount / capacity for amount, capacity in pairs if capacity)
