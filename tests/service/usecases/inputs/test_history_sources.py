"""Files of measurements that others wrote: what is read, and what is refused in which words."""

import gzip
import math
from dataclasses import replace

import pytest

from perfledger.metrics import PEAK_MEMORY, SM_ACTIVE, STEP_TIME
from perfledger.records import Device, Machine, Revision
from perfledger_service.errors import NotFoundError, TooLargeError, UsageError
from perfledger_service.usecases.inputs import history_sources
from perfledger_service.usecases.inputs.history_sources import read_histories

NAN = pytest.approx(math.nan, nan_ok=True)


@pytest.fixture
def read(tmp_path):
    def read(content, *, name="history.csv", **chosen):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        (series,) = read_histories(path, **chosen)
        return series

    return read


def test_the_one_column_of_numbers_is_the_values_and_the_commits_are_labels(read):
    series = read("note,commit,ms\nx,abc,1.5\ny,def,2\n")

    assert (series.name, series.values, series.labels) == ("ms", (1.5, 2.0), ("abc", "def"))


def test_without_a_column_that_is_called_so_the_first_of_words_names_the_points(read):
    assert read("what,ms\nmonday,1\ntuesday,2\n").labels == ("monday", "tuesday")


def test_a_column_is_chosen_by_its_name(read):
    assert read("base,head\n1,2\n3,4\n", column="head").values == (2.0, 4.0)


def test_a_column_named_for_times_is_the_values_if_there_is_no_other(read):
    assert read("commit,time\nabc,1\ndef,2\n").values == (1.0, 2.0)


def test_a_number_that_names_a_point_is_no_value(read):
    series = read("build,ms\n101,1\n102,2\n")

    assert (series.values, series.labels) == ((1.0, 2.0), ("101", "102"))


def test_a_number_of_an_item_that_names_a_point_is_written_without_its_point(read):
    series = read('[{"sha": 12, "ms": 1}, {"ms": 2, "sha": null}]', name="history.json")

    assert (series.values, series.labels) == ((1.0, 2.0), ("12", ""))


@pytest.mark.parametrize("content", ["commit,ms\na,1\nb,\nc,3\n", "[1, null, 3]"])
def test_gaps_are_kept_as_gaps(read, content):
    assert read(content).values == (1.0, NAN, 3.0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("commit,ms\n", "no value"),
        ("[]", "no value"),
        ("commit,ms\na,\nb,nan\n", "a point for decimals: there are 'commit', 'ms'"),
        ("a;b\nx;1,5\ny;2,5\n", "with a point for decimals"),
        ("a,b\nx,y\n", "no column of numbers"),
        ("a,b\n1,2\n", "choose one with --column (of compare: --metric): 'a', 'b'"),
        ('[{"a": 1, "b": 2}]', "choose one with --column (of compare: --metric): 'a', 'b'"),
    ],
)
def test_a_file_without_one_column_of_numbers_says_what_it_has(read, content, message):
    with pytest.raises(UsageError) as refused:
        read(content)

    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("commit,ms\na,1\nb,2\nc,3 ms\n", "column 'ms', line 4: '3 ms' is not a number"),
        ("ms\n1\ninf\n2\n", "line 3: 'inf' is not a number"),
        ("word\nx\n", "line 2: 'x' is not a number"),
        ('[1, 2, "x"]', "item 3: 'x' is not a number"),
    ],
)
def test_a_mistake_among_numbers_is_named_with_its_place(read, content, message):
    with pytest.raises(UsageError, match=message):
        read(content)


def test_a_column_that_is_not_there_is_answered_with_those_that_are(read):
    with pytest.raises(UsageError, match="no column 'min': choose from 'commit', 'ms'"):
        read("commit,ms\na,1\n", column="min")


@pytest.mark.parametrize("other", ["epoch", "error"])
def test_the_values_do_not_tell_of_themselves(read, other):
    with pytest.raises(UsageError, match="'ms' cannot be both the values and their epochs"):
        read("commit,ms\na,1\n", column="ms", **{other: "ms"})


