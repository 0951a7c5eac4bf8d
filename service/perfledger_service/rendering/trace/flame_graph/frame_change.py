"""Says whether a frame became slower or faster."""

from perfledger_profiles.diff.noise import NOISE_SHARE
from perfledger_profiles.flame_graph.frame_tree import Frame
from perfledger_service.rendering.chart.marks import Tone


def change_tone(frame: Frame, tree: Frame) -> Tone:
    """Return the colour of a frame's change; a change within the noise of any step has none."""
    if abs(frame.delta_seconds) <= NOISE_SHARE * max(tree.base_seconds, tree.head_seconds):
        return Tone.MUTED
    return Tone.ORANGE if frame.delta_seconds > 0 else Tone.BLUE
