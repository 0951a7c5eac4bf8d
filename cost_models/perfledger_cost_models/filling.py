"""A mix of jobs and an empty cluster into how much of it a placement policy gets allocated.

The experiment of Weng et al., USENIX ATC 2023, section 6: the jobs of the log in random order, then
draws from it, until they ask for `load` times what there is, come and stay; one that does not fit
is turned away. Allocation = thousandths of devices that are taken / all there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.cluster import Cluster
from perfledger_cost_models.fragmentation import Fragmentation
from perfledger_cost_models.jobs import MAX_JOBS, IntArray, JobLogError, Jobs
from perfledger_cost_models.placing import Placer
from perfledger_cost_models.room import Room, shapes_of
from perfledger_cost_models.scheduling import Placement

LOAD = 1.3  # of the capacity, as the paper's: by then hardly anything fits any more
POINTS = 130  # of the curve of allocation against what has arrived
_NODES = 1  # keeps the draw of the nodes' order apart from that of the jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """How full a cluster got with one policy and one order of arrival; shares of its devices."""

    placement: Placement
    seed: int
    allocated: float  # in the end
    allocated_at_capacity: float  # when as much had been asked for as there is
    fragmented: float  # of what is free in the end, what typical jobs cannot use
    turned_away: int
    jobs: int
    curve: tuple[tuple[float, float], ...]  # asked for so far, allocated; shares of the capacity


def fill(
    jobs: Jobs, cluster: Cluster, placement: Placement, *, load: float = LOAD, seed: int = 0
) -> Filling:
    """Fill an empty cluster with jobs in random order; pools count as one.

    Raises JobLogError for a load that is no positive number, or asks for more than MAX_JOBS, and
    jobs that ask for no device.
    """
    # Among equal nodes the first is taken: a score with few values would else fill a list that is
    # sorted by model one model after the other.
    nodes = np.random.default_rng((seed, _NODES)).permutation(len(cluster.devices))
    room = Room(cluster, nodes, jobs)
    shapes, places = shapes_of(jobs)
    drawn = _drawn(jobs, load * room.capacity_milli, seed)
    mix = Fragmentation(jobs)
    placer = Placer(room, placement, mix=mix, seed=seed)
    turned_away, asked, at_capacity = 0, 0, 0
    curve: list[tuple[float, float]] = []
    for row, milli in zip(drawn.tolist(), jobs.milli[drawn].tolist(), strict=True):
        held = placer.place(shapes[places[row]])
        if held is None:
            turned_away += 1
        else:
            room.take(held)
        asked += milli
        taken = room.capacity_milli - room.free_milli
        if asked <= room.capacity_milli:
            at_capacity = taken
        if len(curve) * room.capacity_milli * load < POINTS * asked:
            curve.append((asked / room.capacity_milli, taken / room.capacity_milli))
    fragments = float(mix.amount(room, np.arange(len(room.size))).sum())
    return Filling(
        placement=placement,
        seed=seed,
        allocated=1 - room.free_milli / room.capacity_milli,
        allocated_at_capacity=at_capacity / room.capacity_milli,
        fragmented=fragments / room.free_milli if room.free_milli else 0.0,
        turned_away=turned_away,
        jobs=len(drawn),
        curve=tuple(curve),
    )


def allocation_interval(fillings: Sequence[Filling]) -> tuple[float, float, float]:
    """Return the least, the mean and the largest allocation over the seeds."""
    shares = [each.allocated for each in fillings]
    return min(shares), sum(shares) / len(shares), max(shares)


def _drawn(jobs: Jobs, wanted_milli: float, seed: int) -> IntArray:
    """Return rows that ask for as much as is wanted in all: each job once, then draws of any."""
    if not 0 < wanted_milli < np.inf or not jobs.milli.sum():
        msg = "nothing to fill with: give a load above 0, and jobs that ask for devices"
        raise JobLogError(msg)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(jobs))
    asked = int(jobs.milli.sum())
    if asked > wanted_milli:
        kept = int(np.searchsorted(np.cumsum(jobs.milli[rows]), wanted_milli, side="right"))
        return rows[:kept]
    count = (wanted_milli - asked) / jobs.milli.mean() * 2
    if count > MAX_JOBS:
        msg = f"filling that much takes more than {MAX_JOBS:,} jobs of this log: give a lower load"
        raise JobLogError(msg)
    more = rng.integers(0, len(jobs), int(count) + 100)
    kept = int(np.searchsorted(asked + np.cumsum(jobs.milli[more]), wanted_milli, side="right"))
    return np.concatenate((rows, more[:kept]))
