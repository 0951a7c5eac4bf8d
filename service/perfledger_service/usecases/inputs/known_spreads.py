"""Looks up known pair spreads before a check measures its first pair."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.bundle import KnownSpread
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine
from perfledger_baselines.significance.interim_looks import MIN_PAIRS_WITH_HISTORY, planned_looks
from perfledger_runners.bundles.service_history import (
    ServiceHistory,
    fetch_history,
    read_history,
)
from perfledger_runners.bundles.service_requests import MAX_ANSWER_BYTES, ServiceRequestError
from perfledger_service.usecases.inputs.files import shown_path
from perfledger_service.usecases.inputs.upload_target import UploadTarget

# A workload runs on one or more of a machine's devices. How many is unknown before it runs, so all
# numbers up to this one are requested, and the number of all devices.
MAX_DEVICES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSpreads:
    """Known spreads of the coming pairs, and notes on missing ones."""

    spreads: tuple[KnownSpread, ...] = ()
    history: int | None = None  # the number of the newest entry
    notes: tuple[str, ...] = ()

    def looks(self, workloads: Collection[str], *, max_pairs: int) -> tuple[int, ...]:
        """Return the planned looks, from the second pair on if all step times have a spread."""
        workloads_with_spread = {
            spread.workload for spread in self.spreads if spread.metric == STEP_TIME.name
        }
        if workloads and workloads_with_spread.issuperset(workloads):
            return planned_looks(max_pairs, fewest=MIN_PAIRS_WITH_HISTORY)
        return planned_looks(max_pairs)


def find_known_spreads(
    source: UploadTarget | Path | None, machine: Machine, workloads: Collection[str]
) -> KnownSpreads:
    """Return the spreads of these workloads in earlier checks on such a machine.

    `source` is the service, or a file with its answer. Without an answer the check measures more
    pairs, and says so in a note.
    """
    if source is None:
        return KnownSpreads()
    classes = machine_classes(machine)
    try:
        history = _history(source, classes)
    except ServiceRequestError as error:
        return KnownSpreads(notes=(f"measured without the history of earlier checks: {error}",))
    names = frozenset(workloads)
    spreads = (
        spread
        for spread in history.priors
        if spread.workload in names and spread.machine_class in classes
    )
    return KnownSpreads(spreads=_on_one_class(spreads), history=history.history)


def _history(source: UploadTarget | Path, classes: tuple[str, ...]) -> ServiceHistory:
    if isinstance(source, UploadTarget):
        return fetch_history(source.url, source.credential(), classes)
    try:
        with source.open("rb") as file:
            data = file.read(MAX_ANSWER_BYTES + 1)
    except OSError as error:
        msg = f"cannot read {shown_path(source)}: {error.strerror}"
        raise ServiceRequestError(msg) from error
    return read_history(data, source=shown_path(source))


def machine_classes(machine: Machine) -> tuple[str, ...]:
    """Return the machine classes that workloads on this machine may have."""
    counts = (*range(1, min(machine.count, MAX_DEVICES) + 1), machine.count)
    device = (replace(machine, count=count).machine_class for count in counts)
    host = replace(machine, device=Device.CPU, model=machine.cpu_model, count=1)
    return tuple(dict.fromkeys((*device, host.machine_class)))


def _on_one_class(spreads: Iterable[KnownSpread]) -> tuple[KnownSpread, ...]:
    """Return the spreads of workloads that were measured on only one of the classes.

    For others, the spread of the coming pairs is unknown.
    """
    by_workload: defaultdict[str, list[KnownSpread]] = defaultdict(list)
    for spread in spreads:
        by_workload[spread.workload].append(spread)
    return tuple(
        spread
        for spreads_of_workload in by_workload.values()
        if len({each.machine_class for each in spreads_of_workload}) == 1
        for spread in spreads_of_workload
    )
