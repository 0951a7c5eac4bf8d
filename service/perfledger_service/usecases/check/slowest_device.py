"""Names the device that the others of a step wait for, by its clock."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean, median

from perfledger.device_telemetry import DeviceTelemetry
from perfledger.records import Run


def slowest_device_words(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return which device was throttled most or had the lowest clock; () where none was read."""
    devices: defaultdict[int, list[DeviceTelemetry]] = defaultdict(list)
    for run in runs:
        for each in run.telemetry:
            if each.clock_mhz:
                devices[each.place].append(each)
    if not devices:
        return ()
    place = max(devices, key=lambda at: (_throttled_share(devices[at]), -_clock_mhz(devices[at])))
    slowest, faster = devices.pop(place), list(devices.values())
    name = f" ({slowest[0].name})" if slowest[0].name else ""
    beside = f" beside {median(map(_clock_mhz, faster)):,.0f} MHz" if faster else ""
    causes = dict.fromkeys(words for each in slowest for words in each.slowed)
    shares = {words: fmean(each.slowed.get(words, 0.0) for each in slowest) for words in causes}
    slowed = " and ".join(f"{words} ({100 * share:.0f} %)" for words, share in shares.items())
    by = f", held down by {slowed} of the readings" if slowed else ""
    return (f"device {place}{name} is the slowest: {_clock_mhz(slowest):,.0f} MHz{beside}{by}",)


def _clock_mhz(telemetry: Sequence[DeviceTelemetry]) -> float:
    return median(each.clock_mhz or 0.0 for each in telemetry)


def _throttled_share(telemetry: Sequence[DeviceTelemetry]) -> float:
    return fmean(each.throttled_share for each in telemetry)
