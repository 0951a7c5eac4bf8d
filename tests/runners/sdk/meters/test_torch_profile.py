"""Which windows of profiled steps are kept: a real profiler, a scripted heap and clock."""

from itertools import count

import pytest

from perfledger.meters.torch_profile import (
    ACTIVE,
    MOST_WINDOWS,
    WARMUP,
    WINDOWS,
    trace,
)

pytestmark = [pytest.mark.slow, pytest.mark.torch]
STEPS = WARMUP + ACTIVE  # of a window
NEW_PAGES = 1000  # of each step in a window whose heap has not settled


class Recorder:
    """Scripts the heap and the clock, window by window, and counts the windows."""

    def __init__(self, *, unsettled: int, seconds: list[float]) -> None:
        self.windows = 0
        self._unsettled, self._seconds = unsettled, seconds
        self._asked = count()

    def time(self, step) -> float:
        step()
        return self._seconds[(self.windows - 1) % len(self._seconds)]

    def page_faults(self) -> int:
        """Answer before and after each step."""
        is_after = next(self._asked) % 2
        return NEW_PAGES if is_after and self.windows <= self._unsettled else 0


@pytest.fixture
def profiled(torch, tmp_path):
    """Return a function that profiles windows of an addition, as a recorder scripts them."""

    def profile(recorder):
        def next_step():
            recorder.windows += 1
            ones = torch.ones(8)
            return lambda: ones + ones

        return trace(
            torch,
            next_step,
            recorder,
            path=tmp_path / "trace.json",
            has_cuda=False,
            page_faults=recorder.page_faults,
        )

    return profile


@pytest.mark.parametrize(
    ("unsettled", "windows"),
    [
        pytest.param(0, WINDOWS, id="settled at once"),
        pytest.param(6, 6 + WINDOWS, id="settled after six"),
        pytest.param(MOST_WINDOWS, MOST_WINDOWS, id="never settled"),
    ],
)
def test_windows_are_made_until_enough_have_a_settled_heap(profiled, unsettled, windows):
    recorder = Recorder(unsettled=unsettled, seconds=[0.01])

    traced = profiled(recorder)

    assert recorder.windows == windows
    assert traced.trace.is_file()
    assert len(traced.repeats) == WINDOWS - 1
    assert all(path.is_file() for path in traced.repeats)


def test_the_median_window_is_first_of_those_with_a_settled_heap(profiled):
    recorder = Recorder(unsettled=2, seconds=[0.01, 0.01, 0.04, 0.02, 0.03, 0.05, 0.06])

    traced = profiled(recorder)

    # The script begins again after seven windows: 4 2 3 5 6 1 1 4 hundredths.
    assert traced.step_seconds == pytest.approx(0.03)


def test_a_step_that_always_asks_for_pages_is_profiled_too(profiled):
    recorder = Recorder(unsettled=MOST_WINDOWS, seconds=[0.02, 0.03, 0.04])

    traced = profiled(recorder)

    assert traced.step_seconds == pytest.approx(0.03)


def test_one_settled_window_is_kept_alone(profiled):
    recorder = Recorder(unsettled=2, seconds=[0.2, 0.1, 0.5])

    traced = profiled(recorder)

    assert recorder.windows == 3  # five seconds of steps
    assert traced.step_seconds == pytest.approx(0.5)
    assert traced.repeats == ()  # the others differ by their heap


def test_long_steps_have_few_windows(profiled):
    recorder = Recorder(unsettled=0, seconds=[1.0])

    profiled(recorder)

    assert recorder.windows == 1
