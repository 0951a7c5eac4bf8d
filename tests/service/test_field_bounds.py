"""The bounds and defaults of what requests, settings and callers may say are those of a list.

PERFLEDGER_UPDATE_GOLDEN=1 writes the list.
"""

from pathlib import Path

import perfledger_service
from tests.field_bounds import assert_bounds_are_known


def test_fields_and_parameters_have_known_bounds_and_defaults():
    assert_bounds_are_known(perfledger_service, Path(__file__).with_name("field_bounds.txt"))
