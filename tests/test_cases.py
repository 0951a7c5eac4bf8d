"""Tests that a failure names its case."""

import pytest

from tests.cases import case


def test_what_fails_names_its_case():
    with pytest.raises(ZeroDivisionError) as failed, case(path="/", number=3):
        raise ZeroDivisionError

    assert failed.value.__notes__ == ["in the case of path='/', number=3"]
