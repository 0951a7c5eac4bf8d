"""Results for Perfherder, in the shape of its schema."""

import pytest

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.perfherder import is_perfherder, read_perfherder
from perfledger_profiles.benchmark_histories.results import HistoryFileError
from tests.runners.profiles.history_samples import PERFHERDER, PERFHERDER_LOG


@pytest.mark.parametrize("content", [PERFHERDER, PERFHERDER_LOG])
def test_suites_and_subtests_are_series(parsed, content):
    file = parsed(content)
    suite, load, score = read_perfherder(file)

    assert is_perfherder(file)
    assert suite.benchmark == "raptor fenix tp6 e10s warm"
    assert (suite.value, suite.unit, suite.worse) == (0.5945, "s", WorseDirection.HIGHER)
    assert load.benchmark == "raptor fenix tp6 e10s warm load"
    assert load.samples == pytest.approx((0.5865, 0.59))
    assert (score.value, score.unit, score.worse) == (12.0, "score", WorseDirection.LOWER)
    assert suite.commit == ""


@pytest.mark.parametrize(
    ("stated", "worse"),
    [
        ({}, WorseDirection.HIGHER),
        ({"lowerIsBetter": False}, WorseDirection.LOWER),
        ({"unit": "ms"}, WorseDirection.HIGHER),
        ({"unit": "ms", "lowerIsBetter": False}, WorseDirection.LOWER),
        ({"unit": "tokens/s"}, None),
        ({"unit": "tokens/s", "lowerIsBetter": True}, WorseDirection.HIGHER),
        ({"unit": "tokens/s", "lowerIsBetter": False}, WorseDirection.LOWER),
    ],
)
def test_lower_is_better_unless_stated_otherwise_or_against_the_unit(parsed, stated, worse):
    suites = [{"name": "s", "value": 1, "subtests": []} | stated]

    (result,) = read_perfherder(parsed({"framework": {"name": "f"}, "suites": suites}))

    assert result.worse is worse


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("PERFHERDER_DATA: see above\n", "line 1 has no JSON"),
        ('ok\nPERFHERDER_DATA: {"framework": {"na\n', "line 2 is not complete JSON"),
        ('PERFHERDER_DATA: {"framework": {}, "suites": []}\n', "'name' is missing"),
    ],
)
def test_a_damaged_line_is_named(parsed, text, words):
    with pytest.raises(HistoryFileError, match=words):
        list(read_perfherder(parsed(text)))
