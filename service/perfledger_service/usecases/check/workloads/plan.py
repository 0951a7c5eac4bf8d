"""Plans which workloads a check measures, and which are new, missing or broken."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Self

from perfledger.bundle import SAME_CODE
from perfledger.records import Failure, FailureReason, Side, WorkloadSpec
from perfledger.registration.workload_pattern import is_match
from perfledger.rounding import typed
from perfledger_runners.bundles.value_checks import MAX_WORD
from perfledger_runners.measuring.discovery import Discovery, UnreadablePath
from perfledger_runners.safe_text import MAX_DETAIL
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

NOT_TIMED = "not timed: a limit of fail_on is exceeded"
NOT_COMPARED = "head has no workload of it, so nothing is compared with what it held"
OF_ENVIRONMENTS = frozenset({FailureReason.BUILD, FailureReason.PACKAGES})


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPlan:
    """The plan for every workload that either side registers."""

    to_measure: tuple[WorkloadSpec, ...]  # on both sides, as head registers them
    new: tuple[WorkloadSpec, ...]  # in head only: nothing to compare with
    failures: tuple[Failure, ...]
    skipped: Mapping[str, str]  # head's benchmarks that cannot or need not be measured → why
    unchosen: tuple[str, ...] = ()  # registered by head, and left out by the check's options
    notes: tuple[str, ...] = ()  # on names that neither side registers, and unused options
    same_code: tuple[WorkloadSpec, ...] = ()  # not measured, because their code is the same
    untimed: tuple[WorkloadSpec, ...] = ()  # because a step's work exceeds a limit
    # Of the workloads to measure: how their code may differ.
    code_differences: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def workloads(self) -> tuple[WorkloadSpec, ...]:
        """Return all workloads of the head, measured or not."""
        return self.to_measure + self.same_code + self.untimed + self.new

    @property
    def devices(self) -> int:
        """Return the most devices that a workload to measure uses, at least one."""
        return max((spec.devices for spec in self.to_measure), default=1)

    @property
    def is_all_new(self) -> bool:
        """Return whether nothing can be compared: base lacks all workloads of head."""
        return bool(self.new) and not (self.to_measure or self.same_code or self.failures)

    def without_same_code(self, code_differences: Mapping[str, str]) -> Self:
        """Return the plan with the workloads skipped whose code is the same.

        `code_differences` maps some of them to why their code may differ, "" if it is the same.
        """
        same = {name for name, text in code_differences.items() if not text}
        return replace(
            self,
            to_measure=tuple(spec for spec in self.to_measure if spec.id not in same),
            same_code=tuple(spec for spec in self.to_measure if spec.id in same),
            skipped={**self.skipped, **dict.fromkeys(sorted(same), SAME_CODE)},
            code_differences={name: text for name, text in code_differences.items() if text},
        )

    def without_timing(self) -> Self:
        """Return the plan with all planned measurements skipped because a limit is exceeded."""
        names = [spec.id for spec in self.to_measure]
        return replace(
            self,
            to_measure=(),
            untimed=self.to_measure,
            skipped={**self.skipped, **dict.fromkeys(names, NOT_TIMED)},
        )


def plan_workloads(
    base: Discovery,
    head: Discovery,
    *,
    choice: WorkloadChoice,
    configured: Mapping[str, Iterable[str]] = MappingProxyType({}),
) -> WorkloadPlan:
    """Decide what to do with each workload that either side registers.

    One that is chosen on either side is chosen on both: a change of its tags hides nothing. A
    workload is a failure if only base registers it, if its file no longer imports, or if its unit
    of work changed, because the steps are then not comparable. One that only head registers is new.
    A broken file on head is a failure of its own, unless missing workloads account for it, globs
    choose other modules, or an expression chooses workloads and none of those that base registers
    in this file: that is noted. What a file held that is broken on base and has no workload on
    head is unknown: that is noted, or a failure if the budget ended its import. `configured` has
    the "module:function" names in settings, by the setting.
    """
    chosen = {spec.id for side in (base, head) for spec in side.workloads if choice.is_chosen(spec)}
    base_specs = {spec.id: spec for spec in base.workloads if spec.id in chosen}
    head_specs = {spec.id: spec for spec in head.workloads if spec.id in chosen}
    # A folder that base does not have yet is not broken; its workloads are new.
    broken_on_base = [file for file in base.broken if file.reason is not FailureReason.MISSING]
    to_measure: list[WorkloadSpec] = []
    new: list[WorkloadSpec] = []
    failures = [
        _missing_failure(spec, head.broken, file=base.files.get(name, spec.module))
        for name, spec in base_specs.items()
        if name not in head_specs
    ]
    for name, spec in head_specs.items():
        before = base_specs.get(name)
        file = head.files.get(name, spec.module)
        broken = next((each for each in broken_on_base if _breaks(each, file)), None)
        if before is not None and work_of(before) == work_of(spec):
            to_measure.append(spec)
        elif before is not None:
            failures.append(_changed_failure(before, spec))
        elif broken is not None:
            failures.append(_import_failure(name, Side.BASE, broken))
        else:
            new.append(spec)
    missing_modules = {
        base.files.get(name, spec.module)
        for name, spec in base_specs.items()
        if name not in head_specs
    }
    unaccounted = _unaccounted_files(head.broken, missing_modules, choice.globs)
    unneeded = [
        each
        for each in unaccounted
        if choice.expression
        and chosen
        and _is_one(each)
        and not any(other.path == each.path for other in base.broken)
    ]
    for each in unaccounted:
        failures += [] if each in unneeded else _failures_of(each, base.broken, choice)
    head_files = {head.files.get(name, spec.module) for name, spec in head_specs.items()}
    unknown_files = [
        each
        for each in _unaccounted_files(broken_on_base, head_files, choice.globs)
        if not any(other.path == each.path for other in head.broken)
    ]
    # The budget may end an import that works; another one fails each time.
    cut_off = [each for each in unknown_files if each.reason is FailureReason.BUDGET]
    failures += [_unknown_file_failure(each) for each in cut_off]
    return WorkloadPlan(
        to_measure=tuple(to_measure),
        new=tuple(new),
        failures=tuple(failures),
        skipped={
            _cut(name): why
            for name, why in head.left_out.items()
            if choice.is_chosen(WorkloadSpec(id=name, module="", function=""))
        },
        unchosen=tuple(spec.id for spec in head.workloads if spec.id not in chosen),
        notes=(
            *head.notes,
            *_notes((base, head), configured),
            *(_unneeded_note(each, choice) for each in unneeded),
            *(_unknown_file_note(each) for each in unknown_files if each not in cut_off),
        ),
    )


def work_of(spec: WorkloadSpec) -> tuple[str, float, int]:
    """Return the properties that must match on both sides for their steps to be comparable."""
    return spec.unit, spec.units_per_step, spec.devices


def _unaccounted_files(
    broken: Iterable[UnreadablePath], modules: Collection[str], globs: Sequence[str]
) -> list[UnreadablePath]:
    """Return the broken files of a side that break none of these modules."""
    return [
        file
        for file in broken
        if _may_hold(file, globs) and not any(_breaks(file, module) for module in modules)
    ]


def _failures_of(
    file: UnreadablePath, base: Iterable[UnreadablePath], choice: WorkloadChoice
) -> list[Failure]:
    """Return the failures of a file that is broken on head, on both sides."""
    name = _cut(file.path)
    before = [_import_failure(name, Side.BASE, each) for each in base if each.path == file.path]
    failures = [*before, _import_failure(name, Side.HEAD, file)]
    if not (choice.expression and before and _is_one(file)):
        return failures
    doubt = (
        f"-k {choice.expression!r} may choose workloads of it: `--workload` with patterns of other "
        "modules leaves it out"
    )
    return [
        replace(each, detail=f"{each.detail[: MAX_DETAIL - len(doubt) - 2]}; {doubt}")
        for each in failures
    ]


def _unneeded_note(file: UnreadablePath, choice: WorkloadChoice) -> str:
    """Return the note on a broken file of which nothing is chosen on base."""
    reason = f"{choice} chooses none of its workloads on base"
    return f"{_cut(file.path)} cannot be imported on head; {reason}: {file.detail}"[:MAX_DETAIL]


def _unknown_file_failure(file: UnreadablePath) -> Failure:
    """Return the failure of a file whose import on base the budget ended, and that head lacks."""
    failure = _import_failure(_cut(file.path), Side.BASE, file)
    return replace(failure, detail=f"{NOT_COMPARED}: {failure.detail}"[:MAX_DETAIL])


def _unknown_file_note(file: UnreadablePath) -> str:
    """Return the note on a file that base cannot import and head lacks."""
    return f"{_cut(file.path)} cannot be imported on base; {NOT_COMPARED}: {file.detail}"[
        :MAX_DETAIL
    ]


def _may_hold(file: UnreadablePath, globs: Sequence[str]) -> bool:
    """Return whether a broken file could contain workloads that `globs` choose."""
    if not globs or not _is_one(file):
        return True
    modules = [glob.partition(":")[0] for glob in globs]
    return any(is_match(module, name) for module in modules for name in _module_names(file))


def _breaks(file: UnreadablePath, module: str) -> bool:
    """Return whether the broken file keeps `module` from being imported.

    It is the module's own file, the __init__.py of one of its packages, or stands for all files.
    """
    if not _is_one(file):
        return True
    names = _module_names(file)
    if PurePosixPath(file.path).name != "__init__.py":
        return module in names
    return any(f"{module}.".startswith(f"{name}.") for name in names)


def _is_one(file: UnreadablePath) -> bool:
    """Return whether this is one file: no folder, several, clash of names or failed build."""
    is_file = file.path.endswith(".py") and ", " not in file.path
    return is_file and file.reason not in {FailureReason.WRONG_CODE, *OF_ENVIRONMENTS}


def _module_names(file: UnreadablePath) -> tuple[str, ...]:
    """Return the module names that a file may have: relative to any of its folders."""
    parts = PurePosixPath(file.path).with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return tuple(".".join(parts[start:]) for start in range(len(parts)))


def _notes(sides: Sequence[Discovery], configured: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return notes on settings for workloads that neither side nor a broken file registers."""
    registered = {f"{spec.module}:{spec.function}" for side in sides for spec in side.workloads}
    broken = [file for side in sides for file in side.broken]
    return tuple(
        f"{setting} for {_cut(name)}: no workload has this name"
        for setting, names in configured.items()
        for name in names
        if name not in registered
        and not any(_breaks(file, name.partition(":")[0]) for file in broken)
    )


