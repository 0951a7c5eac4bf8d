from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes
from perfledger_cost_models.scheduling.policy import (
    Backfill,
    SchedulingPolicy,
)
from perfledger_cost_models.scheduling.reservations import Reservation
from perfledger_cost_models.scheduling.simulation import simulate


def jobs_of(*rows):
    """Return jobs of (submit, run, devices) with any other fields behind, in seconds."""
    return table_of(
        Job(submit_s=submit, run_s=run, devices=devices, **more)
        for submit, run, devices, more in rows
    )


def starts(outcome):
    return (outcome.start_ms / 1000).tolist()


def test_a_reservation_keeps_out_what_is_not_over_before_it():
    reservation = Reservation(team="a", nodes=1, start_ms=20_000, end_ms=50_000)
    policy = SchedulingPolicy(name="pass", backfill=Backfill.ALWAYS)
    jobs = jobs_of((0, 30, 4, {"team": "b"}), (0, 10, 4, {"team": "b"}), (25, 5, 4, {"team": "a"}))

    outcome = simulate(jobs, equal_nodes(1, devices=4), policy, reservations=(reservation,))

    assert starts(outcome) == [50, 0, 25]


def test_a_job_may_end_when_a_reservation_of_another_team_begins():
    reservation = Reservation(team="a", nodes=1, start_ms=20_000, end_ms=50_000)
    policy = SchedulingPolicy(name="pass", backfill=Backfill.ALWAYS)
    jobs = jobs_of((0, 20, 4, {"team": "b"}))

    outcome = simulate(jobs, equal_nodes(1, devices=4), policy, reservations=(reservation,))

    assert starts(outcome) == [0]
