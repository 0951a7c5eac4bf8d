"""Groups workloads by the process that runs them, and says why some have their own."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from perfledger.records import WorkloadSpec
from perfledger_runners.children.launch import launch_of

Groups = tuple[tuple[str, ...], ...]
MAX_NAMES = 3  # in a note


def process_groups(
    workloads: Sequence[WorkloadSpec], *, is_forking: bool, alone: Collection[str] = ()
) -> Groups:
    """Return the ids that forks of one process run: one framework's; one of several devices alone.

    Importing the framework takes longest. Without forks each workload has a separate process, and
    so do the workloads of `alone`, whose forks would not be independent.
    """
    if not is_forking:
        return singly(spec.id for spec in workloads)
    unforked = [spec for spec in workloads if spec.id in alone or launch_of(spec, "") is not None]
    shared = [spec for spec in workloads if spec not in unforked]
    by_framework = (
        tuple(spec.id for spec in shared if spec.framework is framework)
        for framework in dict.fromkeys(spec.framework for spec in shared)
    )
    return (*by_framework, *singly(spec.id for spec in unforked))


def singly(workloads: Iterable[str]) -> Groups:
    """Return groups of one workload each."""
    return tuple((each,) for each in workloads)


def own_process_notes(alone: Mapping[str, str]) -> tuple[str, ...]:
    """Return why workloads were not run in forks; `alone` has the reasons.

    Separate processes change no result but cost time. A single workload loses none, so it gets no
    note.
    """
    by_reason: dict[str, list[str]] = {}
    for workload, reason in alone.items():
        by_reason.setdefault(reason, []).append(workload)
    return tuple(
        f"{_names(names)} each ran in a separate process, because {reason}: the check is faster "
        "if a set-up does that instead of the import"
        for reason, names in by_reason.items()
        if len(names) > 1
    )


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
