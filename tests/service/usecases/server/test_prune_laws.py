"""The law of retention: what judging, searches, reviews and pages read is the same afterwards."""

import shutil
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from perfledger.records import Device, Machine, Revision
from perfledger_cost_models.review.quarter import Quarter
from perfledger_service.store.database import read_session
from perfledger_service.store.default_branch import branch_series
from perfledger_service.store.fleet.machines import project_machines
from perfledger_service.store.gate_checks import newest_branch_checks, undecided_checks
from perfledger_service.store.pair_spreads import differences_on_devices
from perfledger_service.store.uploads import uploads_of_project
from perfledger_service.usecases.cost.upload_prices import UploadPrices
from perfledger_service.usecases.fleet.capacity import measured_utilization
from perfledger_service.usecases.history.gate_health import ProjectGates
from perfledger_service.usecases.review.quarter_records import records_of_store
from perfledger_service.usecases.server.prune import run_retention
from perfledger_service.values.storage.retention import RetentionClass, RetentionPolicy
from tests.service.retention_history import OPERATOR, add_newer_checks, add_newer_commits, commits
from tests.suite.tries import tries

QUARTERS = [Quarter(year, number) for year in (2025, 2026) for number in (1, 2, 3, 4)]
MACHINES = [Machine(device=Device.CPU, model=f"Test CPU {name}") for name in "AB"]
DAYS = st.sampled_from([14, 30, 60])
OF_UPLOADS = (
    RetentionClass.BUNDLES,
    RetentionClass.SAMPLES,
    RetentionClass.PULL_REQUESTS,
    RetentionClass.BRANCH,
)
POLICIES = st.fixed_dictionaries(
    dict.fromkeys(OF_UPLOADS, DAYS),
    optional={kind: DAYS for kind in RetentionClass if kind not in OF_UPLOADS},
).map(RetentionPolicy)


@st.composite
def checks(draw):
    """Draw a check: when it was measured, of which commits, on which machine, and its result."""
    base = draw(st.integers(min_value=0, max_value=20))
    is_pull_request = draw(st.booleans())
    values = commits(base, base + draw(st.sampled_from([0, 1, 1, 2])))
    if is_pull_request:
        head = f"{draw(st.integers(min_value=1, max_value=5)):02x}" * 20
        values |= {"head": Revision(sha=head), "pull_request": draw(st.sampled_from([7, 8]))}
    else:
        values |= {"pull_request": None}
    if (
        not is_pull_request and draw(st.integers(0, 3)) == 0
    ):  # its commits have no place on the branch
        values |= {side: replace(values[side], depth=None) for side in ("base", "head")}
    return {
        "ratio": draw(st.sampled_from([1.0, 1.0, 1.0, 1.4])),
        "machine": draw(st.sampled_from([*MACHINES[:1] * 3, *MACHINES])),
        "days_ago": draw(st.integers(min_value=10, max_value=110)),
        **values,
    }


HISTORIES = st.lists(checks(), min_size=6, max_size=11)
# How many newer commits stand behind some of the checks' commits: the search reads 200 of them.
NEWER = st.sampled_from([0, 185, 195, 385, 395, 400])


@pytest.fixture(scope="module")
def store(migrated_file, open_shared):
    @contextmanager
    def store():
        with TemporaryDirectory() as folder:
            shutil.copy(migrated_file, f"{folder}/perfledger.db")
            with open_shared(f"sqlite:///{folder}/perfledger.db") as engine:
                yield engine

    return store


def readings(engine, project_id, *, now):
    """Return all that judging, searching, reviewing and the pages of today read."""
    with read_session(engine) as session:
        uploads = uploads_of_project(session, project_id)
        judged = [one for one in uploads if not one.id.startswith("f")]  # the others are copies
        next_ones = [
            replace(
                uploads[-1], id=one.machine_class, created_at=now, machine_class=one.machine_class
            )
            for one in MACHINES
        ]
        return {
            "series": branch_series(session, project_id),
            "spreads": differences_on_devices(session, project_id, ()),
            "gates": ProjectGates().of_project(session, project_id),
            "machines": project_machines(session, project_id),
            "badge": newest_branch_checks(session, project_id),
            "undecided": [undecided_checks(session, one) for one in (*judged, *next_ones)],
            "prices": UploadPrices().history(session, "octo/models"),
            "fleet": measured_utilization(session),
        } | {one.name: records_of_store(engine, one, origin="the store") for one in QUARTERS}


def judge_check(engine, judged, make_bundle, number, values, *, now):
    """Store and judge a drawn check as of its day."""
    at = now - timedelta(days=values["days_ago"])
    drawn_values = {key: value for key, value in values.items() if key != "days_ago"}
    bundle = make_bundle(seed=number, pairs=4, samples=2, created_at=at.isoformat(), **drawn_values)
    return judged(engine, bundle, upload_id=f"{number:032x}", now=at, trust_runners=True)


@pytest.mark.slow(ci_only=True)
@settings(
    max_examples=tries(16),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    history=HISTORIES,
    newer=NEWER,
    is_crowded=st.sampled_from([True, True, True, False]),
    policy=POLICIES,
)
def test_what_is_read_is_the_same_before_and_after(  # noqa: PLR0917 - what Hypothesis draws
    store, judged, make_bundle, history, newer, is_crowded, policy
):
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    with store() as engine:
        *_, upload = [
            judge_check(engine, judged, make_bundle, number, values, now=now)
            for number, values in enumerate(history)
        ]
        if is_crowded:
            add_newer_checks(engine, upload, since=now - timedelta(hours=12))
        if newer:
            add_newer_commits(engine, upload.project_id, newer)
        before = readings(engine, upload.project_id, now=now)

        run_retention(engine, policy, actor=OPERATOR, clock=lambda: now, pause=lambda _: None)

        after = readings(engine, upload.project_id, now=now)
        assert before == after
