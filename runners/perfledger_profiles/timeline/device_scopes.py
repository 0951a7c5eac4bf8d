"""Separates the devices of a recording and the processes that drive them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfledger.rounding import percentage
from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline.intervals import NO_CALL, BoolArray, IntArray, to_list, union
from perfledger_profiles.timeline.trace import GRAPH_LAUNCH, CallKind, Trace

# A rank that opens another rank's device leaves a few hundred bytes there: that is no step.
MIN_WORK_SHARE = 0.01
# Devices of one file, each with its own column: a joined file of a large job has about a hundred.
MAX_DEVICES = 1024
LITTLE_WORK = "{} is left out: it has less than {} of the busiest device's work"

SHARED = (
    "the file joins processes that drive a device of the same number, and does not show which "
    "process its work belongs to: give one file per process"
)
SOME_UNLINKED = (
    "{} of {} calls on devices that several processes drive are left out: no launch shows "
    "which process they belong to"
)
# Links of a joined file that are wrong by chance, and a rank's few bytes on another's device.
MIN_SHARED = 0.01
# With more work of unknown process, the steps would lack too much.
MAX_UNLINKED = 0.02

Number = int | str
_Key = tuple[Number, Number | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceScope:
    """One device's work for one process, and that process's calls on the host.

    `device` and `process` are as recorded, None if absent or unknown. `rank` is the recorded one,
    else the process's place in the order of the devices. `calls` has shape (n,).
    """

    device: Number | None
    process: Number | None
    rank: int
    calls: BoolArray
    work_ns: int = 0  # time in which the device is busy with it

    @property
    def name(self) -> str:
        """Return the device's name: "device 1"."""
        return "the host" if self.device is None else f"device {self.device}"

    def limit(self, trace: Trace) -> Trace:
        """Return the trace with all other calls marked as left out, at their places."""
        return replace(trace, kind=np.where(self.calls, trace.kind, CallKind.LEFT_OUT))


