"""Tests that are slow and prove what no other proves run in CI alone."""

import pytest

from tests.suite.tries import is_ci_only


def test_a_slow_test_is_left_to_ci_only_where_its_mark_says_so(request):
    request.node.add_marker(pytest.mark.slow)
    assert not is_ci_only(request.node)
    request.node.add_marker(pytest.mark.slow(ci_only=True))
    assert is_ci_only(request.node)
