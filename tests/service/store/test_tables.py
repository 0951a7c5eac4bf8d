from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
import pytest

from perfledger.metrics import WorseDirection
from perfledger_service.store.tables import SeriesRow, StoreRow, UploadRow
from perfledger_service.values.upload_views import UploadStatus

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
SERIES = SeriesRow(
    id=3,
    project_id=1,
    key="k",
    workload="m:f",
    metric="step_time_p50",
    unit="s",
    worse="higher",
    machine_class="cpu:Test CPU:1",
    sample_type="f4",
)
UPLOAD = UploadRow(
    id="1" * 32,
    project_id=1,
    bundle_sha256="b",
    environment_hash="e",
    base_sha="a",
    head_sha="b",
    head_subject="",
    status="posted",
    created_at=NOON,
    measured_at=NOON,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesValue:
    """Some columns of a series, and what no column holds."""

    id: int
    workload: str
    worse: WorseDirection
    repository: str = ""
    points: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadValue:
    """Some columns of an upload."""

    status: UploadStatus
    created_at: datetime
    pull_request: int | None


SERIES_DECODER = msgspec.json.Decoder(SeriesValue)


def test_a_value_has_the_columns_of_its_fields_names_in_its_fields_types():
    value = SERIES.to_value(SERIES_DECODER)
    upload = UPLOAD.to_value(msgspec.json.Decoder(UploadValue))

    assert value == SeriesValue(id=3, workload="m:f", worse=WorseDirection.HIGHER)
    assert upload == UploadValue(status=UploadStatus.POSTED, created_at=NOON, pull_request=None)
    assert isinstance(value.worse, WorseDirection)
    assert isinstance(upload.status, UploadStatus)


def test_what_is_given_goes_before_the_column_of_its_name():
    value = SERIES.to_value(
        SERIES_DECODER, workload="m:other", repository="octo/models", points=(1.0,)
    )

    assert (value.workload, value.repository, value.points) == ("m:other", "octo/models", (1.0,))


def test_a_column_that_no_longer_fits_its_field_is_not_passed_on():
    odd = SeriesRow(**SERIES.model_dump() | {"worse": "sideways"})

    with pytest.raises(msgspec.ValidationError, match="sideways"):
        odd.to_value(SERIES_DECODER)


def test_every_constraint_has_a_name_that_migrations_can_refer_to():
    tables = StoreRow.metadata.sorted_tables
    names = [part.name for table in tables for part in table.constraints]
    names += [part.name for table in tables for part in table.indexes]

    assert len(names) > len(tables) > 10
    assert all(names)
