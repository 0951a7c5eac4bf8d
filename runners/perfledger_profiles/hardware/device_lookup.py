"""Looks up a device in the packaged table by the properties that it reports.

Slices of a board (MIG) are scaled if their size is known. A board whose power limit keeps it below
the table's clock is scaled to the clock it reached; if that is unknown, it has no peak.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perfledger.profile import Profile
from perfledger.rounding import decimals, integer, typed
from perfledger_profiles.hardware.device_peaks import (
    HardwareSpec,
    find_specs,
    is_memory,
    known_hardware,
)
from perfledger_profiles.hardware.device_state import device_state
from perfledger_profiles.parsing.safe_names import UNNAMED
from perfledger_profiles.parsing.units import GIGA

# Boards whose power limit is too low for the clock behind the data sheet's peak.
POWER_CAPPED = ("a100-pcie-40gb", "t4")
# Multiprocessors of an instance by its compute slices, as listed by `nvidia-smi mig -lgip`. From
# 9.0 on they also depend on the instance's memory, so the slice itself must report them.
MIG_MULTIPROCESSORS: Mapping[str, Mapping[int, int]] = {
    "8.0": {1: 14, 2: 28, 3: 42, 4: 56, 7: 98},
    "9.0": {},
    "10.0": {},
}
MIG_COMPUTE_SLICES = 7
# Slices that the memory of a device is split into. Memory is split into eight slices, each with its
# share of the bandwidth (NVIDIA MIG User Guide, "Supported MIG Profiles").
MIG_MEMORY_SLICES = 8
# A profile's name rounds its memory: 71 GB is half of 141 GB.
MIG_MEMORY_TOLERANCE = 0.06

_MIG = re.compile(r"(?i)(.*?)\s*\bMIG (.+)")
_PROFILE = re.compile(r"(?i)(?:(\d{1,2})c\.)?(\d)g\.(\d{1,4})gb(?:\+\S*)?")
# XLA's name of every device of AMD, and that of a device without a name.
_NAMELESS = ("AMD", UNNAMED)
_VGPU = re.compile(r"(?i)^GRID |-\d{1,3}(?:-\d+)?[ABCQ](?:ME)?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareMatch:
    """The facts about a device with caveats, or the reason why they are unknown."""

    hardware: HardwareSpec | None
    reason: str = ""  # why it is unknown; "" if it is known
    caveats: tuple[str, ...] = ()
    is_power_capped: bool = False  # does not reach the clock behind its peaks


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
    """Return the facts about a device by its full name, memory and compute capability.

    `mig` is a profile ("3g.20gb") if the name has none, or whether MIG is on; `memory_bytes` and
    `multiprocessors` are as reported by the device or slice. `clock_hz` is the clock it reached
    while computing, which scales the peaks of a power-capped board.
    """
    board, profile = _board_and_profile(model, mig)
    if not board:
        return _unknown_device(f"{model.strip()!r} is a slice of an unnamed device")
    if board in _NAMELESS:
        return _match_size(board, memory_bytes, multiprocessors, compute_capability)
    rows = find_specs(board)
    if not rows:
        return _unknown_device(_reason_for_name(board))
    rows = tuple(row for row in rows if _is_capability(row, compute_capability))
    if not rows:
        return _unknown_device(
            f"{board!r} has no entry with compute capability {compute_capability}"
        )
    if profile:
        match = _match_slice(
            rows, profile, memory_bytes=memory_bytes, multiprocessors=multiprocessors
        )
    else:
        match = _match_board(rows, board, memory_bytes, multiprocessors)
    return _apply_power_limit(match, power_limit_watts=power_limit_watts, clock_hz=clock_hz)


def hardware_of(profile: Profile) -> HardwareMatch:
    """Return the facts about a profile's device, at the clock stated in the profile."""
    device, state = profile.device, device_state(profile)
    if device is None or not device.name:
        return _unknown_device("the profile does not name its device")
    return match_hardware(
        device.name,
        memory_bytes=device.memory_bytes,
        compute_capability=device.compute_capability,
        multiprocessors=device.multiprocessors,
        clock_hz=state.clock_hertz if state else None,
    )


