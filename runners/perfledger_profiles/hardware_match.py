"""Turn what a device says of itself into the facts about it, or into why there are none.

Slices of a board (MIG) are scaled where their size is known. Boards that their power limit keeps
below the table's clock are scaled to the clock that was reached; without it they have no peak.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perfledger.profile import Profile
from perfledger_profiles.device_state import device_state
from perfledger_profiles.hardware import Hardware, is_memory, rows_named

# Boards whose own limit is too low for the clock that their data sheet's peak is stated at.
POWER_CAPPED = ("a100-pcie-40gb", "t4")
# Multiprocessors of an instance by its compute slices, as `nvidia-smi mig -lgip` lists them. From
# 9.0 on they also depend on the instance's memory: the slice itself has to say.
MIG_MULTIPROCESSORS: Mapping[str, Mapping[int, int]] = {
    "8.0": {1: 14, 2: 28, 3: 42, 4: 56, 7: 98},
    "9.0": {},
    "10.0": {},
}
MIG_COMPUTE_SLICES = 7
# Memory is cut into eight slices, each with its share of the bandwidth (NVIDIA MIG User Guide,
# "Supported MIG Profiles").
MIG_MEMORY_SLICES = 8
# A profile's name rounds its memory: 71 GB are half of 141.
MIG_MEMORY_TOLERANCE = 0.06

_MIG = re.compile(r"(?i)(.*?)\s*\bMIG (.+)")
_PROFILE = re.compile(r"(?i)(?:(\d{1,2})c\.)?(\d)g\.(\d{1,4})gb(?:\+\S*)?")
_VGPU = re.compile(r"(?i)^GRID |-\d{1,3}(?:-\d+)?[ABCQ](?:ME)?$")
_GIGA = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareMatch:
    """The facts about a device, or why they are not known; caveats say what to mind with them."""

    hardware: Hardware | None
    reason: str = ""  # why it is not known, "" where it is
    caveats: tuple[str, ...] = ()
    is_power_capped: bool = False  # does not reach the clock that its peaks are stated at


def match_hardware(
    model: str,
    *,
    memory_bytes: int | None = None,
    compute_capability: str = "",
    multiprocessors: int | None = None,
    mig: str = "",
    power_limit_watts: float | None = None,
    clock_hz: float | None = None,
) -> HardwareMatch:
    """Return the facts about a device by its whole name, memory and compute capability.

    `mig` is a profile ("3g.20gb") where the name does not have it, or whether MIG is on;
    `memory_bytes` and `multiprocessors` are what this device or slice reports. `clock_hz` is the
    clock that was reached while it computed: it scales the peaks of a board that is power-capped.
    """
    board, profile = _split(model, mig)
    if not board:
        return _unknown(f"{model.strip()!r} is a slice of a device that it does not name")
    rows = rows_named(board)
    if not rows:
        return _unknown(_reason_for_name(board))
    rows = tuple(row for row in rows if _is_capability(row, compute_capability))
    if not rows:
        return _unknown(f"{board!r} is not known with compute capability {compute_capability}")
    if profile:
        match = _slice(rows, profile, memory_bytes=memory_bytes, multiprocessors=multiprocessors)
    else:
        match = _whole(rows, board, memory_bytes)
    return _powered(match, power_limit_watts=power_limit_watts, clock_hz=clock_hz)


def hardware_of(profile: Profile) -> HardwareMatch:
    """Return the facts about the device that a profile states, at the clock that it states."""
    device, state = profile.device, device_state(profile)
    if device is None or not device.name:
        return _unknown("the profile does not name its device")
    return match_hardware(
        device.name,
        memory_bytes=device.memory_bytes,
        compute_capability=device.compute_capability,
        multiprocessors=device.multiprocessors,
        clock_hz=state.clock_hertz if state else None,
    )


def _split(model: str, mig: str) -> tuple[str, str]:
    """Return the board's name, and the profile of its slice; "" for a whole board."""
    found = _MIG.fullmatch(model.strip())
    if found:
        return found[1], found[2]
    state = mig.strip().lower().removeprefix("mig ")
    return model.strip(), "" if state in ("", "disabled") else state


def _unknown(reason: str) -> HardwareMatch:
    return HardwareMatch(hardware=None, reason=reason)


def _reason_for_name(board: str) -> str:
    if _VGPU.search(board):
        return f"{board!r} is a virtual GPU: its share of the board is not known"
    return f"there are no facts on {board!r}: a similar name may be another device"


def _is_capability(row: Hardware, compute_capability: str) -> bool:
    return not compute_capability or row.compute_capability in ("", compute_capability)


def _whole(rows: Sequence[Hardware], board: str, memory_bytes: int | None) -> HardwareMatch:
    fitting = [row for row in rows if is_memory(memory_bytes, row.memory_bytes)]
    if len(fitting) == 1:
        return HardwareMatch(hardware=fitting[0])
    sizes = " or ".join(f"{row.memory_bytes / _GIGA:g}" for row in rows)
    if memory_bytes is None:
        return _unknown(f"{board!r} is sold with {sizes} GB: say how much memory it has")
    return _unknown(f"{board!r} is known with {sizes} GB, not {memory_bytes / _GIGA:.1f} GB")


