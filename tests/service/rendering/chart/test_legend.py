import pytest

from perfledger_service.rendering.chart.legend import legend_rows
from perfledger_service.rendering.chart.marks import Tone
from perfledger_service.rendering.chart.picture import KeyShape, LegendKey


@pytest.mark.parametrize(
    ("shape", "written"),
    [
        (KeyShape.BOX, '<rect class="fill red" x="13" y="0" width="14" height="11" rx="2"/>'),
        (
            KeyShape.LINE,
            '<line class="line red" stroke-width="2" x1="12" x2="27" y1="6" y2="6"/>',
        ),
        (
            KeyShape.DASHES,
            '<line class="line red dashes" stroke-width="2" x1="12" x2="27" y1="6" y2="6"/>',
        ),
        (KeyShape.DOT, '<circle class="dot red" cx="20" cy="6" r="4"/>'),
        (KeyShape.RING, '<circle class="line red" stroke-width="2" cx="20" cy="6" r="4.5"/>'),
    ],
)
def test_every_shape_is_drawn_at_the_edge(shape, written):
    assert legend_rows([LegendKey(label="", tone=Tone.RED, shape=shape)], width=100.0) == (
        [written],
    )


def test_a_label_is_escaped_and_a_pale_box_has_its_opacity():
    ((box, label),) = legend_rows(
        [LegendKey(label="<b>", tone=Tone.INK, opacity=0.15)], width=100.0
    )

    assert 'fill-opacity="0.15"' in box
    assert label == '<text class="soft" x="32" y="10">&lt;b&gt;</text>'


@pytest.mark.parametrize(("width", "rows"), [(109.0, 1), (108.9, 2)])
def test_a_row_ends_where_the_next_key_no_longer_fits(width, rows):
    keys = [LegendKey(label="a", tone=Tone.INK)] * 2  # 42.5 units each, 12 free at either edge

    assert len(legend_rows(keys, width=width)) == rows


def test_no_keys_have_no_rows():
    assert legend_rows([], width=100.0) == ()
