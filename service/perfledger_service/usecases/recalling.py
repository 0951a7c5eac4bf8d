"""A machine and a service's history in, what is known before the first pair out."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.bundle import KnownSpread
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine
from perfledger_baselines.looks import FIRST_LOOK_KNOWN, default_looks
from perfledger_runners.hub_history import (
    MAX_ANSWER_BYTES,
    HistoryError,
    HubHistory,
    ask_history,
    read_history,
)
from perfledger_runners.hub_suspects import HubSuspects, ask_suspects
from perfledger_service.errors import PerfledgerError
from perfledger_service.usecases.bundles import Target

# A workload computes on one of a machine's devices, or on some of them. How many it will be is not
# known before it runs, so that all numbers up to this are asked for, and all of them.
MOST_DEVICES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """What is known of the pairs to come, and notes on why there is not more."""

    spreads: tuple[KnownSpread, ...] = ()
    history: int | None = None  # the number of the newest entry that was told
    notes: tuple[str, ...] = ()

    def looks(self, workloads: Collection[str], *, max_pairs: int) -> tuple[int, ...]:
        """Return when to look: from the second pair on if every workload's step time is known."""
        known = {spread.workload for spread in self.spreads if spread.metric == STEP_TIME.name}
        if workloads and known.issuperset(workloads):
            return default_looks(max_pairs, fewest=FIRST_LOOK_KNOWN)
        return default_looks(max_pairs)


def recall(source: Target | Path | None, machine: Machine, workloads: Collection[str]) -> Recalled:
    """Return what earlier checks on such a machine tell of these workloads.

    `source` is the service that knows, or the file with what it answered. No answer costs the check
    nothing but pairs: it is a note.
    """
    if source is None:
        return Recalled()
    classes = device_classes(machine)
    try:
        found = _history(source, classes)
    except HistoryError as error:
        return Recalled(notes=(f"measured without the history of earlier checks: {error}",))
    wanted = frozenset(workloads)
    spreads = (
        known
        for known in found.priors
        if known.workload in wanted and known.device_class in classes
    )
    return Recalled(spreads=_on_one_class(spreads), history=found.history)


def save_history(target: Target, path: Path) -> int:
    """Write all that a service knows into a file, for a check that has no token; return how much.

    Raises PerfledgerError if the service does not answer.
    """
    try:
        found = ask_history(target.url, target.token)
    except HistoryError as error:
        raise PerfledgerError(str(error)) from error
    path.write_bytes(found.to_json())
    return len(found.priors)


def suspects_at(target: Target) -> HubSuspects:
    """Return the A/Bs that a service asks for. Raises PerfledgerError if it does not answer."""
    try:
        return ask_suspects(target.url, target.token)
    except HistoryError as error:
        raise PerfledgerError(str(error)) from error


def _history(source: Target | Path, classes: tuple[str, ...]) -> HubHistory:
    if isinstance(source, Target):
        return ask_history(source.url, source.token, classes)
    try:
        with source.open("rb") as file:
            data = file.read(MAX_ANSWER_BYTES + 1)
    except OSError as error:
        msg = f"cannot read {source}: {error.strerror}"
        raise HistoryError(msg) from error
    return read_history(data)


def device_classes(machine: Machine) -> tuple[str, ...]:
    """Return the classes that workloads on this machine may turn out to be of."""
    counts = (*range(1, min(machine.count, MOST_DEVICES) + 1), machine.count)
    own = (replace(machine, count=count).device_class for count in counts)
    host = replace(machine, device=Device.CPU, model=machine.cpu_model, count=1)
    return tuple(dict.fromkeys((*own, host.device_class)))


def _on_one_class(spreads: Iterable[KnownSpread]) -> tuple[KnownSpread, ...]:
    """Return those of workloads that were only ever measured on one of the classes.

    Of any other it is not known which spread its pairs will have.
    """
    by_workload: defaultdict[str, list[KnownSpread]] = defaultdict(list)
    for known in spreads:
        by_workload[known.workload].append(known)
    return tuple(
        known
        for found in by_workload.values()
        if len({each.device_class for each in found}) == 1
        for known in found
    )
