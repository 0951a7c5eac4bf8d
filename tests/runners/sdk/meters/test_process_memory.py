import subprocess
import sys

import pytest

from perfledger.meters import child_processes, process_memory

# A process of its own: what earlier tests held and gave back is not in its peak.
GROWTH = """
from perfledger.meters import process_memory

process_memory.reset_peak()
before = process_memory.peak_bytes()
block = bytearray(50_000_000)
block[::4096] = b"x" * len(block[::4096])
print(process_memory.peak_bytes() - before)
"""


def test_the_peak_grows_with_the_memory_in_use():
    child = subprocess.run([sys.executable, "-c", GROWTH], capture_output=True, check=True)

    assert int(child.stdout) > 40_000_000


def test_a_reset_forgets_what_was_given_back():
    buffer = bytearray(b"x") * 50_000_000
    high = process_memory.peak_bytes()
    del buffer
    process_memory.give_back()
    process_memory.reset_peak()

    assert process_memory.peak_bytes() < high - 40_000_000


def test_the_high_water_mark_is_read_in_bytes_and_child_processes_are_added(tmp_path, monkeypatch):
    monkeypatch.setattr(child_processes, "memory_bytes", lambda: 4096)
    status = tmp_path / "status"
    status.write_text("Name:\tpython\nVmHWM:\t    8772 kB\nVmRSS:\t  1 kB\n")

    assert process_memory.peak_bytes(status) == 8772 * 1024 + 4096


@pytest.mark.parametrize("text", [None, "Name:\tpython\n"])
def test_without_the_kernels_account_the_process_tells(tmp_path, text):
    status = tmp_path / "status"
    if text is not None:
        status.write_text(text)

    assert process_memory.peak_bytes(status) > 1_000_000


def test_the_process_volunteers_and_asks_for_a_new_mark_in_the_kernels_words(tmp_path):
    process_memory.mark_for_oom_kill(tmp_path / "oom_score_adj")
    process_memory.reset_peak(tmp_path / "clear_refs")

    assert (tmp_path / "oom_score_adj").read_text() == "1000"
    assert (tmp_path / "clear_refs").read_text() == "5"


def test_a_kernel_that_cannot_is_no_error(tmp_path):
    process_memory.mark_for_oom_kill(tmp_path / "no" / "file")
    process_memory.reset_peak(tmp_path / "no" / "file")

    assert list(tmp_path.iterdir()) == []


def test_the_memory_in_use_grows_with_what_is_held_and_is_unknown_without_the_kernels_word(
    tmp_path,
):
    before = process_memory.in_use_bytes()
    buffer = bytearray(b"x") * 50_000_000
    after = process_memory.in_use_bytes()

    assert before is not None
    assert after is not None
    assert after - before > 40_000_000
    assert len(buffer) == 50_000_000
    assert process_memory.in_use_bytes(tmp_path / "none") is None
    for text in ("", "1", "a b"):
        (tmp_path / "statm").write_text(text)
        assert process_memory.in_use_bytes(tmp_path / "statm") is None


# Counts the pages that the kernel copies in a collection of garbage, in forks that have copied the
# pages with objects or not.
COPIES = """
import gc, os, resource, sys
from perfledger.meters import process_memory

kept = [[number] for number in range(200_000)]

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def copied_in_collection(objects):
    reader, writer = os.pipe()
    if os.fork() == 0:
        if objects is not None:
            process_memory.copy_objects(objects)
        before = faults()
        gc.collect()
        os.write(writer, str(faults() - before).encode())
        os._exit(0)
    os.wait()
    return int(os.read(reader, 100))

pages = process_memory.object_pages()
print(*(copied_in_collection(objects) for objects in (None, pages, ())))  # (): by a collection
"""


@pytest.mark.slow
def test_a_fork_with_its_own_objects_copies_none_in_a_collection():
    child = subprocess.run([sys.executable, "-c", COPIES], capture_output=True, check=True)

    shared, by_pages, by_collection = map(int, child.stdout.split())
    assert shared > 2000
    assert max(by_pages, by_collection) < shared / 10
