"""Prices the changes that stored checks found, computing each check once."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import date
from threading import Lock

from sqlmodel import Session

from perfledger.metrics import STEP_TIME
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_cost_models.quote import ChangePrice
from perfledger_runners.bundles.files import read_bundle
from perfledger_service.store.costs.changed_uploads import ChangedUpload, changed_uploads
from perfledger_service.store.projects import project_named
from perfledger_service.store.quarter_queries import CHANGED_OUTCOMES
from perfledger_service.store.uploads import StoredUpload, bundle_content, verdicts_of
from perfledger_service.usecases.cost.change import (
    measured_changes,
    price,
    registered_workloads,
)
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.price_books import current_sheet
from perfledger_service.values.change_price import PricedCheck, PriceHistory

MAX_CHECKS = 40  # for one history; reading and pricing a check takes some hundredths of a second
MAX_KEPT = 1000  # prices of checks in memory, the last ones that were read


class UploadPrices:
    """Prices of checks, kept while they are recent; safe across threads.

    They match the check's report: all its changes at the prices of the day of its verdict.
    """

    def __init__(self) -> None:
        self._prices: OrderedDict[tuple[object, ...], tuple[ChangePrice, ...]] = OrderedDict()
        self._lock = Lock()

    def history(self, session: Session, repository: str) -> PriceHistory:
        """Return the newest checks of a project that found a change; raise NotFoundError."""
        project = project_named(session, repository)
        uploads = changed_uploads(session, project.id, most=MAX_CHECKS + 1)
        return PriceHistory(
            repository=project.repository,
            checks=self.of_checks(session, uploads[:MAX_CHECKS]),
            has_older=len(uploads) > MAX_CHECKS,
        )

    def of_checks(
        self, session: Session, uploads: Sequence[ChangedUpload]
    ) -> tuple[PricedCheck, ...]:
        """Return the prices of checks that found a change."""
        days = {_day(one.upload) for one in uploads}
        sheets = {day: current_sheet(today=day) for day in days}
        return tuple(self._priced(session, one, sheets) for one in uploads)

    def _priced(
        self, session: Session, changed: ChangedUpload, sheets: Mapping[date, PriceSheet]
    ) -> PricedCheck:
        upload = changed.upload
        return PricedCheck(
            upload_id=upload.id,
            head_sha=upload.head_sha,
            subject=changed.subject,
            pull_request=upload.pull_request,
            is_on_branch=changed.is_on_branch,
            machine_class=upload.machine_class,
            judged_on=_day(upload),
            prices=self._prices_of(session, upload, sheets[_day(upload)]),
        )

    def _prices_of(
        self, session: Session, upload: StoredUpload, sheet: PriceSheet
    ) -> tuple[ChangePrice, ...]:
        today = _day(upload)
        key = (upload.id, upload.attempt, today, sheet)
        with self._lock:
            recent = self._prices.get(key)
        if recent is not None:
            return recent
        with translate_errors():
            bundle = read_bundle(bundle_content(session, upload.bundle_sha256))
            verdicts = verdicts_of(session, upload.id)
            view = price(
                measured_changes(bundle, verdicts),
                bundle.pricing,
                today=today,
                sheet=sheet,
                registered=registered_workloads(bundle),
            )
        workloads = {
            verdict.workload
            for verdict in verdicts
            if verdict.metric.name == STEP_TIME.name
            and verdict.outcome in CHANGED_OUTCOMES
            and not verdict.is_warning
        }
        prices = tuple(one for one in view.prices.prices if one.workload in workloads)
        with self._lock:
            self._prices[key] = prices
            while len(self._prices) > MAX_KEPT:
                self._prices.popitem(last=False)
        return prices


def _day(upload: StoredUpload) -> date:
    return (upload.judged_at or upload.created_at).date()
