"""Benchmarks written for asv are listed and measured in this process, without asv."""

import pytest

from perfledger.measuring.core_use import PREPARED
from perfledger.process.asv import benchmarks as asv_benchmarks
from perfledger.protocol import BenchmarkSuite, Command
from perfledger.registration.argument_faults import MAX_ID_LENGTH

SUITE = """
from pathlib import Path

NOTES = Path(__file__).with_name("notes")

def note(*words):
    with NOTES.open("a") as notes:
        print(*words, file=notes)

def setup(*params):
    note("module setup", *params)

class Sums:
    params = [[10, 20], ["up", "down"]]
    param_names = ["n", "order"]
    timeout = 90

    def setup(self, n, order):
        self.values = list(range(n))

    def time_sum(self, n, order):
        return sum(self.values)

    def teardown(self, n, order):
        note("teardown", n, order)

    def helper(self):
        raise AssertionError

    def _time_private(self):
        raise AssertionError

def time_plain():
    pass

def track_size():
    return 3

def timeraw_import():
    return "import json"

class Memory:
    def mem_list(self):
        return []
    def peakmem_list(self):
        return []
"""


@pytest.fixture(autouse=True)
def _fresh_caches(monkeypatch):
    folders = []
    caches = []
    monkeypatch.setattr(asv_benchmarks, "_CACHE_FOLDERS", caches)
    monkeypatch.setattr(asv_benchmarks, "_FOLDERS", folders)
    yield
    for folder in (*folders, *caches):
        folder.cleanup()


def send(send_command, root, command, **changes):
    return send_command(root, command, suite=BenchmarkSuite.ASV, paths=(), **changes)


def test_timed_functions_and_methods_are_listed_point_by_point(write, send_command):
    answer = send(send_command, write({"benchmarks/sums.py": SUITE}), Command.LIST)

    listed = {each["id"]: each for each in answer.of("workload")}
    assert list(listed) == [
        "benchmarks.sums:Sums.time_sum[n=10,order=up]",
        "benchmarks.sums:Sums.time_sum[n=10,order=down]",
        "benchmarks.sums:Sums.time_sum[n=20,order=up]",
        "benchmarks.sums:Sums.time_sum[n=20,order=down]",
        "benchmarks.sums:time_plain",
    ]
    sums = listed["benchmarks.sums:Sums.time_sum[n=20,order=down]"]
    assert sums["params"] == {"n": 20, "order": "down"}
    assert sums["timeout"] == 90
    assert not answer.of("broken")


def test_listing_makes_a_class_once_for_each_of_its_benchmarks(write, send_command):
    suite = """
from pathlib import Path

class Slow:
    def __init__(self):
        with Path(__file__).with_name("made").open("a") as made:
            print("made", file=made)
    def time_one(self):
        pass
    def time_two(self):
        pass
"""
    root = write({"benchmarks/slow.py": suite})

    assert len(send(send_command, root, Command.LIST).of("workload")) == 2
    assert (root / "benchmarks/made").read_text().splitlines() == ["made"] * 2


def test_what_is_no_time_is_named_and_why(write, send_command):
    answer = send(send_command, write({"benchmarks/sums.py": SUITE}), Command.LIST)

    reasons = {each["name"]: each["reason"] for each in answer.of("left_out")}
    assert reasons.keys() == {
        "benchmarks.sums:track_size",
        "benchmarks.sums:timeraw_import",
        "benchmarks.sums:Memory.mem_list",
        "benchmarks.sums:Memory.peakmem_list",
    }
    assert reasons["benchmarks.sums:track_size"] == "asv: it returns a number, not a time"


def test_a_benchmark_is_set_up_and_torn_down_around_its_steps(write, send_command):
    root = write({"benchmarks/sums.py": SUITE, "benchmarks/notes": ""})
    name = "benchmarks.sums:Sums.time_sum[n=10,order=up]"

    answer = send(send_command, root, Command.MEASURE, workloads=(name,))

    assert answer.about(name)["event"] == "run"
    assert (root / "benchmarks/notes").read_text().splitlines() == [
        "module setup 10 up",
        "teardown 10 up",
    ]


