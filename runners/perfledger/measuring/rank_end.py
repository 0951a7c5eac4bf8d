"""Compares what the ranks of a launched workload do at their end."""

import math
import struct
from contextlib import suppress
from dataclasses import replace

from perfledger.measuring.rank_link import ExchangeKind, RankError, RankLink
from perfledger.step_evidence import EndCost

COST_FORMAT = struct.Struct("!dId")


def largest_end_cost(link: RankLink, cost: EndCost) -> EndCost | None:
    """Return the largest figures of all ranks; None if a rank has ended before.

    A step ends with its slowest rank, and so does the work that it leaves. An unknown CPU time, a
    NaN, is larger than any.
    """
    payload = COST_FORMAT.pack(cost.cpu_s, cost.tasks, cost.asleep_s)
    with suppress(RankError, OSError):
        answers = link.exchange(ExchangeKind.END, payload)
        cpu_s, tasks, asleep_s = zip(*map(COST_FORMAT.unpack, answers), strict=True)
        most_s = math.nan if any(map(math.isnan, cpu_s)) else max(cpu_s)
        return replace(cost, cpu_s=most_s, tasks=max(tasks), asleep_s=max(asleep_s))
    return None
