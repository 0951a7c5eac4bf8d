"""What tells an import from a check: the machine class of its environment."""

from dataclasses import replace

from sqlmodel import col, select

from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Side
from perfledger_service.store.database import read_session
from perfledger_service.store.imported_history import IS_IMPORTED
from perfledger_service.store.tables import UploadRow


def test_an_import_is_told_by_its_machine_class(engine, received, make_bundle):
    check = make_bundle(machine=Machine(device=Device.CPU, model="imported:asv"))
    runs = tuple(
        replace(run, samples={"time (s)": (1.0,)}) for run in check.runs if run.side is Side.BASE
    )
    same = {
        "machine": Machine(device=Device.IMPORTED, model="asv"),
        "metrics": (replace(STEP_TIME, name="time (s)"),),
        "head": check.base,
        "pull_request": None,
        "runs": runs,
    }
    received(engine, check, upload_id="1" * 32)
    received(engine, replace(check, **same), upload_id="2" * 32)

    with read_session(engine) as session:
        imports = session.exec(select(UploadRow.id).where(IS_IMPORTED)).all()
        checks = session.exec(select(col(UploadRow.id)).where(~IS_IMPORTED)).all()
    assert (imports, checks) == (["2" * 32], ["1" * 32])