def _board_and_profile(model: str, mig: str) -> tuple[str, str]:
    """Return the board's name, and its slice's profile ("" for a whole board)."""
    match = _MIG.fullmatch(model.strip())
    if match:
        return match[1], match[2]
    state = mig.strip().lower().removeprefix("mig ")
    return model.strip(), "" if state in ("", "disabled") else state


def _unknown_device(reason: str) -> HardwareMatch:
    return HardwareMatch(hardware=None, reason=reason)


def _match_size(
    board: str,
    memory_bytes: int | None,
    multiprocessors: int | None,
    compute_capability: str,
) -> HardwareMatch:
    """Return the AMD device of this size, if only one in the table has it.

    XLA names AMD's devices after their vendor, and some drivers name no device. Only NVIDIA's
    devices have a compute capability.
    """
    if memory_bytes is None or multiprocessors is None or compute_capability:
        return _unknown_device(_reason_for_name(board))
    rows = [
        row
        for row in known_hardware()
        if row.vendor == "AMD"
        and row.multiprocessors == multiprocessors
        and is_memory(memory_bytes, row.memory_bytes)
    ]
    size = f"{multiprocessors} multiprocessors and {integer(memory_bytes / GIGA)} GB"
    if len(rows) != 1:
        names = " or ".join(row.names[0] for row in rows) or "no device of the hardware table"
        return _unknown_device(f"the file does not name its device: {size} are those of {names}")
    caveat = f"the file does not name its device: by its {size} it is taken for {rows[0].names[0]}"
    return HardwareMatch(hardware=rows[0], caveats=(caveat,))


def _reason_for_name(board: str) -> str:
    if _VGPU.search(board):
        return f"{board!r} is a virtual GPU: its share of the board is unknown"
    return f"{board!r} is not in the hardware table, and a similar name may be another device"


def _is_capability(row: HardwareSpec, compute_capability: str) -> bool:
    return not compute_capability or row.compute_capability in ("", compute_capability)


def _match_board(
    rows: Sequence[HardwareSpec],
    board: str,
    memory_bytes: int | None,
    multiprocessors: int | None,
) -> HardwareMatch:
    fitting = [row for row in rows if is_memory(memory_bytes, row.memory_bytes)]
    if len(fitting) == 1:
        nominal_count = fitting[0].multiprocessors
        if None not in (nominal_count, multiprocessors) and multiprocessors != nominal_count:
            counts = f"{nominal_count} multiprocessors, not {multiprocessors}"
            return _unknown_device(f"{board!r} has {counts}: this is a part of it")
        return HardwareMatch(hardware=fitting[0])
    sizes = " or ".join(typed(row.memory_bytes / GIGA) for row in rows)
    if memory_bytes is None:
        return _unknown_device(f"{board!r} is sold with {sizes} GB: give its memory size")
    return _unknown_device(
        f"{board!r} has {sizes} GB in the table, not {decimals(memory_bytes / GIGA, 1)} GB"
    )


def _match_slice(
    rows: Sequence[HardwareSpec],
    profile: str,
    *,
    memory_bytes: int | None,
    multiprocessors: int | None,
) -> HardwareMatch:
    size = _PROFILE.fullmatch(profile)
    if size is None:
        return _unknown_device(
            f"MIG is {profile}, but the slice is unknown: give its profile (3g.20gb)"
        )
    if size[1]:
        return _unknown_device(f"MIG {profile} shares its memory bandwidth with other instances")
    compute_slices, gigabytes = int(size[2]), int(size[3])
    fitting = [(row, slices) for row in rows if (slices := _memory_slices(row, gigabytes))]
    if len(fitting) != 1:
        return _unknown_device(f"MIG {profile} is not a profile of {rows[0].names[0]!r}")
    row, memory_slices = fitting[0]
    memory = row.memory_bytes * memory_slices // MIG_MEMORY_SLICES
    if not is_memory(memory_bytes, memory):
        return _unknown_device(f"MIG {profile} does not have {memory_bytes} bytes of memory")
    count = _slice_multiprocessors(row, compute_slices, multiprocessors)
    if count is None:
        return _unknown_device(f"the number of multiprocessors of MIG {profile} is unknown")
    caveat = (
        f"scaled to MIG {profile}: {count} of {row.multiprocessors} multiprocessors, "
        f"{memory_slices}/{MIG_MEMORY_SLICES} of the bandwidth"
    )
    return HardwareMatch(
        hardware=_slice_of(row, profile, multiprocessors=count, memory_slices=memory_slices),
        caveats=(caveat,),
    )


