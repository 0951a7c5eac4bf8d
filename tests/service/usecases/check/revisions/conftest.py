"""A repository without commits."""

import pytest

from tests.service.usecases.check.revisions.checkout import Checkout


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)
