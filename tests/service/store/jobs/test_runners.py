from datetime import timedelta

from perfledger_service.store.database import write_session
from perfledger_service.store.jobs.runners import record_runner, served_classes
from perfledger_service.store.projects import project_for


def test_a_class_is_served_while_one_of_its_runners_asks(any_engine, now):
    later = now + timedelta(hours=1)
    with write_session(any_engine) as session:
        one, other = (project_for(session, name, now=now).id for name in ("o/a", "o/b"))
        record_runner(session, one, "box", ("cpu:A:1", "cuda:H100:1"), now=now)
        record_runner(session, one, "box", ("cuda:H100:1",), now=later)
        record_runner(session, one, "second", ("cuda:H100:1",), now=now)

        assert served_classes(session, one, since=now) == ("cpu:A:1", "cuda:H100:1")
        assert served_classes(session, one, since=later) == ("cuda:H100:1",)
        assert served_classes(session, other, since=now) == ()
