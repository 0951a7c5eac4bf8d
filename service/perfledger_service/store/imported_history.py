"""Tells imports of other tools' histories from checks."""

from sqlalchemy import ColumnElement
from sqlmodel import col, select

from perfledger.records import Device
from perfledger_baselines.history.commits.tracked_event import TrackedEvent
from perfledger_service.store.tables import EnvironmentRow, SeriesRow, UploadRow

_CLASS_BEGIN = f"{Device.IMPORTED}:"
# Whether an upload is an import: neither a check of the project nor of a machine of its fleet.
IS_IMPORTED: ColumnElement[bool] = col(UploadRow.environment_hash).in_(
    select(EnvironmentRow.hash).where(col(EnvironmentRow.device_class).startswith(_CLASS_BEGIN))
)

IS_IMPORTED_SERIES: ColumnElement[bool] = col(SeriesRow.device_class).startswith(_CLASS_BEGIN)


def is_imported_event(event: TrackedEvent) -> bool:
    """Return whether only another tool's history has an event: years of it are no news."""
    return bool(event.series) and all(is_imported_class(one.machine_class) for one in event.series)


def is_imported_class(device_class: str) -> bool:
    """Return whether a machine class is that of an import."""
    return device_class.startswith(_CLASS_BEGIN)
