import pytest

from perfledger_profiles.diff.noise import NOISE_SHARE
from perfledger_profiles.flame_graph.frame_tree import Frame
from perfledger_service.rendering.chart.marks import Tone
from perfledger_service.rendering.trace.flame_graph.frame_change import change_tone

STEP = Frame(name="step", base_seconds=1.0, head_seconds=1.0)


@pytest.mark.parametrize(
    ("delta_s", "tone"),
    [
        (NOISE_SHARE * 0.99, Tone.MUTED),
        (NOISE_SHARE * 1.01, Tone.ORANGE),
        (-NOISE_SHARE * 1.01, Tone.BLUE),
    ],
)
def test_a_change_within_the_noise_of_a_step_has_no_colour(delta_s, tone):
    frame = Frame(name="op", base_seconds=0.5, head_seconds=0.5 + delta_s)

    assert change_tone(frame, STEP) is tone
