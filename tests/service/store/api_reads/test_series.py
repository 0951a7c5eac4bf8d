"""Tests that a series is read by its own project alone."""

import pytest

from perfledger_service.errors import NotFoundError
from perfledger_service.store.api_reads.series import series_by_id
from perfledger_service.store.database import read_session


def test_a_series_is_of_one_project(any_engine, judged, make_bundle):
    project = judged(any_engine, make_bundle(pairs=4)).project_id

    with read_session(any_engine) as session:
        assert series_by_id(session, project, 1).workload == "gpt:step"
        for other, series in ((project + 1, 1), (project, 99)):
            with pytest.raises(NotFoundError, match="no series"):
                series_by_id(session, other, series)
