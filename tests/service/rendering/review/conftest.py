"""The review of the example, that of a small plan, and workbooks as LibreOffice computes them."""

import io
import subprocess
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

import openpyxl
import pytest

from perfledger.records import Device, Machine, Side, WorkloadSpec
from perfledger.step_work import BYTES, FLOPS, Count, CountedWork, StepWork
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.procurement.plan import read_plan
from perfledger_cost_models.review.build import ReviewInputs, build_review
from perfledger_cost_models.review.document import Review, UnknownFigure
from perfledger_cost_models.review.quarter import quarter_of
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_runners.bundles.files import write_bundle
from perfledger_service.rendering.review.xlsx import review_xlsx
from perfledger_service.settings.service import price_settings
from perfledger_service.usecases.review.review import ReviewRequest, review

EXAMPLE = Path(__file__).parents[4] / "examples" / "review"
PLAN = """
title = "made up"
[demand]
accelerator = "H100-80GB"
keep = "p5.48xlarge/on_demand"
growth = { low = 0.0, mode = 0.1, high = 0.3, source = "made up" }
hours = { low = 200000, mode = 300000, high = 400000, source = "made up" }
commitment_utilization = { low = 0.5, mode = 0.7, high = 0.8, source = "made up" }
[[option]]
name = "today"
where = "p5.48xlarge/on_demand"
[[option]]
name = "three years"
where = "p5.48xlarge/savings_plan/3y_no_upfront"
[[option]]
name = "blocks"
where = "p5.48xlarge/capacity_block/prepaid_24h"
[[option]]
name = "buy"
where = "onprem-8xH100"
"""


@pytest.fixture(scope="session")
def make_review():
    """Return a function that reviews a small plan, with no bill, no log and no measurement."""

    def make(more: str = "", *, plan: str = PLAN) -> Review:
        unknown = UnknownFigure(name="records", reason="none", remedy="measure")
        return build_review(
            ReviewInputs(
                quarter=quarter_of("2026Q3"),
                today=date(2026, 11, 22),
                plan=read_plan(plan + more, "plan.toml"),
                sheet=packaged_sheet(),
                parameters=packaged_hardware_inputs(),
                records=unknown,
                bill=None,
                bill_name="bill.csv",
                last=None,
                sources=(),
            )
        )

    return make


@pytest.fixture(scope="session")
def small_plan():
    """Return the text of the small plan."""
    return PLAN


@pytest.fixture(scope="session")
def small(make_review):
    """Return the review of the small plan."""
    return make_review()


@pytest.fixture(scope="session")
def covered_review(make_review):
    """Return the review of the small plan where devices that are there carry all of the need."""
    return make_review(
        """
[[supply]]
name = "Lab servers"
accelerator = "H100-80GB"
devices = 5000
is_owned = true
since = 2023-03-01
until = 2038-02-28
source = "asset register"
"""
    )


@pytest.fixture(scope="session")
def bundles(make_bundle, tmp_path_factory):
    """A folder with a bundle, made up: a step on an A100 that counts what it asks for."""
    counts = (
        Count(name=FLOPS, unit="FLOP", value=1e12, source="FlopCounterMode"),
        Count(name=BYTES, unit="B", value=4e9, source="unfused"),
    )
    work = StepWork(counts=counts)
    bundle = make_bundle(
        machine=Machine(
            device=Device.CUDA, model="NVIDIA A100-SXM4-80GB", memory_bytes=85_000_000_000
        ),
        work=tuple(CountedWork(workload="gpt:step", side=side, work=work) for side in Side),
        created_at="2026-08-20T11:00:00+00:00",
        pull_request=None,
    )
    spec = WorkloadSpec(
        id="gpt:step", module="gpt", function="step", unit="tokens", units_per_step=8.0
    )
    folder = tmp_path_factory.mktemp("bundles")
    write_bundle(replace(bundle, workloads=(spec,)), folder / "one.json")
    return folder


@pytest.fixture(scope="session")
def example(bundles):
    return review(
        ReviewRequest(
            quarter=quarter_of("2026Q3"),
            today=date(2026, 11, 22),
            plan=EXAMPLE / "plan.toml",
            bundles=bundles,
            database_url="",
            bill=EXAMPLE / "bill.csv",
            team_tag="",
            prices=price_settings(),
            previous=None,
            is_stale_allowed=False,
        )
    )


@pytest.fixture(scope="session")
def content(example):
    return review_xlsx(example)


@pytest.fixture(scope="session")
def recomputed(require_system, tmp_path_factory, content):
    """Return the workbook as LibreOffice computes it with changed inputs and no kept values.

    The one of unchanged inputs is computed once for all tests that read it.
    """
    office = require_system("soffice", package="libreoffice-calc-nogui")

    def recomputed(**changed):
        folder = tmp_path_factory.mktemp("recomputed")
        book = openpyxl.load_workbook(io.BytesIO(content))  # what is saved again has no values
        for row in book["Inputs"].iter_rows(min_row=2):
            if row[2].value in changed:
                row[4].value = changed[row[2].value]
        book.save(folder / "review.xlsx")
        subprocess.run(
            [
                str(office),
                f"-env:UserInstallation={(folder / 'profile').as_uri()}",
                "--headless",
                "--convert-to",
                "xlsx:Calc MS Excel 2007 XML",
                "--outdir",
                str(folder / "out"),
                str(folder / "review.xlsx"),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=3600,
        )
        return openpyxl.load_workbook(folder / "out" / "review.xlsx", data_only=True)

    return cache(recomputed)