def _memory_slices(row: HardwareSpec, gigabytes: int) -> int | None:
    """Return the number of the board's memory slices in a profile of this size, None if none fits.

    Instances have one, two, four or all of them.
    """
    for slices in (1, 2, 4, MIG_MEMORY_SLICES):
        nominal = row.memory_bytes / GIGA * slices / MIG_MEMORY_SLICES
        # Names drop the fraction of a gigabyte, which is much of a small slice.
        if abs(gigabytes - nominal) <= max(1.0, MIG_MEMORY_TOLERANCE * nominal):
            return slices
    return None


def _slice_multiprocessors(
    row: HardwareSpec, compute_slices: int, reported: int | None
) -> int | None:
    """Return the multiprocessors of an instance: from the table, else as it reports."""
    table = MIG_MULTIPROCESSORS.get(row.compute_capability)
    if table is None or row.multiprocessors is None:
        return None
    if table:
        count = table.get(compute_slices)
        return count if reported in (None, count) else None
    # A partial instance that reports the board's count does not report its own count.
    most = row.multiprocessors - (compute_slices < MIG_COMPUTE_SLICES)
    return reported if reported is not None and 1 <= reported <= most else None


def _slice_of(
    row: HardwareSpec, profile: str, *, multiprocessors: int, memory_slices: int
) -> HardwareSpec:
    """Return the facts about a slice; `tdp_w` remains the board's."""
    share = multiprocessors / row.multiprocessors if row.multiprocessors else 0.0
    return replace(
        row,
        key=f"{row.key}/{profile.lower()}",
        memory_bytes=row.memory_bytes * memory_slices // MIG_MEMORY_SLICES,
        memory_bytes_per_second=row.memory_bytes_per_second * memory_slices / MIG_MEMORY_SLICES,
        peak_flops={dtype: peak * share for dtype, peak in row.peak_flops.items()},
        multiprocessors=multiprocessors,
    )


def _apply_power_limit(
    match: HardwareMatch, *, power_limit_watts: float | None, clock_hz: float | None
) -> HardwareMatch:
    """Scale a power-limited board to the clock it reached, if known."""
    hardware = match.hardware
    limit = None if hardware is None else _capping_watts(hardware, power_limit_watts)
    if hardware is None or limit is None:
        return match
    caveat = f"limited to {typed(limit)} W: it does not reach the clock behind its stated peak"
    if not (clock_hz and hardware.clock_hz):
        caveat += ", and the clock it reached is unknown: no peak, no roofline"
        hardware = replace(hardware, unreachable_reason=caveat)
    else:
        ratio = min(clock_hz / hardware.clock_hz, 1.0)
        reached_ghz = decimals(ratio * hardware.clock_hz / GIGA, 3)
        caveat += f"; peaks are scaled to the {reached_ghz} GHz it reached"
        hardware = replace(
            hardware,
            peak_flops={dtype: peak * ratio for dtype, peak in hardware.peak_flops.items()},
            clock_hz=hardware.clock_hz * ratio,
        )
    return replace(match, hardware=hardware, caveats=(*match.caveats, caveat), is_power_capped=True)


def _capping_watts(hardware: HardwareSpec, power_limit_watts: float | None) -> float | None:
    """Return the power limit that keeps a board below its stated peak; None if none does."""
    if hardware.tdp_w is None:
        return None
    is_lowered = power_limit_watts is not None and power_limit_watts < hardware.tdp_w
    if not (is_lowered or hardware.key.partition("/")[0] in POWER_CAPPED):
        return None
    return hardware.tdp_w if power_limit_watts is None else power_limit_watts
