"""Tells imports of other tools' histories from checks."""

from sqlalchemy import ColumnElement
from sqlmodel import col, select

from perfledger_service.store.tables import EnvironmentRow, SeriesRow, UploadRow
from perfledger_service.values.branch_views import IMPORTED_CLASS

# The hashes of the environments of imports.
IMPORTED_ENVIRONMENTS = select(EnvironmentRow.hash).where(
    col(EnvironmentRow.device_class).startswith(IMPORTED_CLASS)
)
# Whether an upload is an import: neither a check of the project nor of a machine of its fleet.
IS_IMPORTED: ColumnElement[bool] = col(UploadRow.environment_hash).in_(IMPORTED_ENVIRONMENTS)
IS_IMPORTED_SERIES: ColumnElement[bool] = col(SeriesRow.device_class).startswith(IMPORTED_CLASS)
