"""What both sides register in, what will be measured, what is new and what is missing out."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from perfledger.pattern import is_match
from perfledger.records import Failure, Side, Why, WorkloadSpec
from perfledger_runners.bundle_checks import MAX_DETAIL, MAX_WORD
from perfledger_runners.discovery import BrokenFile, Discovery


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a check will do with each workload; every declared one is somewhere in here."""

    measured: tuple[WorkloadSpec, ...]  # on both sides, as head registers them
    new: tuple[WorkloadSpec, ...]  # in head only: nothing to compare with
    failures: tuple[Failure, ...]
    notes: tuple[str, ...] = ()  # what the configuration names and nobody registers

    @property
    def workloads(self) -> tuple[WorkloadSpec, ...]:
        """Return all that is known of, measured or not."""
        return self.measured + self.new


def plan_workloads(
    base: Discovery, head: Discovery, *, globs: Sequence[str], params: Iterable[str] = ()
) -> Planned:
    """Decide what to do with each workload that one side or the other registers.

    `globs` choose by id; none chooses all. A workload that base registers and head does not is a
    failure, never silently gone; so is one whose file no longer imports, and one whose unit of work
    changed, for then a step is no longer the same step. One that only head has is new. A broken
    file of head's is a failure of its own unless workloads that are gone account for it, or `globs`
    choose other modules. `params` are the "module:function" names that have parameters configured.
    """
    known = {spec.id: spec for spec in base.workloads if _is_chosen(spec.id, globs)}
    wanted = {spec.id: spec for spec in head.workloads if _is_chosen(spec.id, globs)}
    # A folder that base does not have yet breaks nothing there: its workloads are new.
    broken_on_base = [file for file in base.broken if file.why is not Why.MISSING]
    measured: list[WorkloadSpec] = []
    new: list[WorkloadSpec] = []
    failures = [_gone(spec, head.broken) for name, spec in known.items() if name not in wanted]
    for name, spec in wanted.items():
        before = known.get(name)
        broken = next((file for file in broken_on_base if _breaks(file, spec.module)), None)
        if before is not None and _work(before) == _work(spec):
            measured.append(spec)
        elif before is not None:
            failures.append(_changed(before, spec))
        elif broken is not None:
            failures.append(_broken(name, Side.BASE, broken))
        else:
            new.append(spec)
    gone = {spec.module for name, spec in known.items() if name not in wanted}
    failures += _unaccounted(head.broken, gone, globs)
    return Planned(
        measured=tuple(measured),
        new=tuple(new),
        failures=tuple(failures),
        notes=_notes((base, head), params),
    )


def _is_chosen(name: str, globs: Sequence[str]) -> bool:
    return not globs or any(is_match(glob, name) for glob in globs)


def _work(spec: WorkloadSpec) -> tuple[str, float]:
    return spec.unit, spec.units_per_step


def _unaccounted(
    broken: Iterable[BrokenFile], gone: Collection[str], globs: Sequence[str]
) -> list[Failure]:
    """Return the failures of broken files that no workload speaks for."""
    return [
        _broken(_cut(file.path), Side.HEAD, file)
        for file in broken
        if _may_hold(file, globs) and not any(_breaks(file, module) for module in gone)
    ]


def _may_hold(file: BrokenFile, globs: Sequence[str]) -> bool:
    """Whether workloads that `globs` choose could be in a broken file."""
    if not globs or _stands_for_all(file):
        return True
    modules = [glob.partition(":")[0] for glob in globs]
    return any(is_match(module, name) for module in modules for name in _module_names(file))


def _breaks(file: BrokenFile, module: str) -> bool:
    """Whether the broken file keeps `module` from being imported.

    It does as the module's own file, as the __init__.py of a package that holds it, or as what
    stands for all files at once.
    """
    if _stands_for_all(file):
        return True
    names = _module_names(file)
    if PurePosixPath(file.path).name != "__init__.py":
        return module in names
    return any(f"{module}.".startswith(f"{name}.") for name in names)


def _stands_for_all(file: BrokenFile) -> bool:
    """Whether this is a folder, several paths at once or a clash of names."""
    is_file = file.path.endswith(".py") and ", " not in file.path
    return not is_file or file.why is Why.WRONG_CODE


def _module_names(file: BrokenFile) -> tuple[str, ...]:
    """Return the names that a file may be imported by: below any of the folders that hold it."""
    parts = PurePosixPath(file.path).with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return tuple(".".join(parts[start:]) for start in range(len(parts)))


def _notes(sides: Sequence[Discovery], params: Iterable[str]) -> tuple[str, ...]:
    """Say which names with parameters are nobody's, unless a broken file may register them."""
    known = {f"{spec.module}:{spec.function}" for side in sides for spec in side.workloads}
    broken = [file for side in sides for file in side.broken]
    return tuple(
        f"params for {_cut(name)}: nobody registers it"
        for name in params
        if name not in known and not any(_breaks(file, name.partition(":")[0]) for file in broken)
    )


def _cut(name: str) -> str:
    """Return a name that fits a cell; the end of a path says more than its beginning."""
    return name if len(name) <= MAX_WORD else f"…{name[1 - MAX_WORD :]}"


def _broken(name: str, side: Side, file: BrokenFile) -> Failure:
    return Failure(
        workload=name,
        side=side,
        why=file.why,
        detail=f"{_cut(file.path)} cannot be imported: {file.detail}"[:MAX_DETAIL],
        log_tail=file.log_tail,
    )


def _gone(spec: WorkloadSpec, broken: Iterable[BrokenFile]) -> Failure:
    file = next((file for file in broken if _breaks(file, spec.module)), None)
    if file is not None:
        return _broken(spec.id, Side.HEAD, file)
    return Failure(
        workload=spec.id,
        side=Side.HEAD,
        why=Why.MISSING,
        detail="base registers it and head no longer does: was it removed or renamed on purpose?",
    )


def _changed(before: WorkloadSpec, after: WorkloadSpec) -> Failure:
    return Failure(
        workload=after.id,
        side=Side.HEAD,
        why=Why.CHANGED,
        detail=(
            f"a step was {before.units_per_step:g} {before.unit} and is now "
            f"{after.units_per_step:g} {after.unit}: the two cannot be compared"
        ),
    )
