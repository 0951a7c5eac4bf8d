import json
import re

from perfledger_service.store.database import open_engine, read_session
from perfledger_service.store.projects import projects


def test_a_new_database_is_made_and_an_old_one_left_as_it_is(run, tmp_path):
    url = f"sqlite:///{tmp_path / 'service.db'}"

    outputs = [run("server", "db", "upgrade", PERFLEDGER_DATABASE_URL=url) for _ in range(2)]

    (schema,) = re.fullmatch(r"The database is new, with schema (\d{4})\.\n", outputs[0]).groups()
    assert outputs[1] == f"The database is up to date, with schema {schema}.\n"
    engine = open_engine(url)
    with read_session(engine) as session:
        assert list(projects(session)) == []
    engine.dispose()


def test_an_upgrade_in_json_has_the_schema_before_it_and_after_it(run, database_url):
    text = run("server", "db", "upgrade", "--json", PERFLEDGER_DATABASE_URL=database_url)

    document = json.loads(text)
    assert document["schema"] == document["former_schema"]
    assert re.fullmatch(r"\d{4}", document["schema"])