def with_owners(trace: Trace, launched_by: IntArray) -> Trace:
    """Return the trace with one stream per process if several drive a device of the same number.

    A joined file of torch.profiler has the work of each rank's "device 0" on the same streams, but
    the processes of their launches differ. `launched_by` has shape (n,), see `launches_of`. Raises
    ProfileError if the launches do not show which process the work belongs to.
    """
    hosts = _host_processes(trace)
    if len(hosts) <= 1 or any(lane.owner is not None for lane in trace.lanes):
        return trace
    place = {process: number for number, process in enumerate(hosts)}
    host_of_lane = np.array(
        [NO_CALL if lane.is_device else place.get(lane.process, NO_CALL) for lane in trace.lanes],
        dtype=np.int64,
    )
    launcher = np.where(launched_by == NO_CALL, NO_CALL, host_of_lane[trace.lane[launched_by]])
    is_shared = _shared_lanes(trace, launcher, hosts)
    _check_links(trace, launched_by, host_of_lane, is_shared)
    if not is_shared.any():
        return trace
    mine = trace.is_device_work & is_shared[trace.lane]
    # Each shared stream is repeated for every process; unlaunched calls keep the first lane.
    calls = np.flatnonzero(mine & (launcher != NO_CALL))
    keys, number = np.unique(trace.lane[calls] * len(hosts) + launcher[calls], return_inverse=True)
    lane = trace.lane.copy()
    lane[calls] = len(trace.lanes) + number
    lanes = [
        replace(trace.lanes[key // len(hosts)], owner=hosts[key % len(hosts)])
        for key in to_list(keys)
    ]
    lost = is_shared[trace.lane] & (lane < len(trace.lanes))
    unlinked = int(np.count_nonzero(lost & mine))
    return replace(
        trace,
        lane=lane,
        lanes=(*trace.lanes, *lanes),
        kind=np.where(lost, CallKind.LEFT_OUT, trace.kind),
        notes=(
            *trace.notes,
            *([SOME_UNLINKED.format(unlinked, np.count_nonzero(mine))] if unlinked else []),
        ),
    )


def scopes_of(trace: Trace, launched_by: IntArray) -> tuple[DeviceScope, ...]:
    """Return a scope per device and process, in their order; without a device, one of all calls.

    Raises ProfileError above MAX_DEVICES.

    `launched_by` has shape (n,): the host call that started each call, NO_CALL if unknown.
    """
    work = trace.is_device_work
    lanes = to_list(np.unique(trace.lane[work]))
    processes = _processes(trace, launched_by, lanes)
    by_key: dict[_Key, list[int]] = {}
    for lane in lanes:
        by_key.setdefault((trace.lanes[lane].process, processes[lane]), []).append(lane)
    if len(by_key) <= 1:
        device, process = next(iter(by_key), (None, None))
        everything = np.ones(trace.name.shape, dtype=np.bool_)
        return (
            DeviceScope(device=device, process=process, rank=trace.rank or 0, calls=everything),
        )
    if len(by_key) > MAX_DEVICES:
        msg = f"the file has work of more than {MAX_DEVICES} devices: give one file per process"
        raise ProfileError(msg)
    keys = sorted(by_key, key=_order)
    ranks = {process: rank for rank, process in enumerate(dict.fromkeys(key[1] for key in keys))}
    if len(ranks) == 1 and trace.rank is not None:
        ranks = dict.fromkeys(ranks, trace.rank)
    return tuple(_scope(trace, key, by_key[key], rank=ranks[key[1]]) for key in keys)


def without_little_work(
    scopes: Sequence[DeviceScope],
) -> tuple[tuple[DeviceScope, ...], tuple[str, ...]]:
    """Return the scopes that work at least MIN_WORK_SHARE of the busiest, and notes on others."""
    least_ns = MIN_WORK_SHARE * max(scope.work_ns for scope in scopes)
    busy = tuple(scope for scope in scopes if scope.work_ns >= least_ns)
    idle = dict.fromkeys(scope.name for scope in scopes if scope.work_ns < least_ns)
    return busy, tuple(LITTLE_WORK.format(name, percentage(MIN_WORK_SHARE)) for name in idle)


def chosen_scopes(scopes: Sequence[DeviceScope], choice: DeviceChoice) -> tuple[DeviceScope, ...]:
    """Return the scopes of the chosen device and rank; raise ProfileError if there is none."""
    chosen = tuple(
        scope
        for scope in scopes
        if (choice.device is None or str(scope.device) == str(choice.device))
        and (choice.rank is None or scope.rank == choice.rank)
    )
    if not chosen:
        names = [f"device {choice.device}"] if choice.device is not None else []
        names += [f"rank {choice.rank}"] if choice.rank is not None else []
        recorded = dict.fromkeys(f"{scope.name} of rank {scope.rank}" for scope in scopes)
        msg = f"no work of {' of '.join(names)} was recorded: choose from {', '.join(recorded)}"
        raise ProfileError(msg)
    return chosen


def _processes(
    trace: Trace, launched_by: IntArray, lanes: Sequence[int]
) -> Mapping[int, Number | None]:
    """Return the process that drives each stream: as recorded, else the one that launches most."""
    hosts = _host_processes(trace)
    used = {lane: trace.lanes[lane] for lane in lanes}
    owners = {number: lane.owner for number, lane in used.items()}
    if len(set(owners.values())) > 1 and None not in owners.values():
        return owners
    if len(hosts) <= 1:
        return dict.fromkeys(lanes, next(iter(hosts), None))
    if all(lane.process in hosts for lane in used.values()):  # a file joined from several
        return {number: lane.process for number, lane in used.items()}
    launchers = _launchers(trace, launched_by)
    return {
        number: lane.owner if lane.owner in hosts else launchers.get(lane.process)
        for number, lane in used.items()
    }


def _host_processes(trace: Trace) -> tuple[Number, ...]:
    """Return the processes with calls on the host."""
    lanes = np.flatnonzero(np.bincount(trace.lane[trace.is_on_host], minlength=len(trace.lanes)))
    return tuple(dict.fromkeys(trace.lanes[lane].process for lane in to_list(lanes)))


def _shared_lanes(trace: Trace, launcher: IntArray, hosts: Sequence[Number]) -> BoolArray:
    """Return the streams of devices on which several processes launch a notable share each.

    A device with the number of a process belongs to that process.
    """
    places: dict[Number, int] = {}
    device_of_lane = np.array(
        [places.setdefault(lane.process, len(places)) for lane in trace.lanes], dtype=np.int64
    )
    work = np.flatnonzero(trace.is_device_work & (launcher != NO_CALL))
    pairs = device_of_lane[trace.lane[work]] * len(hosts) + launcher[work]
    launched = np.bincount(pairs, minlength=len(places) * len(hosts)).reshape(-1, len(hosts))
    is_notable = launched > MIN_SHARED * launched.sum(axis=1, keepdims=True)
    is_shared = is_notable.sum(axis=1) > 1
    return np.array(
        [
            lane.is_device and lane.process not in hosts and bool(is_shared[place])
            for lane, place in zip(trace.lanes, to_list(device_of_lane), strict=True)
        ],
        dtype=np.bool_,
    )


def _check_links(
    trace: Trace, launched_by: IntArray, host_of_lane: IntArray, is_shared: BoolArray
) -> None:
    """Raise ProfileError if for too much work the launches do not show the process.

    Each process numbers its launches from the start: if two have used the same number, work of that
    number may belong to either. On a device of a single process, only a graph launches several
    kernels under one number.
    """
    launches = np.flatnonzero(trace.is_on_host & (trace.correlation > 0))
    pairs = np.stack([trace.correlation[launches], host_of_lane[trace.lane[launches]]])
    numbers, processes = np.unique(np.unique(pairs, axis=1)[0], return_counts=True)
    is_work = trace.is_device_work
    is_of_either = is_work & np.isin(trace.correlation, numbers[processes > 1])
    unlinked = is_work & (launched_by == NO_CALL)
    on_shared = is_shared[trace.lane] & is_work
    is_graph = trace.find_by_name([GRAPH_LAUNCH in name for name in trace.names])[launched_by]
    places = {lane.process: index for index, lane in enumerate(trace.lanes)}
    device = np.array([places[lane.process] for lane in trace.lanes], dtype=np.int64)[trace.lane]
    alone = np.flatnonzero(is_of_either & ~on_shared & ~is_graph)
    keys = np.stack([device[alone], trace.correlation[alone]])
    _, place, repeats = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    repeated = int(np.count_nonzero(repeats[place.reshape(-1)] > 1))
    unknown = np.count_nonzero(on_shared & (is_of_either | unlinked))
    if unknown > MAX_UNLINKED * np.count_nonzero(
        on_shared
    ) or repeated > MAX_UNLINKED * np.count_nonzero(is_work):
        raise ProfileError(SHARED)


def _launchers(trace: Trace, launched_by: IntArray) -> Mapping[Number, Number]:
    """Return the process that launches most of each device's work."""
    work = np.flatnonzero(trace.is_device_work & (launched_by != NO_CALL))
    pairs = np.stack([trace.lane[work], trace.lane[launched_by[work]]])
    unique, counts = np.unique(pairs, axis=1, return_counts=True)
    launches: Counter[tuple[Number, Number]] = Counter()
    devices, hosts = (to_list(row) for row in unique)
    for on, by, count in zip(devices, hosts, to_list(counts), strict=True):
        launches[trace.lanes[on].process, trace.lanes[by].process] += count
    return {device: process for (device, process), _ in reversed(launches.most_common())}


def _scope(trace: Trace, key: _Key, lanes: Sequence[int], *, rank: int) -> DeviceScope:
    device, process = key
    is_stream, is_thread = (np.zeros(len(trace.lanes), dtype=np.bool_) for _ in range(2))
    is_stream[list(lanes)] = True
    for number, lane in enumerate(trace.lanes):
        is_thread[number] = not lane.is_device and lane.process == process
    work = trace.is_device_work & is_stream[trace.lane]
    annotations = (trace.kind == CallKind.DEVICE_ANNOTATION) & is_stream[trace.lane]
    return DeviceScope(
        device=device,
        process=process,
        rank=rank,
        calls=work | annotations | (trace.is_on_host & is_thread[trace.lane]),
        work_ns=union(trace.start_ns[work], trace.end_ns[work]).length_ns(),
    )


def _order(key: _Key) -> tuple[tuple[bool, int, str], ...]:
    """Return a key that sorts numbers before names."""
    return tuple(
        (not isinstance(part, int), part if isinstance(part, int) else 0, str(part)) for part in key
    )
