"""Groups workloads by the process that runs them, and says why some have their own."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from perfledger.protocol import function_module
from perfledger.records import WorkloadSpec
from perfledger_runners.children.launch import launch_of

Groups = tuple[tuple[str, ...], ...]
FileOf = Callable[[str], str]  # returns the module of the file that registers a workload
MAX_NAMES = 3  # in a note


@dataclass(frozen=True, slots=True, kw_only=True)
class Separation:
    """What does not share a process with others, and why: its forks would not be independent.

    The workloads of one of `files` run in forks of a process that imports this file first. Where
    that does not help either, each of `workloads` has a process of its own, without forks. Those
    `in_turn` run on one side after the other: one side fails while the other one runs, or both work
    on while the other one has its turn.
    """

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    workloads: Mapping[str, str] = field(default_factory=dict[str, str])
    in_turn: Mapping[str, str] = field(default_factory=dict[str, str])

    def is_at_once(self, workloads: Iterable[str]) -> bool:
        """Return whether both sides of a group may run at the same time."""
        return not self.in_turn.keys() & set(workloads)

    def without_forks(
        self,
        group: Sequence[str],
        refused: Mapping[str, str],
        *,
        file_of: FileOf = function_module,
    ) -> Self:
        """Return the separation after a process of this group refused to fork for some of it."""
        reasons = {file_of(name): refused[name] for name in group if name in refused}
        files = {file_of(name) for name in group}
        if len(files) > 1:
            return replace(self, files={**self.files, **reasons})
        alone = {name: reason for name in group for reason in reasons.values()}
        return replace(
            self,
            files={file: why for file, why in self.files.items() if file not in reasons},
            workloads={**self.workloads, **alone},
        )

    def notes(self) -> tuple[str, ...]:
        """Return why workloads did not run in forks of one process.

        Separate processes change no result but cost time. A single workload loses none, so it gets
        no note.
        """
        by_reason: dict[str, list[str]] = {}
        for workload, reason in self.workloads.items():
            by_reason.setdefault(reason, []).append(workload)
        singles = (
            f"{_names(names)} each ran in a separate process, because {reason}: the check is "
            "faster if a set-up does that instead of the import"
            for reason, names in by_reason.items()
            if len(names) > 1
        )
        files = (
            f"the workloads of {file} shared no process with those of other files, because "
            f"{reason}: the check is faster without that"
            for file, reason in self.files.items()
        )
        in_turn = (
            f"base and head of {workload} were measured one after the other, because {reason}"
            for workload, reason in self.in_turn.items()
        )
        return (*singles, *files, *in_turn)


SHARED = Separation()


def process_groups(
    workloads: Sequence[WorkloadSpec],
    *,
    is_forking: bool,
    separation: Separation = SHARED,
    file_of: FileOf = function_module,
) -> Groups:
    """Return the ids that one process runs in forks, file by file: one framework's.

    Importing the framework takes longest. Workloads of several devices have a process of their own,
    and without forks each workload has.
    """
    if not is_forking:
        return _singly(spec.id for spec in workloads)
    alone = [
        spec
        for spec in workloads
        if spec.id in separation.workloads or launch_of(spec, "") is not None
    ]
    shared = [spec for spec in workloads if spec not in alone]
    keys = {
        spec.id: (
            spec.framework,
            file_of(spec.id) if file_of(spec.id) in separation.files else "",
            spec.id in separation.in_turn,
        )
        for spec in shared
    }
    groups = ([name for name in keys if keys[name] == key] for key in dict.fromkeys(keys.values()))
    return (
        *(_file_by_file(group, file_of) for group in groups),
        *_singly(spec.id for spec in alone),
    )


def _file_by_file(workloads: Sequence[str], file_of: FileOf) -> tuple[str, ...]:
    files = list(dict.fromkeys(map(file_of, workloads)))
    return tuple(sorted(workloads, key=lambda name: files.index(file_of(name))))


def _singly(workloads: Iterable[str]) -> Groups:
    return tuple((each,) for each in workloads)


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
