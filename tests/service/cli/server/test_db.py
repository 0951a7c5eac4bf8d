from perfledger_service.store.database import open_engine, read_session
from perfledger_service.store.projects import projects


def test_a_new_database_is_made_and_an_old_one_left_as_it_is(run, tmp_path):
    url = f"sqlite:///{tmp_path / 'service.db'}"

    shown = [run("server", "db", "upgrade", PERFLEDGER_DATABASE_URL=url) for _ in range(2)]

    assert shown == ["the database is up to date\n"] * 2
    engine = open_engine(url)
    with read_session(engine) as session:
        assert list(projects(session)) == []
    engine.dispose()
