import pytest

from perfledger_service.cli.workload_flags import suite_of
from perfledger_service.errors import UsageError


@pytest.mark.parametrize(
    ("flags", "suite"), [((False, False), None), ((True, False), "asv"), ((False, True), "pytest")]
)
def test_a_flag_names_its_suite(flags, suite):
    assert suite_of(is_asv=flags[0], is_pytest=flags[1]) == suite


def test_two_suites_at_once_are_refused():
    with pytest.raises(UsageError, match="one after the other"):
        suite_of(is_asv=True, is_pytest=True)