def test_a_chosen_column_without_a_value_is_nothing_to_look_at(read):
    with pytest.raises(UsageError, match="column 'ms': no value, nothing to analyse"):
        read("commit,ms\na,\n", column="ms")


def test_a_file_that_is_too_large_is_refused(read, monkeypatch):
    monkeypatch.setattr(history_sources, "MAX_BYTES", 20)

    with pytest.raises(TooLargeError, match="MiB"):
        read("ms\n" + "1\n" * 20)


def test_too_many_points_are_refused(read, monkeypatch):
    monkeypatch.setattr(history_sources, "MAX_POINTS", 10)

    with pytest.raises(TooLargeError, match="more than 10 points"):
        read("ms\n" + "1\n" * 20)


@pytest.mark.parametrize("name", ["absent.csv", "nul\0.csv"])
def test_no_such_file_says_so(tmp_path, name):
    with pytest.raises(NotFoundError, match="there is no file"):
        read_histories(tmp_path / name)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_one_bundle_is_no_history(read, make_bundle, pack):
    with pytest.raises(UsageError, match="a history needs several"):
        read(pack(make_bundle().to_json().encode()), name="bundle.json")


def test_what_is_wrong_with_a_bundle_names_its_file(read):
    with pytest.raises(UsageError, match=r"/old\.json: version: "):
        read('{"format": "perfledger-bundle"}', name="old.json")


@pytest.fixture
def folder(tmp_path, make_bundle):
    def folder(*texts):
        for place, values in enumerate(texts):
            sha = f"{place:x}" * 40
            bundle = make_bundle(
                **{
                    "seed": place,
                    "created_at": f"2026-11-{20 - place}T11:00:00+00:00",  # newest first
                    "base": Revision(sha=sha),
                    "head": Revision(sha=sha[::-1].replace(sha[0], "f")),
                    "pull_request": 7,
                }
                | values
            )
            (tmp_path / f"{place}.json").write_text(bundle.to_json())
        return tmp_path

    return folder


def test_a_folder_of_bundles_is_a_series_for_each_workload_and_metric_in_order_of_time(folder):
    found_series = {series.name: series for series in read_histories(folder({}, {}, {}))}

    assert set(found_series) == {"gpt:step step_time_p50", "gpt:step peak_memory"}
    series = found_series["gpt:step step_time_p50"]
    assert series.labels == ("2" * 12, "1" * 12, "0" * 12)
    assert series.values == pytest.approx([0.01] * 3, rel=0.01)
    assert series.unit == "s"


def test_a_point_that_more_processes_tell_has_a_smaller_standard_error(folder):
    path = folder({"pairs": 4}, {"pairs": 16}, {"pairs": 4})

    found_series = {series.name: series for series in read_histories(path)}

    few, many, others = found_series["gpt:step step_time_p50"].errors
    assert few == pytest.approx(2 * many, rel=0.01)
    assert few == pytest.approx(others, rel=0.01)
    assert found_series["gpt:step peak_memory"].errors == (0.0, 0.0, 0.0)


def test_points_of_one_process_each_have_no_standard_errors(folder):
    series, *_ = read_histories(folder({"pairs": 1}, {"pairs": 1}))

    assert series.errors == ()


def test_a_check_of_a_branch_adds_its_head_unless_that_was_never_committed(folder):
    dirty = Revision(sha="e" * 40, is_dirty=True)
    path = folder({"pull_request": None}, {"pull_request": None, "head": dirty})

    series = read_histories(path)[0]

    assert series.labels == ("1" * 12, "f" * 12)
    assert series.values == pytest.approx([0.01, 0.012], rel=0.01)


