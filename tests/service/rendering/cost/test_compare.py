from dataclasses import replace

import pytest

from perfledger_service.rendering.cost.compare import notes_of
from perfledger_service.values.cost_views import CostView


@pytest.fixture
def view():
    return CostView(accelerators=("H100-80GB",), use=0.4, rows=(), assumed=())


def are_called_not_comparable(view):
    return any("are not comparable" in note for note in notes_of(view))


@pytest.mark.parametrize(
    ("accelerators", "expected"),
    [((), False), (("H100-80GB",), False), (("H100-80GB", "TPU-v4"), True)],
)
def test_hours_of_more_than_one_accelerator_are_not_comparable(view, accelerators, expected):
    assert are_called_not_comparable(replace(view, accelerators=accelerators)) is expected


def test_a_piece_of_work_is_comparable_across_accelerators(view):
    both = replace(view, accelerators=("H100-80GB", "TPU-v4"), piece="a million tokens")

    assert not are_called_not_comparable(both)
