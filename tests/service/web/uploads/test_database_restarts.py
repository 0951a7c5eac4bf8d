"""PostgreSQL is stopped hard under a stream of uploads: each acknowledged one is kept, once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlmodel import func, select

from perfledger_service.store.database import open_engine, read_session
from perfledger_service.store.tables import BundleRow, UploadRow
from perfledger_service.store.upgrade import upgrade
from perfledger_service.store.uploads import upload_by_id
from perfledger_service.usecases.server.project import add_project

TOKEN = "pl_0123abcd_" + "s" * 43
UPLOADS, CLIENTS = 40, 4
STOPS = (8, 24)  # after so many acknowledged uploads
PAUSE_S = 0.05  # of a client that was not answered


class Acknowledged:
    """The ids of uploads that the service has acknowledged, by number."""

    def __init__(self):
        self.ids, self.refused = {}, 0
        self._changed = threading.Condition()

    def add(self, number, upload_id):
        with self._changed:
            self.ids[number] = upload_id
            self._changed.notify_all()

    def note_refusal(self):
        with self._changed:
            self.refused += 1

    def wait_for(self, count):
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.ids) >= count, timeout=600)


@pytest.fixture
def engine(own_postgres):
    upgrade(own_postgres.url)
    engine = open_engine(own_postgres.url)
    yield engine
    engine.dispose()


@pytest.mark.slow(ci_only=True)
def test_what_was_acknowledged_is_there_once(engine, own_postgres, start_site, make_bundle, now):
    add_project(engine, "octo/models", token=TOKEN, now=now)
    acknowledged, pause = Acknowledged(), threading.Event()

    def send(site, number):
        bundle = make_bundle(seed=number, pairs=2, samples=2, pull_request=None)
        while number not in acknowledged.ids:
            try:
                answer = site.upload(bundle)
            except httpx.TransportError:
                acknowledged.note_refusal()
                pause.wait(PAUSE_S)
                continue
            if answer.status_code == 503:
                acknowledged.note_refusal()
                pause.wait(PAUSE_S)
                continue
            assert answer.status_code in {200, 202}, answer.text
            acknowledged.add(number, answer.json()["id"])

    with start_site(engine) as site, ThreadPoolExecutor(CLIENTS) as pool:
        sending = [pool.submit(send, site, number) for number in range(UPLOADS)]
        for count in STOPS:
            acknowledged.wait_for(count)
            own_postgres.stop_hard()
            own_postgres.start()
        for each in sending:
            each.result()

    with read_session(engine) as session:
        stored = session.exec(select(UploadRow.id)).all()
        assert sorted(stored) == sorted(acknowledged.ids.values())
        assert len(stored) == len(set(stored)) == UPLOADS
        assert session.exec(select(func.count()).select_from(BundleRow)).one() == UPLOADS
        for upload_id in acknowledged.ids.values():
            assert upload_by_id(session, upload_id).head_sha == "b" * 40
