"""Translates the errors of the other packages into the service's."""

from collections.abc import Generator
from contextlib import contextmanager

from perfledger_baselines.history.detection.observations import SeriesError
from perfledger_baselines.significance.decision_rule import CheckPlanError
from perfledger_cost_models.billing.commitment_coverage import CoverageError
from perfledger_cost_models.billing.cost_allocation import AllocationError
from perfledger_cost_models.billing.focus_columns import BillError
from perfledger_cost_models.billing.quotas import QuotaError
from perfledger_cost_models.csv_table import PriceSheetError
from perfledger_cost_models.energy.carbon_aware_start import StartWindowError
from perfledger_cost_models.energy.energy import EnergyError
from perfledger_cost_models.forecasting.sample_paths import ForecastError
from perfledger_cost_models.job_logs.table import JobLogError
from perfledger_cost_models.price_feeds.rows import BulkFileError
from perfledger_cost_models.prices.contract import OverrideError
from perfledger_cost_models.prices.exchange_rates import ExchangeRateError
from perfledger_cost_models.prices.price_sheet import PriceMissingError
from perfledger_cost_models.prices.staleness import StalePriceError
from perfledger_cost_models.procurement.plan import ProcurementPlanError
from perfledger_cost_models.projection.projection import ProjectionError
from perfledger_cost_models.projection.workload_descriptor import DescriptorError
from perfledger_cost_models.queueing.queue_formulas import QueueError
from perfledger_cost_models.review.previous_quarter import PreviousReviewError
from perfledger_cost_models.review.quarter import QuarterError
from perfledger_cost_models.serving.load_curve import LoadCurveError
from perfledger_cost_models.serving.rightsizing import SizingError
from perfledger_cost_models.tco.api_break_even import ApiPriceError
from perfledger_cost_models.tco.buy_vs_rent import ComparisonError
from perfledger_cost_models.tco.fault_rate import FaultCountError
from perfledger_cost_models.tco.onprem import OwnershipError
from perfledger_cost_models.tco.purchase_modes import PurchaseError
from perfledger_cost_models.tco.spot_interruption import InterruptionError
from perfledger_cost_models.tco.work_cost import WorkError
from perfledger_cost_models.usage.device_spans import UsageFileError
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from perfledger_profiles.hardware.efficiency_metrics import MetricError
from perfledger_runners.bundles.service_requests import ServiceRequestError
from perfledger_runners.bundles.upload import UploadError
from perfledger_runners.bundles.value_checks import BundleError
from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.children.interpreter import InterpreterError
from perfledger_runners.children.sandbox import SandboxError
from perfledger_runners.jobs.slot import RunnerNameError
from perfledger_runners.launchers.launcher import LauncherError
from perfledger_runners.machine.core_reservation import CoreError
from perfledger_runners.measuring.pair_journal import JournalError
from perfledger_runners.user_folders import UserFolderError
from perfledger_service.errors import NotFoundError, NotMeasuredError, PerfledgerError, UsageError

# Errors of invalid input.
_INPUT_ERRORS = (
    RepositoryError,
    JournalError,
    RunnerNameError,
    LauncherError,
    CoreError,
    UserFolderError,
    BundleError,
    HistoryFileError,
    CheckPlanError,
    SeriesError,
    ApiPriceError,
    ComparisonError,
    FaultCountError,
    CoverageError,
    PurchaseError,
    DescriptorError,
    ProjectionError,
    BulkFileError,
    OverrideError,
    PriceSheetError,
    ExchangeRateError,
    BillError,
    EnergyError,
    InterruptionError,
    OwnershipError,
    WorkError,
    UsageFileError,
    PreviousReviewError,
    ProcurementPlanError,
    QuarterError,
    StalePriceError,
    AllocationError,
    QuotaError,
    JobLogError,
    ForecastError,
    StartWindowError,
    LoadCurveError,
    SizingError,
    QueueError,
    MetricError,
)


@contextmanager
def translate_errors() -> Generator[None]:
    """Translate errors of other packages into the service's, with the same message."""
    try:
        yield
    except (InterpreterError, SandboxError) as error:
        msg = f"not measured: {error}"
        raise NotMeasuredError(msg) from error
    except PriceMissingError as error:
        raise NotFoundError(str(error)) from error
    except _INPUT_ERRORS as error:
        raise UsageError(str(error)) from error
    except (UploadError, ServiceRequestError) as error:
        raise PerfledgerError(str(error)) from error
