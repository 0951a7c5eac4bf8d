from dataclasses import replace
from datetime import timedelta

import pytest

from perfledger.records import Revision
from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.pages.compared_checks import (
    paired_uploads,
    upload_named,
    uploads_of_commit,
)
from perfledger_service.store.tables import BundleRow, UploadRow


def test_an_upload_is_named_by_its_id_or_by_the_start_of_its_head(
    any_engine, judged, make_bundle, now
):
    heads = ["b" * 40, "b" * 39 + "1", "c" * 40]
    for number, sha in enumerate(heads):
        bundle = make_bundle(seed=number, head=Revision(sha=sha, subject="", ref=""))
        judged(any_engine, bundle, upload_id=f"{number}" * 32, now=now + timedelta(hours=number))

    with read_session(any_engine) as session:
        assert upload_named(session, 1, "1" * 32).head_sha == heads[1]
        assert upload_named(session, 1, "ccccccc").id == "2" * 32
        for project, name, reason in (
            (1, "b" * 7, "several measured commits begin with 'bbbbbbb'"),
            (1, "d" * 7, "no judged check has the id 'ddddddd'"),
            (2, "c" * 7, "no judged check"),
        ):
            with pytest.raises(NotFoundError, match=reason):
                upload_named(session, project, name)


def test_a_second_commit_is_noticed_behind_many_checks_of_the_first(engine, judged, make_bundle):
    upload = judged(engine, make_bundle(head=Revision(sha="b" * 40, subject="", ref="")))
    older = judged(
        engine,
        make_bundle(seed=1, head=Revision(sha="b" * 39 + "1", subject="", ref="")),
        upload_id="2" * 32,
        now=upload.created_at - timedelta(days=1),
    )
    with write_session(engine) as session:
        row = session.get_one(UploadRow, upload.id).model_dump()
        bundle = session.get_one(BundleRow, row["bundle_sha256"]).model_dump()
        for number in range(60):
            name = {"sha256": f"{number:064d}"}
            session.add(BundleRow(**bundle | name))
            more = {"id": f"{number:032d}", "bundle_sha256": name["sha256"]}
            session.add(UploadRow(**row | more))

    with read_session(engine) as session:
        with pytest.raises(NotFoundError, match="several measured commits"):
            upload_named(session, 1, "b" * 7)
        assert upload_named(session, 1, older.head_sha).id == older.id


def test_checks_of_two_commits_are_found_by_machine_class_the_newest_of_each(
    any_engine, judged, make_bundle, now
):
    bundle = make_bundle()
    other = replace(bundle.machine, model="Other CPU")
    for number, machine in enumerate((bundle.machine, bundle.machine, other)):
        judged(
            any_engine,
            replace(bundle, id=f"{number:032x}", machine=machine),
            upload_id=f"{number}" * 32,
            now=now + timedelta(hours=number),
        )
    base, head = bundle.base.sha, bundle.head.sha

    with read_session(any_engine) as session:
        paired = paired_uploads(session, 1, base_sha=base, head_sha=head)

        assert {one.machine_class for one in paired} == {"cpu:Test CPU:1", "cpu:Other CPU:1"}
        assert len(paired) == 2
        assert paired_uploads(session, 1, base_sha=head, head_sha=base) == ()
        assert paired_uploads(session, 2, base_sha=base, head_sha=head) == ()
        assert len(uploads_of_commit(session, 1, head)) == 3
        assert uploads_of_commit(session, 1, head[:7]) == ()
