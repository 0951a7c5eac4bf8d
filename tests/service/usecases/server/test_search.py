from perfledger_service.store.database import read_session
from perfledger_service.usecases.server.search import search


def test_what_no_database_stores_is_left_out_of_a_text(engine):
    with read_session(engine) as session:
        view = search(session, " a\0b ")

    assert view.text == "ab"
    assert view.hits == ()
