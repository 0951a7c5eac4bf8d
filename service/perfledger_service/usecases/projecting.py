"""A file or the name of a benchmark in, a workload that can be projected onto other devices out."""

from collections.abc import Sequence
from pathlib import Path

from perfledger.bundle import Bundle
from perfledger.records import WorkloadSpec
from perfledger_cost_models.descriptor import (
    MAX_AMOUNT,
    MAX_CHARACTERS,
    Descriptor,
    packaged_descriptors,
    read_descriptors,
)
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases import bundles
from perfledger_service.usecases.elsewhere import (
    Subject,
    hardware_named,
    known_devices,
    measured_work,
)
from perfledger_service.usecases.text_files import read_text
from perfledger_service.usecases.translating import translated

DECLARED_SUFFIX = ".toml"
# UTF-8 takes at most four bytes a character.
MAX_DECLARED_BYTES = 4 * MAX_CHARACTERS


def declared_subject(
    workload: str, *, name: str, source: str, units_per_second: float | None
) -> Subject:
    """Return a packaged benchmark, or a workload of a TOML file: `name`, where it has several.

    Raises NotFoundError and UsageError.
    """
    if not source:
        msg = f"say with --from which device {workload} runs on: {known_devices()}"
        raise UsageError(msg)
    if units_per_second is not None and not 0 < units_per_second <= MAX_AMOUNT:
        msg = f"{units_per_second} units a second: give a number above 0 and up to {MAX_AMOUNT:g}"
        raise UsageError(msg)
    speed = units_per_second
    return Subject(
        descriptor=_declared(workload, name),
        hardware=hardware_named(source),
        units_per_second=None if speed is None else (speed, speed, speed),
    )


def measured_subject(path: Path, *, name: str, dtype: str) -> Subject:
    """Return the head of a workload that a bundle has measured, counted and profiled.

    Raises NotFoundError and UsageError.
    """
    if not path.exists():
        names = ", ".join(each.name for each in packaged_descriptors())
        msg = f"no file {path}, and no benchmark of that name: there are {names}"
        raise NotFoundError(msg)
    bundle = bundles.read(path)
    return measured_work(bundle, _spec(bundle, name, path), dtype=dtype)


def is_declared(workload: str) -> bool:
    """Tell whether `workload` names a packaged benchmark or a TOML file, and no bundle."""
    names = (each.name for each in packaged_descriptors())
    return workload in names or workload.endswith(DECLARED_SUFFIX)


def _declared(workload: str, name: str) -> Descriptor:
    for each in packaged_descriptors():
        if each.name == workload:
            return each
    path = Path(workload)
    with translated():
        found = read_descriptors(read_text(path, most_bytes=MAX_DECLARED_BYTES), path.name)
    kept = [each for each in found if name in ("", each.name)]
    if len(kept) == 1:
        return kept[0]
    raise NotFoundError(_which(path, [each.name for each in found]))


def _spec(bundle: Bundle, name: str, path: Path) -> WorkloadSpec:
    kept = [spec for spec in bundle.workloads if name in ("", spec.id)]
    if len(kept) == 1:
        return kept[0]
    raise NotFoundError(_which(path, [spec.id for spec in bundle.workloads]))


def _which(path: Path, names: Sequence[str]) -> str:
    return f"say with --workload which one of {path.name}: {', '.join(names) or 'it has none'}"
