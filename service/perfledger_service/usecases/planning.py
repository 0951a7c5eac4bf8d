"""What both sides register in, what will be measured, what is new and what is missing out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perfledger.pattern import is_match
from perfledger.records import Failure, Side, Why, WorkloadSpec
from perfledger_runners.discovery import BrokenFile, Discovery


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a check will do with each workload; every declared one is somewhere in here."""

    measured: tuple[WorkloadSpec, ...]  # on both sides, as head registers them
    new: tuple[WorkloadSpec, ...]  # in head only: nothing to compare with
    failures: tuple[Failure, ...]

    @property
    def workloads(self) -> tuple[WorkloadSpec, ...]:
        """Return all that is known of, measured or not."""
        return self.measured + self.new


def plan_workloads(base: Discovery, head: Discovery, *, globs: Sequence[str]) -> Planned:
    """Decide what to do with each workload that one side or the other registers.

    `globs` choose by id; none chooses all. A workload that base registers and head does not is a
    failure, never silently gone; so is one whose file no longer imports, and one whose unit of work
    changed, for then a step is no longer the same step. One that only head has is new.
    """
    known = {spec.id: spec for spec in base.workloads if _is_chosen(spec.id, globs)}
    wanted = {spec.id: spec for spec in head.workloads if _is_chosen(spec.id, globs)}
    measured: list[WorkloadSpec] = []
    new: list[WorkloadSpec] = []
    failures = [_gone(spec, head.broken) for name, spec in known.items() if name not in wanted]
    for name, spec in wanted.items():
        before = known.get(name)
        broken = _broken_file(spec.module, base.broken)
        if before is not None and _work(before) == _work(spec):
            measured.append(spec)
        elif before is not None:
            failures.append(_changed(before, spec))
        elif broken is not None:
            failures.append(_broken(name, Side.BASE, broken))
        else:
            new.append(spec)
    accounted = {_broken_file(spec.module, head.broken) for spec in known.values()}
    failures += [
        _broken(file.path, Side.HEAD, file) for file in head.broken if file not in accounted
    ]
    return Planned(measured=tuple(measured), new=tuple(new), failures=tuple(failures))


def _is_chosen(name: str, globs: Sequence[str]) -> bool:
    return not globs or any(is_match(glob, name) for glob in globs)


def _work(spec: WorkloadSpec) -> tuple[str, float]:
    return spec.unit, spec.units_per_step


def _broken_file(module: str, broken: Iterable[BrokenFile]) -> BrokenFile | None:
    """Return what keeps `module` (dotted) from being imported: its file, or all files at once."""
    ending = "/" + module.replace(".", "/") + ".py"
    for file in broken:
        if not file.path.endswith(".py") or f"/{file.path}".endswith(ending):
            return file
    return None


def _broken(name: str, side: Side, file: BrokenFile) -> Failure:
    return Failure(
        workload=name,
        side=side,
        why=file.why,
        detail=f"{file.path} cannot be imported: {file.detail}",
        log_tail=file.log_tail,
    )


def _gone(spec: WorkloadSpec, broken: Iterable[BrokenFile]) -> Failure:
    file = _broken_file(spec.module, broken)
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
