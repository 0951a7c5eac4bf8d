from sqlalchemy import MetaData

from perfledger_service.errors import GitHubError
from perfledger_service.usecases.uploads.missed_deliveries import redeliver_missed


def test_a_process_that_answers_is_healthy(site):
    answer = site.get("/healthz")

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_a_service_that_can_work_is_ready(site):
    answer = site.get("/readyz")

    assert answer.status_code == 200
    assert answer.json() == {"database": True, "migrations": True, "workflow": True}


def test_a_service_that_does_no_work_is_not_ready(site):
    site.jobs.close()
    answer = site.get("/readyz")

    assert answer.status_code == 503
    assert answer.json() == {"database": True, "migrations": True, "workflow": False}


def test_a_service_without_its_tables_is_not_ready(site):
    tables = MetaData()
    tables.reflect(site.engine)
    tables.drop_all(site.engine)
    answer = site.get("/readyz")

    assert answer.status_code == 503
    assert answer.json()["migrations"] is False


def test_a_service_without_its_database_is_not_ready(site, tmp_path):
    site.engine.dispose()
    for file in tmp_path.glob("perfledger.db*"):
        file.unlink()
    (tmp_path / "perfledger.db").mkdir()
    answer = site.get("/readyz")

    assert answer.status_code == 503
    assert answer.json() == {"database": False, "migrations": False, "workflow": True}


def test_missed_webhooks_are_told_once_somebody_asks_for_them(site, now):
    empty = site.get("/healthz/webhooks").json()
    nothing = {"failures": 0, "redelivered": 0, "abandoned": 0, "problem": ""}
    assert empty == dict.fromkeys(("polled_at", "read_until", "due_at")) | nothing

    class Failing:
        def attempts(self):
            msg = "GitHub answered 502"
            raise GitHubError(msg, is_transient=True)

        def redeliver(self, delivery_id):
            raise AssertionError(delivery_id)

    redeliver_missed(site.engine, Failing(), now=now)

    answer = site.get("/healthz/webhooks").json()
    assert (answer["failures"], answer["problem"]) == (1, "GitHub answered 502")
