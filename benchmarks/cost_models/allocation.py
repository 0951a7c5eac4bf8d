"""Whether allocated rows sum to the bill to the cent, on many made-up bills; how long it takes.

Each bill has random pools (credits among them), use, entitlements and overhead, in amounts with six
digits after the point; the rows are held against the exact sum, rounded to cents once.
"""

import random
import time
from datetime import date, timedelta
from decimal import Decimal

from perfledger.rounding import decimals
from perfledger_cost_models.billing.allocated_hours import (
    DEVICES,
    days_of,
    heat_map,
    label_names,
    pool_usages,
)
from perfledger_cost_models.billing.cost_allocation import (
    BillPart,
    CostOwner,
    CostPool,
    PoolUsage,
    allocate,
    whole_cents,
)
from perfledger_cost_models.billing.usage_readers import read_usage

SEED = 6
BILLS = 20_000
JOBS = 400_000
NO_USD = Decimal(0)


def off_by(source: random.Random) -> Decimal:
    """Return how far the rows of a random bill are from it, over all and in the worst part."""
    holders = [CostOwner(f"team {index}", source.choice(("", "a"))) for index in range(9)]
    names = ("H100", "A100", "L4")[: source.randint(1, 3)]
    claims = [
        PoolUsage(source.choice(holders), source.choice(names), amount(source, 1e4))
        for _ in range(source.randint(0, 20))
    ]
    used = {
        name: sum((each.used_hours for each in claims if each.pool == name), NO_USD)
        for name in names
    }
    pools = [
        CostPool(name=name, usd=amount(source, 1e6, -1e3), hours=used[name] + amount(source, 1e4))
        for name in names
    ]
    entitled = {holder: amount(source, 1e5) for holder in holders[: source.randint(0, 9)]}
    unused, overhead = amount(source, 1e5), amount(source, 1e5, -1e4)
    rows = allocate(claims, pools, quotas=entitled, unused_usd=unused, overhead_usd=overhead)
    bill_cents = whole_cents(sum((pool.usd for pool in pools), NO_USD) + unused + overhead)
    parts = sum((row.usd_of(part) for row in rows for part in BillPart), NO_USD)
    return max(
        abs(sum((row.total_usd for row in rows), NO_USD) - bill_cents), abs(parts - bill_cents)
    )


def amount(source: random.Random, most: float, least: float = 0.0) -> Decimal:
    """Return a number with six digits after the point."""
    return Decimal(f"{source.uniform(least, most):.6f}")


def accounting(source: random.Random) -> bytes:
    """Return a quarter of jobs as sacct writes them, made up."""
    lines = ["JobID|Account|WCKey|Start|End|AllocTRES"]
    first = date(2026, 7, 1)
    for job in range(JOBS):
        day = first + timedelta(days=source.randrange(91))
        hour, gpus = source.randrange(22), source.choice((1, 2, 4, 8))
        lines.append(
            f"{job}|team{source.randrange(40)}|p{source.randrange(9)}|{day}T{hour:02}:00:00|"
            f"{day}T{hour + 1:02}:30:00|gres/gpu={gpus}"
        )
    return "\n".join(lines).encode()


def main() -> None:
    """Print the largest difference, and the seconds of reading and sharing out."""
    source = random.Random(SEED)
    worst = max(off_by(source) for _ in range(BILLS))
    print(f"{BILLS:,} bills: rows are off by at most {worst} USD")
    data = accounting(source)
    began = time.perf_counter()
    usage = (read_usage(data, "sacct.txt"),)
    read = time.perf_counter() - began
    labels, days = label_names(usage, project="wckey"), days_of(usage)
    claims = pool_usages(usage, labels, days, (DEVICES,)) or ()
    pool = CostPool(name=DEVICES, usd=Decimal("8000000.01"), hours=Decimal(3 * 10**6))
    rows = allocate(claims, (pool,), quotas={})
    heat_map(usage, labels, days)
    shared = time.perf_counter() - began - read
    print(
        f"{JOBS:,} jobs into {len(rows)} rows: {decimals(read, 1)} s to read, "
        f"{decimals(shared, 1)} s to share out"
    )


if __name__ == "__main__":
    main()
