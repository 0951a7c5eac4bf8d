"""Makes a bundle of a tool's results, as `history import` uploads it, and a series of one."""

from dataclasses import replace

from sqlmodel import select

from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine, Side
from perfledger_service.store.database import write_session
from perfledger_service.store.tables import BundleRow, SeriesRow, UploadRow


def imported(check):
    """Return a bundle's base as an import of one value of each workload."""
    runs = tuple(
        replace(run, samples={"time (s)": (1.0,)}) for run in check.runs if run.side is Side.BASE
    )
    return replace(
        check,
        machine=Machine(device=Device.IMPORTED, model="asv"),
        metrics=(replace(STEP_TIME, name="time (s)"),),
        head=check.base,
        pull_request=None,
        runs=runs,
    )


def copy_upload(engine, upload_id, shas):
    """Store copies of an upload, each of another commit."""
    with write_session(engine) as session:
        row = session.exec(select(UploadRow).where(UploadRow.id == upload_id)).one()
        values = row.model_dump()
        for number, sha in enumerate(shas):
            copy_id = f"{upload_id[0]}{number:031x}"
            bundle = BundleRow(sha256=copy_id * 2, unpacked_bytes=0, content=b"")
            copy = {"id": copy_id, "bundle_sha256": bundle.sha256}
            session.add(bundle)
            session.flush()
            session.add(UploadRow(**values | copy | {"base_sha": sha, "head_sha": sha}))
        session.commit()


def add_imported_series(engine, *, project_id):
    """Store a series of an import without points."""
    row = SeriesRow(
        project_id=project_id,
        key="1",
        workload="fib",
        metric="time (s)",
        unit="s",
        worse="higher",
        machine_class="imported:asv, box:1",
        sample_type="f8",
    )
    with write_session(engine) as session:
        session.add(row)
        session.commit()
