"""Errors of the parts in, the service's errors out."""

from collections.abc import Generator
from contextlib import contextmanager

from perfledger_baselines.history.series import SeriesError
from perfledger_baselines.rule import PlanError
from perfledger_cost_models.age import StalePriceError
from perfledger_cost_models.allocation import AllocationError
from perfledger_cost_models.bulk import BulkFileError
from perfledger_cost_models.comparison import ComparisonError
from perfledger_cost_models.coverage import CoverageError
from perfledger_cost_models.descriptor import DescriptorError
from perfledger_cost_models.energy import EnergyError
from perfledger_cost_models.entitled_hours import EntitlementError
from perfledger_cost_models.focus_row import BillError
from perfledger_cost_models.interruption import InterruptionError
from perfledger_cost_models.jobs import JobLogError
from perfledger_cost_models.last_review import LastReviewError
from perfledger_cost_models.onprem import OwnershipError
from perfledger_cost_models.overrides import OverrideError
from perfledger_cost_models.paths import ForecastError
from perfledger_cost_models.procurement_plan import PlanError as ProcurementPlanError
from perfledger_cost_models.projection import ProjectionError
from perfledger_cost_models.purchase import PurchaseError
from perfledger_cost_models.quarter import QuarterError
from perfledger_cost_models.sheet import PriceMissingError
from perfledger_cost_models.start_window import WindowError
from perfledger_cost_models.table import PriceSheetError
from perfledger_cost_models.usage import UsageFileError
from perfledger_cost_models.work import WorkError
from perfledger_runners.bundle_checks import BundleError
from perfledger_runners.git import RepositoryError
from perfledger_runners.interpreter import InterpreterError
from perfledger_runners.upload import UploadError
from perfledger_service.errors import NotMeasuredError, PerfledgerError, UsageError

# What cannot be done as it was asked.
_ASKED_WRONGLY = (
    RepositoryError,
    BundleError,
    PlanError,
    SeriesError,
    ComparisonError,
    CoverageError,
    PurchaseError,
    DescriptorError,
    ProjectionError,
    BulkFileError,
    OverrideError,
    PriceSheetError,
    PriceMissingError,
    BillError,
    EnergyError,
    InterruptionError,
    OwnershipError,
    WorkError,
    UsageFileError,
    LastReviewError,
    ProcurementPlanError,
    QuarterError,
    StalePriceError,
    AllocationError,
    EntitlementError,
    JobLogError,
    ForecastError,
    WindowError,
)


@contextmanager
def translated() -> Generator[None]:
    """Turn what a part raises on purpose into the service's error of the same words."""
    try:
        yield
    except InterpreterError as error:
        msg = f"not measured: {error}"
        raise NotMeasuredError(msg) from error
    except _ASKED_WRONGLY as error:
        raise UsageError(str(error)) from error
    except UploadError as error:
        raise PerfledgerError(str(error)) from error
