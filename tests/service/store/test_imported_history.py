"""What tells an import from a check: the machine class of its environment."""

from sqlmodel import col, select

from perfledger.records import Device, Machine
from perfledger_service.store.database import read_session
from perfledger_service.store.imported_history import IS_IMPORTED
from perfledger_service.store.tables import UploadRow
from tests.service.imported_bundle import imported


def test_an_import_is_told_by_its_machine_class(engine, received, make_bundle):
    check = make_bundle(machine=Machine(device=Device.CPU, model="imported:asv"))
    received(engine, check, upload_id="1" * 32)
    received(engine, imported(check), upload_id="2" * 32)

    with read_session(engine) as session:
        imports = session.exec(select(UploadRow.id).where(IS_IMPORTED)).all()
        checks = session.exec(select(col(UploadRow.id)).where(~IS_IMPORTED)).all()
    assert (imports, checks) == (["2" * 32], ["1" * 32])
