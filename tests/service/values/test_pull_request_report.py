import pytest

from perfledger_service.values.pull_request_report import (
    ClassReport,
    ClassStatus,
    PullRequestReport,
)
from perfledger_service.values.report import Conclusion


@pytest.mark.parametrize(
    ("status", "conclusion"),
    [(ClassStatus.PENDING, None), (ClassStatus.NOT_MEASURED, Conclusion.FAILURE)],
)
def test_a_class_without_a_report_is_never_green(status, conclusion):
    assert ClassReport(machine_class="cuda:x:1", status=status).conclusion is conclusion


def test_several_classes_have_no_only_report():
    pending = ClassReport(machine_class="cuda:x:1", status=ClassStatus.PENDING)
    result = PullRequestReport(
        classes=(pending, pending),
        conclusion=None,
        title="Pending",
        counts="2 machine classes: pending on 2",
    )

    assert result.only_report is None
