import pytest

from perfledger_profiles.flame_graph.frame_tree import Frame
from perfledger_service.rendering.chart.marks import Tone
from perfledger_service.rendering.trace.flame_graph.chart import MAX_DRAWN, flame_chart


def frame(name, base_s, head_s, *frames):
    return Frame(name=name, base_seconds=base_s, head_seconds=head_s, frames=frames)


@pytest.fixture
def tree():
    return frame(
        "step",
        0.010,
        0.012,
        frame("forward", 0.006, 0.008, frame("<softmax>", 0.001, 0.003), frame("mm", 0.004, 0.004)),
        frame("backward", 0.004, 0.003),
        frame("gone", 0.001, 0.0),
    )


def test_frames_stand_side_by_side_below_the_one_around_them(tree):
    chart = flame_chart(tree)

    assert chart is not None
    placed = {mark.title.split(":")[0]: mark for mark in chart.marks}
    assert set(placed) == {"step", "forward", "<softmax>", "mm", "backward"}
    assert placed["step"].x == (0.0, 0.012)
    assert placed["forward"].x == pytest.approx((0.0, 0.008))
    assert placed["mm"].x == pytest.approx((0.003, 0.007))
    assert placed["backward"].x == pytest.approx((0.008, 0.011))
    tops = [placed[name].y[0] for name in ("step", "forward", "mm")]  # type: ignore[index]
    assert tops == sorted(set(tops))


def test_colour_sign_and_words_say_what_became_slower_or_faster(tree):
    chart = flame_chart(tree)

    assert chart is not None
    placed = {mark.title.split(":")[0]: mark for mark in chart.marks}
    assert placed["<softmax>"].tone is Tone.ORANGE
    assert placed["<softmax>"].label.startswith("+ ")
    assert placed["<softmax>"].title.endswith(", slower")
    assert placed["backward"].tone is Tone.BLUE
    assert placed["backward"].label.startswith("- ")
    assert placed["mm"].tone is Tone.MUTED


def test_a_step_without_time_has_no_chart():
    assert flame_chart(frame("step", 0.010, 0.0)) is None


def test_many_frames_are_drawn_up_to_a_limit_and_the_others_are_counted():
    inside = [frame(f"op {place}", 0.001, 0.001 + place * 1e-6) for place in range(3 * MAX_DRAWN)]
    chart = flame_chart(frame("step", 1.0, 1.0, *inside))

    assert chart is not None
    assert len(chart.marks) <= MAX_DRAWN + 1
    assert f"{3 * MAX_DRAWN + 1 - len(chart.marks)} narrow frames" in chart.caption