NUMBERED = """
from pathlib import Path

class Fresh:
    number = 2
    calls = []

    def setup(self):
        self.calls.append("setup")
        self.left = 2

    def time_use_up(self):
        self.calls.append("use")
        self.left -= 1
        assert self.left >= 0

    def teardown(self):
        self.calls.append("teardown")
        Path(__file__).with_name("notes").write_text(" ".join(self.calls))
"""


def test_a_benchmark_with_a_number_is_set_up_anew_before_so_many_calls(write, send_command):
    root = write({"benchmarks/fresh.py": NUMBERED})

    run = send(send_command, root, Command.MEASURE).about("benchmarks.fresh:Fresh.time_use_up")

    assert run["event"] == "run", run
    assert run["left_out"] == {PREPARED: 1}
    calls = (root / "benchmarks/notes").read_text()
    assert calls.startswith("setup use teardown setup use use teardown")
    assert calls.endswith("teardown")
    timed = len(run["samples"]["step_time_p50"]) + len(run["warmups_s"])
    assert calls.count("setup") == calls.count("teardown") == timed + 1  # the last is not timed


CACHED = """
class Cached:
    made = 0

    def setup_cache(self):
        Cached.made += 1
        return {"made": Cached.made}

    def time_first(self, cache):
        assert cache == {"made": 1}, cache

    def time_second(self, cache):
        assert cache == {"made": 1}, cache
"""


@pytest.mark.slow(ci_only=True)
def test_setup_cache_runs_once_for_all_benchmarks_of_a_process(write, send_command):
    answer = send(send_command, write({"benchmarks/cached.py": CACHED}), Command.MEASURE)

    assert [each["workload"].rpartition(".")[2] for each in answer.of("run")] == [
        "time_first",
        "time_second",
    ]


SKIPPING = """
def time_skipped():
    raise AssertionError
time_skipped.skip_benchmark = True

class Some:
    params = [1, 2]
    def time_some(self, n):
        pass
    time_some.skip_params = [(2,)]

class Absent:
    def setup(self):
        raise NotImplementedError("no such feature")
    def time_absent(self):
        pass
"""


def test_benchmarks_that_are_marked_to_be_skipped_are_named(write, send_command):
    answer = send(send_command, write({"benchmarks/some.py": SKIPPING}), Command.LIST)

    assert {each["name"] for each in answer.of("left_out")} == {
        "benchmarks.some:Some.time_some[param1=2]",
        "benchmarks.some:time_skipped",
    }


def test_a_setup_that_is_not_implemented_skips_the_benchmark(write, send_command):
    name = "benchmarks.some:Absent.time_absent"

    answer = send(
        send_command, write({"benchmarks/some.py": SKIPPING}), Command.MEASURE, workloads=(name,)
    )

    failed = answer.about(name)
    assert (failed["event"], failed["reason"]) == ("failed", "skipped")
    assert failed["detail"] == "its setup raised NotImplementedError no such feature"


AMBIGUOUS = """
class Suite:
    def time_it(self):
        pass

Alias = Suite

def time_pairs(a, b):
    pass
time_pairs.params = ([1, 2], [3])
time_pairs.param_names = ["n,", "n["]

def time_nothing(n):
    pass
time_nothing.params = ([],)

def time_long(**texts):
    pass
time_long.params = [["x" * 100 + end for end in "ab"]] * 4
"""


