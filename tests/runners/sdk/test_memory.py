import pytest

from perfledger import memory


def test_the_peak_holds_what_was_held():
    memory.reset_peak()
    before = memory.peak_bytes()
    held = bytearray(50_000_000)
    held[::4096] = b"x" * len(held[::4096])

    assert memory.peak_bytes() - before > 40_000_000


def test_a_reset_forgets_what_was_given_back():
    held = bytearray(b"x") * 50_000_000
    high = memory.peak_bytes()
    del held
    memory.give_back()
    memory.reset_peak()

    assert memory.peak_bytes() < high - 40_000_000


def test_the_high_water_mark_is_read_in_bytes(tmp_path):
    status = tmp_path / "status"
    status.write_text("Name:\tpython\nVmHWM:\t    8772 kB\nVmRSS:\t  1 kB\n")

    assert memory.peak_bytes(status) == 8772 * 1024


@pytest.mark.parametrize("text", [None, "Name:\tpython\n"])
def test_without_the_kernels_account_the_process_tells(tmp_path, text):
    status = tmp_path / "status"
    if text is not None:
        status.write_text(text)

    assert memory.peak_bytes(status) > 1_000_000


def test_the_process_volunteers_and_asks_for_a_new_mark_in_the_kernels_words(tmp_path):
    memory.volunteer(tmp_path / "oom_score_adj")
    memory.reset_peak(tmp_path / "clear_refs")

    assert (tmp_path / "oom_score_adj").read_text() == "1000"
    assert (tmp_path / "clear_refs").read_text() == "5"


def test_a_kernel_that_cannot_is_no_error(tmp_path):
    memory.volunteer(tmp_path / "no" / "file")
    memory.reset_peak(tmp_path / "no" / "file")

    assert list(tmp_path.iterdir()) == []
