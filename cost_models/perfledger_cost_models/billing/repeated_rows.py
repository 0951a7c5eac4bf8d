"""Rejects bills that contain a part twice, as overlapping exports do, since costs would double."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from perfledger_cost_models.billing.focus_rows import BillError, BillRow

# Of the rows that name their resource; a provider may write a few charges twice on purpose.
MAX_REPEATED_SHARE = 0.01
# Two equal rows without a resource may be two machines. This many, each repeated equally often, are
# one export twice.
MIN_ROWS = 3


def without_repeats(rows: Iterable[BillRow]) -> Iterator[BillRow]:
    """Yield the rows of a bill; raise BillError at its end if it contains a part twice.

    Only rows charged by the hour are compared, word for word in the columns that are read. Those
    with a ResourceId are repeats. Without it, a month is there twice if each of its rows is there
    the same number of times.
    """
    named: set[int] = set()
    count_named = count_repeated = first_line = 0
    months: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for row in rows:
        if row.is_by_time:
            content = hash(tuple(row.cells.values()))
            if not row.cells["ResourceId"]:
                months[row.cells["ChargePeriodStart"][:7]][content] += 1
            else:
                count_named += 1
                if content in named:
                    count_repeated += 1
                    first_line = first_line or row.line
                named.add(content)
        yield row
    if count_repeated > MAX_REPEATED_SHARE * count_named:
        msg = (
            f"{count_repeated} of the bill's {count_named} rows charged by the hour repeat another "
            "one word for word, resource and period included, the first in line "
            f"{first_line}: a part was exported or joined twice. Remove it."
        )
        raise BillError(msg)
    for month, contents in sorted(months.items()):
        copies = set(contents.values())
        if len(contents) >= MIN_ROWS and len(copies) == 1 and copies != {1}:
            msg = (
                f"each of the bill's rows of {month} that are charged by the hour is there "
                f"{copies.pop()} times, word for word: remove the copies. If they are different "
                "resources, export ResourceId or join equal rows to one with their sum."
            )
            raise BillError(msg)