def _cut(name: str) -> str:
    """Return a name cut at its beginning to fit a cell, since the end of a path says more."""
    return name if len(name) <= MAX_WORD else f"…{name[1 - MAX_WORD :]}"


def _import_failure(name: str, side: Side, file: UnreadablePath) -> Failure:
    return Failure(
        workload=name,
        side=side,
        why=file.reason,
        detail=_import_detail(file)[:MAX_DETAIL],
        log_tail=file.log_tail,
    )


def _import_detail(file: UnreadablePath) -> str:
    if file.reason in {FailureReason.BUDGET, *OF_ENVIRONMENTS}:  # no file is the cause
        return file.detail
    what = "the suite" if file.path == "." else f"`{_cut(file.path)}`"
    return f"{what} cannot be imported: {file.detail}"


def _missing_failure(spec: WorkloadSpec, broken: Iterable[UnreadablePath], *, file: str) -> Failure:
    """Return the failure of a workload that head lacks; `file` registers it on base."""
    path = next((each for each in broken if _breaks(each, file)), None)
    if path is not None:
        return _import_failure(spec.id, Side.HEAD, path)
    return Failure(
        workload=spec.id,
        side=Side.HEAD,
        why=FailureReason.MISSING,
        detail="base registers it but head does not: was it removed or renamed on purpose?",
    )


def work_words(spec: WorkloadSpec) -> str:
    """Return what a step does, in readable words."""
    devices = f" on {spec.devices} devices" if spec.devices > 1 else ""
    return f"{typed(spec.units_per_step)} {spec.unit}{devices}"


def _changed_failure(before: WorkloadSpec, after: WorkloadSpec) -> Failure:
    return Failure(
        workload=after.id,
        side=Side.HEAD,
        why=FailureReason.CHANGED,
        detail=(
            f"a step was {work_words(before)} and is now {work_words(after)}: the two cannot be "
            "compared"
        ),
    )