def _slice(
    rows: Sequence[Hardware],
    profile: str,
    *,
    memory_bytes: int | None,
    multiprocessors: int | None,
) -> HardwareMatch:
    found = _PROFILE.fullmatch(profile)
    if found is None:
        return _unknown(f"MIG is {profile}, but the slice is not told: say its profile (3g.20gb)")
    if found[1]:
        return _unknown(f"MIG {profile} shares its memory's bandwidth with other instances")
    compute_slices, gigabytes = int(found[2]), int(found[3])
    fitting = [(row, slices) for row in rows if (slices := _memory_slices(row, gigabytes))]
    if len(fitting) != 1:
        return _unknown(f"MIG {profile} is no profile of {rows[0].names[0]!r}")
    row, memory_slices = fitting[0]
    memory = row.memory_bytes * memory_slices // MIG_MEMORY_SLICES
    if not is_memory(memory_bytes, memory):
        return _unknown(f"MIG {profile} does not have {memory_bytes} bytes of memory")
    count = _slice_multiprocessors(row, compute_slices, multiprocessors)
    if count is None:
        return _unknown(f"how many multiprocessors MIG {profile} has is not known")
    caveat = (
        f"scaled to MIG {profile}: {count} of {row.multiprocessors} multiprocessors, "
        f"{memory_slices}/{MIG_MEMORY_SLICES} of the bandwidth"
    )
    return HardwareMatch(
        hardware=_scaled(row, profile, multiprocessors=count, memory_slices=memory_slices),
        caveats=(caveat,),
    )


def _memory_slices(row: Hardware, gigabytes: int) -> int | None:
    """Return how many of the board's memory slices a profile of this size has, None if it cannot.

    There are instances of one, two, four and all of them.
    """
    for slices in (1, 2, 4, MIG_MEMORY_SLICES):
        nominal = row.memory_bytes / _GIGA * slices / MIG_MEMORY_SLICES
        # Names drop the fraction of a gigabyte, which is much of a small slice.
        if abs(gigabytes - nominal) <= max(1.0, MIG_MEMORY_TOLERANCE * nominal):
            return slices
    return None


def _slice_multiprocessors(row: Hardware, compute_slices: int, told: int | None) -> int | None:
    """Return the multiprocessors of an instance: by the table, else as the instance tells."""
    table = MIG_MULTIPROCESSORS.get(row.compute_capability)
    if table is None or row.multiprocessors is None:
        return None
    if table:
        count = table.get(compute_slices)
        return count if told in (None, count) else None
    # A part that tells the whole board's count is not telling its own.
    most = row.multiprocessors - (compute_slices < MIG_COMPUTE_SLICES)
    return told if told is not None and 1 <= told <= most else None


def _scaled(row: Hardware, profile: str, *, multiprocessors: int, memory_slices: int) -> Hardware:
    """Return the facts about a slice; `tdp_w` stays the whole board's."""
    share = multiprocessors / row.multiprocessors if row.multiprocessors else 0.0
    return replace(
        row,
        key=f"{row.key}/{profile.lower()}",
        memory_bytes=row.memory_bytes * memory_slices // MIG_MEMORY_SLICES,
        memory_bytes_per_second=row.memory_bytes_per_second * memory_slices / MIG_MEMORY_SLICES,
        peak_flops={dtype: peak * share for dtype, peak in row.peak_flops.items()},
        multiprocessors=multiprocessors,
    )


def _powered(
    match: HardwareMatch, *, power_limit_watts: float | None, clock_hz: float | None
) -> HardwareMatch:
    """Scale a board that its power limit holds back to the clock that it reached, if known."""
    hardware = match.hardware
    if hardware is None or not _is_capped(hardware, power_limit_watts):
        return match
    limit = f"{power_limit_watts:g}" if power_limit_watts is not None else f"{hardware.tdp_w:g}"
    caveat = f"limited to {limit} W: it does not reach the clock that its peak is stated at"
    if not (clock_hz and hardware.clock_hz):
        caveat += ", and the one that it reached is not known: no peak, no roofline"
        hardware = replace(hardware, held_back=caveat)
    else:
        ratio = min(clock_hz / hardware.clock_hz, 1.0)
        caveat += f"; peaks are those at {ratio * hardware.clock_hz / _GIGA:.3f} GHz, as reached"
        hardware = replace(
            hardware,
            peak_flops={dtype: peak * ratio for dtype, peak in hardware.peak_flops.items()},
            clock_hz=hardware.clock_hz * ratio,
        )
    return replace(match, hardware=hardware, caveats=(*match.caveats, caveat), is_power_capped=True)


def _is_capped(hardware: Hardware, power_limit_watts: float | None) -> bool:
    if hardware.tdp_w is None:
        return False
    is_lowered = power_limit_watts is not None and power_limit_watts < hardware.tdp_w
    return is_lowered or hardware.key.partition("/")[0] in POWER_CAPPED