def test_every_benchmark_has_an_id_of_its_own_that_fits_or_is_named(write, send_command):
    answer = send(send_command, write({"benchmarks/odd.py": AMBIGUOUS}), Command.LIST)

    ids = [each["id"].removeprefix("benchmarks.odd:") for each in answer.of("workload")]
    reasons = {
        each["name"].removeprefix("benchmarks.odd:"): each["reason"]
        for each in answer.of("left_out")
    }
    assert len(ids) == len(set(ids)) == 1 + 1 + 16
    assert max(map(len, ids)) + len("benchmarks.odd:") == MAX_ID_LENGTH
    assert reasons == {
        "Suite.time_it": "asv: another benchmark has the same id",
        "time_pairs[n_=3]": "asv: another benchmark has the same id",
        "time_nothing": "asv: one of its parameters has no values",
    }


ARRAY = """
class Array:
    def __init__(self, *values):
        self.values = values
    def __iter__(self):
        return iter(self.values)
    def __bool__(self):
        raise ValueError("the truth value of an array is ambiguous")

def time_each(n):
    pass
time_each.params = Array(1, 2)
"""


def test_parameters_may_be_an_array(write, send_command):
    answer = send(send_command, write({"benchmarks/arrays.py": ARRAY}), Command.LIST)

    assert [each["id"] for each in answer.of("workload")] == [
        "benchmarks.arrays:time_each[param1=1]",
        "benchmarks.arrays:time_each[param1=2]",
    ]


def test_a_file_of_a_package_in_the_folder_keeps_its_name(write, send_command):
    files = {
        "benchmarks/__init__.py": "",
        "benchmarks/inner/__init__.py": "",
        "benchmarks/inner/sums.py": "def time_sum():\n    pass",
    }

    answer = send_command(
        write(files),
        Command.LIST,
        suite=BenchmarkSuite.ASV,
        paths=("benchmarks/inner/sums.py",),
    )

    assert [each["id"] for each in answer.of("workload")] == ["benchmarks.inner.sums:time_sum"]


BROKEN = """
class Broken:
    def __init__(self):
        raise OSError("no data")
    def time_it(self):
        pass

def time_fine():
    pass
"""


def test_a_class_that_cannot_be_made_is_broken_and_the_others_are_listed(write, send_command):
    answer = send(send_command, write({"benchmarks/half.py": BROKEN}), Command.LIST)

    (broken,) = answer.of("broken")
    assert broken["path"] == "benchmarks/half.py"
    assert broken["detail"].startswith("Broken.time_it: OSError: no data")
    assert [each["id"] for each in answer.of("workload")] == ["benchmarks.half:time_fine"]


def test_the_folder_is_a_package_of_its_own_name_wherever_it_lies(write, send_command):
    files = {
        "asv_bench/asv.conf.json": '{"benchmark_dir": "speed"}',
        "asv_bench/speed/__init__.py": "",
        "asv_bench/speed/common.py": "SIZE = 3",
        "asv_bench/speed/sums.py": "from .common import SIZE\ndef time_sum():\n    sum([SIZE])",
    }

    answer = send(send_command, write(files), Command.MEASURE)

    assert [each["workload"] for each in answer.of("run")] == ["speed.sums:time_sum"]


def test_a_repository_without_asv_benchmarks_says_so(write, send_command):
    answer = send(send_command, write({"setup.py": ""}), Command.LIST)

    (broken,) = answer.of("broken")
    assert (broken["path"], broken["reason"]) == ("benchmarks", "missing")
    assert "asv.conf.json" in broken["detail"]


def test_attributes_of_asv_that_do_not_apply_are_said_once(write, send_command):
    text = """
class Sums:
    repeat = (1, 5, 10.0)
    warmup_time = 0.1
    def time_one(self): pass
    def time_two(self): pass

def time_three(): pass
time_three.pretty_name = "three"
"""
    answer = send(send_command, write({"benchmarks/sums.py": text}), Command.LIST)

    (note,) = answer.of("note")
    assert note["text"] == (
        "ignored options of asv, by the benchmarks that have them: pretty_name (1), repeat (2), "
        "warmup_time (2)"
    )
