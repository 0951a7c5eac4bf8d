"""Reads the workload to project: a packaged benchmark, a TOML file or a bundle."""

from collections.abc import Sequence
from pathlib import Path

from perfledger.bundle import Bundle
from perfledger.records import WorkloadSpec
from perfledger.rounding import typed
from perfledger_cost_models.projection.workload_descriptor import (
    MAX_AMOUNT,
    MAX_CHARACTERS,
    WorkloadDescriptor,
    packaged_descriptors,
    read_descriptors,
)
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.cost.projection import (
    ProjectionSource,
    hardware_named,
    known_devices,
    measured_work,
)
from perfledger_service.usecases.inputs import bundle_files
from perfledger_service.usecases.inputs.files import errors_about, read_text

DECLARED_SUFFIX = ".toml"
# A character takes at most four bytes in UTF-8.
MAX_DECLARED_BYTES = 4 * MAX_CHARACTERS


def declared_subject(
    workload: str, *, name: str, source: str, units_per_second: float | None
) -> ProjectionSource:
    """Return a packaged benchmark, or a TOML file's workload, by `name` if it has several.

    Raises NotFoundError and UsageError.
    """
    if not source:
        msg = f"name the device of {workload} with --source-accelerator: {known_devices()}"
        raise UsageError(msg)
    if units_per_second is not None and not 0 < units_per_second <= MAX_AMOUNT:
        msg = (
            f"{units_per_second} units a second: give a number above 0 and up to "
            f"{typed(MAX_AMOUNT)}"
        )
        raise UsageError(msg)
    speed = units_per_second
    return ProjectionSource(
        descriptor=_declared_descriptor(workload, name),
        hardware=hardware_named(source),
        units_per_second=None if speed is None else (speed, speed, speed),
    )


def measured_subject(path: Path, *, name: str, dtype: str) -> ProjectionSource:
    """Return the head side of a workload that a bundle measured, counted and profiled.

    Raises NotFoundError and UsageError.
    """
    if not path.exists():
        names = ", ".join(each.name for each in packaged_descriptors())
        msg = f"{path} is neither a file nor a packaged benchmark: choose from {names}"
        raise NotFoundError(msg)
    bundle = bundle_files.read_bundle_file(path)
    return measured_work(bundle, _spec(bundle, name, path), dtype=dtype)


def is_declared(workload: str) -> bool:
    """Return whether `workload` names a packaged benchmark or a TOML file, not a bundle."""
    names = (each.name for each in packaged_descriptors())
    return workload in names or workload.endswith(DECLARED_SUFFIX)


def _declared_descriptor(workload: str, name: str) -> WorkloadDescriptor:
    for each in packaged_descriptors():
        if each.name == workload:
            return each
    path = Path(workload)
    with errors_about(path):
        descriptors = read_descriptors(read_text(path, most_bytes=MAX_DECLARED_BYTES), path.name)
    matches = [each for each in descriptors if name in ("", each.name)]
    if len(matches) == 1:
        return matches[0]
    raise NotFoundError(_which_workload_message(path, [each.name for each in descriptors]))


def _spec(bundle: Bundle, name: str, path: Path) -> WorkloadSpec:
    matches = [spec for spec in bundle.workloads if name in ("", spec.id)]
    if len(matches) == 1:
        return matches[0]
    raise NotFoundError(_which_workload_message(path, [spec.id for spec in bundle.workloads]))


def _which_workload_message(path: Path, names: Sequence[str]) -> str:
    return f"choose a workload of {path} with --workload: {', '.join(names) or 'it has none'}"
