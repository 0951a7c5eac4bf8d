"""Names the device that the others wait for in a step, judged by its clock."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean, median

from perfledger.device_telemetry import DeviceTelemetry
from perfledger.records import Run
from perfledger.rounding import integer

# Relative to the others: identical GPUs differ by one clock step of 15 MHz.
SAME_CLOCK = 0.01


def slowest_device_words(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return which device was throttled most, or else had a lower clock than the others.

    Returns () if no clock was read, if there is only one device, or if the clocks are equal.
    """
    devices: defaultdict[int, list[DeviceTelemetry]] = defaultdict(list)
    for run in runs:
        for each in run.telemetry:
            if each.clock_mhz:
                devices[each.place].append(each)
    if not devices:
        return ()
    place = max(devices, key=lambda at: (_throttled_share(devices[at]), -_clock_mhz(devices[at])))
    mine, other_clocks = devices.pop(place), [_clock_mhz(each) for each in devices.values()]
    clock = f"{integer(_clock_mhz(mine))} MHz"
    beside = f"{clock} beside {integer(median(other_clocks))} MHz" if other_clocks else clock
    name = f"device {place} ({mine[0].name})" if mine[0].name else f"device {place}"
    is_slower = bool(other_clocks) and _clock_mhz(mine) < (1 - SAME_CLOCK) * median(other_clocks)
    if not _throttled_share(mine):
        if not is_slower:
            return (
                (f"no device has a lower clock than the others: {clock}",) if other_clocks else ()
            )
        return (f"{name} is the slowest: {beside}",)
    is_lowest = is_slower and _clock_mhz(mine) <= min(other_clocks)
    what = "is the slowest" if is_lowest else "is throttled" + " most" * bool(other_clocks)
    return (f"{name} {what}: {beside}{_held_down(mine)}",)


def _held_down(telemetry: Sequence[DeviceTelemetry]) -> str:
    causes = dict.fromkeys(words for each in telemetry for words in each.slowed)
    shares = {words: fmean(each.slowed.get(words, 0.0) for each in telemetry) for words in causes}
    slowed = " and ".join(f"{words} ({integer(100 * share)} %)" for words, share in shares.items())
    return f", held down by {slowed} of the readings" if slowed else ""


def _clock_mhz(telemetry: Sequence[DeviceTelemetry]) -> float:
    return median(each.clock_mhz or 0.0 for each in telemetry)


def _throttled_share(telemetry: Sequence[DeviceTelemetry]) -> float:
    return fmean(each.throttled_share for each in telemetry)
