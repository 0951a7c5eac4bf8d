"""Tests that a scoped session shows no row of another project, however it is queried."""

import pytest
from sqlalchemy import func
from sqlalchemy.orm import aliased
from sqlmodel import col, select

from perfledger_service.store.database import read_session
from perfledger_service.store.people.project_scope import scoped_session
from perfledger_service.store.projects import project_named, projects
from perfledger_service.store.tables import ProjectRow, SeriesRow, StoreRow, UploadRow


@pytest.fixture
def two_projects(any_engine, judged, make_bundle):
    """Store an upload of each of two projects, and return their numbers."""
    for number, repository in enumerate(("octo/models", "octo/other")):
        bundle = make_bundle(seed=number, repository=repository, pairs=4)
        token = f"pl_{number:08}_{'s' * 43}"
        judged(any_engine, bundle, upload_id=str(number) * 32, token=token)
    with read_session(any_engine) as session:
        return {one.repository: one.id for one in projects(session)}


def queries(session):
    """Return the numbers of projects, or of rows, that queries of each form find."""
    other = aliased(UploadRow)
    in_subquery = select(col(SeriesRow.project_id)).distinct().subquery()
    exists = select(ProjectRow.id).where(
        select(UploadRow.id).where(col(UploadRow.project_id) == col(ProjectRow.id)).exists()
    )
    return {
        "entities": [one.project_id for one in session.exec(select(UploadRow))],
        "columns": session.exec(select(UploadRow.project_id)).all(),
        "counts": session.exec(select(func.count()).select_from(UploadRow)).all(),
        "aliases": session.exec(select(other.project_id)).all(),
        "joins": session.exec(select(ProjectRow.id).join(UploadRow)).all(),
        "subqueries": session.exec(select(in_subquery.c.project_id)).all(),
        "exists": session.exec(exists).all(),
        "unions": session.exec(
            select(UploadRow.project_id).union(select(UploadRow.project_id))
        ).all(),
        "get": [bool(session.get(UploadRow, str(number) * 32)) for number in range(2)],
    }


def test_every_form_of_query_is_of_the_projects_that_may_be_viewed(any_engine, two_projects):
    mine = two_projects["octo/other"]
    with scoped_session(any_engine, {mine}) as session:
        results = {name: sorted(rows) for name, rows in queries(session).items()}

    unions = results.pop("unions")
    assert [row[0] if not isinstance(row, int) else row for row in unions] == [mine]
    assert results == {
        "entities": [mine],
        "columns": [mine],
        "counts": [1],
        "aliases": [mine],
        "joins": [mine],
        "subqueries": [mine],
        "exists": [mine],
        "get": [False, True],
    }


def test_no_project_and_all_projects(any_engine, two_projects):
    with scoped_session(any_engine, frozenset()) as session:
        assert projects(session) == ()
    with scoped_session(any_engine, None) as session:
        assert len(projects(session)) == len(two_projects)
        assert project_named(session, "octo/models").id == two_projects["octo/models"]


def test_every_table_that_has_a_project_is_narrowed(any_engine, two_projects):
    tables = [row for row in StoreRow.__subclasses__() if "project_id" in row.model_fields]
    with scoped_session(any_engine, {two_projects["octo/other"]}) as session:
        for row in tables:
            statement = select(col(getattr(row, "project_id")))  # noqa: B009 - not of every row
            assert set(session.exec(statement).all()) <= {two_projects["octo/other"]}, row
    assert len(tables) >= 15