def test_machines_of_other_classes_are_series_of_their_own_with_gaps(folder):
    other = Machine(device=Device.CPU, model="Other CPU")

    found_series = {
        series.name: series for series in read_histories(folder({}, {"machine": other}))
    }

    series = found_series["gpt:step step_time_p50 on cpu:Other CPU:1"]
    assert list(series.values) == pytest.approx([0.01, math.nan], rel=0.01, nan_ok=True)


def test_a_metric_that_nothing_read_is_no_series(folder):
    path = folder({"metrics": (STEP_TIME, PEAK_MEMORY, SM_ACTIVE)})

    assert len(read_histories(path)) == 2


@pytest.fixture
def active(make_bundle):
    """Return the fields of a bundle with a share of each process of the base."""

    def active(*shares):
        runs = tuple(
            replace(run, samples={"step_time_p50": (0.01,), "sm_active": (shares[run.pair],)})
            for run in make_bundle(pairs=len(shares)).runs
        )
        return {"metrics": (STEP_TIME, SM_ACTIVE), "runs": runs}

    return active


def test_up_to_a_quarter_of_a_points_readings_may_be_zero_and_more_are_a_gap(folder, active):
    path = folder(active(0.5, 0.5, 0.5, 0.5), active(0.5, 0.5, 0.0, 0.5), active(0.5, 0.0, 0.5))

    speed, busy = read_histories(path)

    assert list(busy.values) == pytest.approx([math.nan, 0.5, 0.5], nan_ok=True)
    (note,) = busy.notes
    assert note == (
        "left out of gpt:step sm_active: 2 of 11 runs (zero, negative or not a number), "
        "and 1 of 3 points with over a quarter of such runs"
    )
    assert not any(math.isnan(value) for value in speed.values)


def test_a_metric_that_reads_only_zeros_is_no_series_but_a_note(folder, active):
    (speed,) = read_histories(folder(active(0.0), active(0.0)))

    assert speed.name == "gpt:step step_time_p50"
    assert speed.notes == ()
    (note,) = speed.notes_on_others
    assert note == (
        "left out of gpt:step sm_active: 2 of 2 runs (zero, negative or not a number), "
        "and 2 of 2 points with over a quarter of such runs"
    )


def test_a_chosen_series_has_no_notes_on_others(folder, active):
    path = folder(active(0.5, 0.5, 0.0, 0.5), active(0.5, 0.5, 0.5, 0.5))
    (speed,) = read_histories(path, column="gpt:step step_time_p50")
    (busy,) = read_histories(path, column="gpt:step sm_active")
    zeros = folder(active(0.0), active(0.0))
    (alone,) = read_histories(zeros, column="gpt:step step_time_p50")

    assert (speed.notes, speed.notes_on_others) == ((), ())
    assert [note.partition(":")[0] for note in busy.notes] == ["left out of gpt"]
    assert (alone.notes, alone.notes_on_others) == ((), ())


def test_a_folder_without_bundles_with_a_foreign_file_or_with_one_twice_is_refused(
    tmp_path, folder
):
    with pytest.raises(NotFoundError, match="no bundle in"):
        read_histories(tmp_path)
    path = folder({"seed": 1}, {"seed": 1})
    with pytest.raises(UsageError, match="a bundle twice"):
        read_histories(path)
    (path / "foreign.json").write_text("[1, 2]")
    with pytest.raises(UsageError, match=r"foreign\.json: "):
        read_histories(path)


def test_a_series_of_a_folder_is_chosen_by_its_name(folder):
    path = folder({}, {})

    (series,) = read_histories(path, column="gpt:step peak_memory")

    assert series.unit == "B"
    with pytest.raises(UsageError, match="no series 'ms': choose from 'gpt:step step_time_p50'"):
        read_histories(path, column="ms")


def test_a_folder_of_too_many_is_refused(folder, monkeypatch):
    monkeypatch.setattr(history_sources, "MAX_BUNDLES", 1)

    with pytest.raises(TooLargeError, match="at most 1"):
        read_histories(folder({}, {}))
