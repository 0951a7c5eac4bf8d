"""Splits the device-hours of a fleet entry among the workloads that its pattern matches.

An entry's hours are the total of all its workloads. Each workload gets its share by weight: its
declared part of the hours, or the hours that usage files measured for it.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

from perfledger.bundle import FleetUse
from perfledger.registration.workload_pattern import is_match
from perfledger.rounding import digits, integer

MAX_SHOWN_MATCHES = 6  # names of fleet entries in an error


class FleetSplitError(ValueError):
    """An error for a fleet entry whose hours of one workload are unknown."""


def hours_of_workload(
    use: FleetUse,
    workload: str,
    *,
    registered: Collection[str] | None,
    uses: Sequence[FleetUse] = (),
) -> FleetUse:
    """Return the entry with the hours of one workload that it matches.

    `registered` are all workloads of the repository; None if they are unknown. `uses` are all
    entries that match the workload. Raises FleetSplitError if the entry matches, or may match,
    several workloads and has no weights, or no weight for this one, and if another entry is its
    copy or may have the same hours.
    """
    check_counted_once(use, workload, uses)
    if not use.weights and registered is None and use.workload != workload:
        msg = (
            f"the fleet entry {use.workload!r} has {integer(use.device_hours_per_year)} hours for "
            f"all workloads that it matches; how many are {workload}'s is unknown: add weights, "
            "each workload's part of the hours, or an entry for it"
        )
        raise FleetSplitError(msg)
    if not use.weights:
        names = {*(registered or ()), workload}
        matches = sorted(name for name in names if is_match(use.workload, name))
        if len(matches) > 1:
            msg = (
                f"the fleet entry {use.workload!r} has {integer(use.device_hours_per_year)} hours "
                f"for {len(matches)} workloads together ({_first_names(matches)}): add weights, "
                "each workload's part of the hours, or an entry for each"
            )
            raise FleetSplitError(msg)
        return use
    if workload not in use.weights:
        msg = (
            f"the weights of the fleet entry {use.workload!r} do not name {workload}: add it, with "
            "0 if it has none of the hours"
        )
        raise FleetSplitError(msg)
    share = use.weights[workload] / sum(use.weights.values())
    hours = use.device_hours_per_year
    return replace(
        use,
        device_hours_per_year=share * hours,
        low=None if use.low is None else share * use.low,
        high=None if use.high is None else share * use.high,
        source=f"{use.source}; {digits(100 * share, 3)} % of {integer(hours)} hours, by weight",
    )


def check_counted_once(use: FleetUse, workload: str, uses: Sequence[FleetUse]) -> None:
    """Raise FleetSplitError for a pattern beside another entry of the same devices.

    Whether the hours of a pattern contain those of the workload's own entry is unknown, unless the
    weights say that it has none of them. So it is whether one of two equal entries is a copy, also
    if they spell the option in two ways.
    """
    equal_entries = [
        each
        for each in uses
        if _may_be_same(each.where, use.where) and replace(each, where=use.where) == use
    ]
    if len(equal_entries) > 1:
        spellings = " and ".join(dict.fromkeys(each.where for each in equal_entries))
        msg = (
            f"several fleet entries {use.workload!r} on {spellings} are equal: whether their "
            f"{integer(use.device_hours_per_year)} hours count twice is unknown. Keep one, with "
            "the sum of their hours if they add up"
        )
        raise FleetSplitError(msg)
    counting = [
        each
        for each in uses
        if _may_be_same(each.where, use.where) and each.weights.get(workload) != 0
    ]
    other_entries = [each.workload for each in counting if each is not use]
    if use.workload == workload or use.weights.get(workload) == 0 or not other_entries:
        return
    msg = (
        f"{workload} has hours on {use.where} in the fleet entry {use.workload!r} and in "
        f"{other_entries[0]!r}: whether they count twice is unknown. Give {use.workload!r} "
        f"weights, with 0 for {workload}, or remove one of the entries"
    )
    raise FleetSplitError(msg)


def _may_be_same(where: str, other_where: str) -> bool:
    """Return whether two spellings, `[provider:]option[@region]`, may name the same option.

    What one of them leaves out may be what the other names.
    """
    provider, option, region = _parts(where)
    other_provider, other_option, other_region = _parts(other_where)
    return (
        option == other_option
        and (provider == other_provider or not (provider and other_provider))
        and (region == other_region or not (region and other_region))
    )


def _parts(where: str) -> tuple[str, str, str]:
    provider, _, rest = where.rpartition(":")
    option, _, region = rest.partition("@")
    return provider, option, region


def _first_names(names: Collection[str]) -> str:
    first_names = list(names)[:MAX_SHOWN_MATCHES]
    more = len(names) - len(first_names)
    return ", ".join([*first_names, *([f"{more} more"] if more else [])])
