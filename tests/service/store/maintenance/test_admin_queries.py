from datetime import timedelta

from perfledger_service.store.database import read_session
from perfledger_service.store.maintenance.admin_queries import (
    project_summaries,
    token_summaries,
    waiting_uploads,
)
from perfledger_service.usecases.server.project import add_project
from perfledger_service.usecases.server.token import revoke_token
from perfledger_service.values.service_views.admin import TokenState


def test_tokens_that_may_be_used_come_first(engine, now):
    tokens = [f"pl_{number:08}_{'s' * 43}" for number in range(3)]
    lifetimes = (None, timedelta(days=1), None)
    for token, lifetime in zip(tokens, lifetimes, strict=True):
        add_project(engine, "octo/models", token=token, lifetime=lifetime, now=now)
    revoke_token(engine, tokens[0][:11], now=now)
    later = now + timedelta(days=1)
    with read_session(engine) as session:
        states = [one.state for one in token_summaries(session, now=later)]
        [[project], total] = project_summaries(session, page=1, size=9, now=later)

    assert states == [TokenState.LIVE, TokenState.EXPIRED, TokenState.REVOKED]
    assert (project.tokens, project.uploads, project.failed, project.series) == (1, 0, 0, 0)
    assert (project.newest_upload_at, total) == (None, 1)


def test_an_upload_waits_until_it_is_judged_and_posted(engine, received, judged, make_bundle):
    received(engine, make_bundle())
    with read_session(engine) as session:
        [[upload], total] = waiting_uploads(session, has_github=False, most=9)
        assert waiting_uploads(session, has_github=True, most=0) == ((), 1)
    assert (upload.status, total) == ("received", 1)

    judged(engine, make_bundle())
    with read_session(engine) as session:
        [[upload], total] = waiting_uploads(session, has_github=True, most=9)
        assert (upload.status, total) == ("judged", 1)
        assert waiting_uploads(session, has_github=False, most=9) == ((), 0)


def test_what_waits_is_found_by_indexes(engine, record_statements):
    statements = record_statements(engine)
    with read_session(engine) as session:
        waiting_uploads(session, has_github=True, most=9)
    queries = [statement for statement, _ in statements if "retry_at >" in statement]
    plans = []
    with engine.connect() as connection:
        for query in queries:
            parameters = ("",) * query.count("?")
            plan = connection.exec_driver_sql(f"explain query plan {query}", parameters).all()
            plans.append(str(plan))

    assert len(plans) == 2
    assert [("MULTI-INDEX OR" in plan, "SCAN upload" in plan) for plan in plans] == [
        (True, False)
    ] * 2
