"""Files of measurements that others wrote: what is read, and what is refused in which words."""

import gzip
import math
from dataclasses import replace

import pytest

from perfledger.metrics import CPU_ACTIVE, PEAK_MEMORY, STEP_TIME
from perfledger.records import Device, Machine, Revision
from perfledger_service.errors import NotFoundError, TooLargeError, UsageError
from perfledger_service.usecases.inputs import history_sources, table_columns
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


@pytest.mark.parametrize("gap", ["", " ", "nan", "NaN", "NA", "null"])
def test_gaps_are_kept_as_gaps(read, gap):
    assert read(f"commit,ms\na,1\nb,{gap}\nc,3\n").values == (1.0, NAN, 3.0)


def test_an_empty_line_among_single_values_is_a_gap_and_one_at_the_end_is_none(read):
    assert read("ms\n1\n\n3\n\n\n").values == (1.0, NAN, 3.0)


def test_an_empty_line_of_a_table_is_nothing(read):
    assert read("commit,ms\na,1\n\nb,2\n").values == (1.0, 2.0)


@pytest.mark.parametrize("form", ["\n", "\r\n", "\r"])
def test_the_ends_of_lines_and_a_byte_order_mark_do_not_matter(read, form):
    text = form.join(["commit,ms", "a,1", "b,2", ""])

    series = read(b"\xef\xbb\xbf" + text.encode())

    assert (series.values, series.labels) == ((1.0, 2.0), ("a", "b"))


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters_are_seen(read, delimiter):
    assert read(f"commit{delimiter}ms\na{delimiter}1\n").values == (1.0,)


def test_quoted_cells_may_hold_anything(read):
    series = read('commit,ms\n"a, ""b""\nc",1\nd,2\n')

    assert series.labels == ('a, "b"\nc', "d")


def test_a_file_of_numbers_alone_has_no_header(read):
    series = read("1\n2\n3\n")

    assert (series.name, series.values) == ("column 1", (1.0, 2.0, 3.0))


def test_a_column_named_for_times_is_the_values_if_there_is_no_other(read):
    assert read("commit,time\nabc,1\ndef,2\n").values == (1.0, 2.0)


def test_a_number_that_names_a_point_is_no_value(read):
    series = read("build,ms\n101,1\n102,2\n")

    assert (series.values, series.labels) == ((1.0, 2.0), ("101", "102"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("commit,ms\n", "no value at all"),
        ("commit,ms\na,\nb,nan\n", "a point for decimals: there are 'commit', 'ms'"),
        ("commit,ms\na,1\nb,2\nc,3 ms\n", "column 'ms', line 4: '3 ms' is not a number"),
        ("commit,ms\na,1\nb,1_000\nc,2\n", "line 3: '1_000' is not a number"),
        ("ms\n1\ninf\n2\n", "line 3: 'inf' is not a number"),
        ("ms\n1\n\N{THAI DIGIT ONE}\n2\n", "is not a number"),
        ("ms\n1\n1e400\n2\n", "too large"),
        ("ms\n1\n" + "9" * 5000 + "\n2\n", "too large"),
        ("a,b\n1,2\n", "choose one with --column (of compare: --metric): 'a', 'b'"),
        ("ms,ms\n1,2\n", "the column 'ms' twice"),
        ("commit,ms\na,1\nb,2,3\n", "line 3: 3 cells where the first line has 2"),
        ('commit,ms\na,"1\n', "is not CSV in line"),
        ("commit,ms\na," + "x" * 200_000 + "\n", "is not CSV in line"),
        ("a,b\nx,y\n", "no column of numbers"),
        ("a;b\nx;1,5\ny;2,5\n", "with a point for decimals"),
        ("word\nx\n", "line 2: 'x' is not a number"),
        (b"ms\n1\n\x00\n", "NUL byte in line 3"),
        ("ms\n1\n".encode("utf-16"), "not UTF-8"),
        (b"\x89PNG\r\n\x1a\n\x00", "not UTF-8"),
    ],
)
def test_a_csv_that_cannot_be_read_says_why_and_where(read, content, message):
    with pytest.raises(UsageError) as refused:
        read(content)

    assert message in str(refused.value)


def test_a_column_that_is_not_there_is_answered_with_those_that_are(read):
    with pytest.raises(UsageError, match="no column 'min': choose from 'commit', 'ms'"):
        read("commit,ms\na,1\n", column="min")


@pytest.mark.parametrize("other", ["epoch", "error"])
def test_the_values_do_not_tell_of_themselves(read, other):
    with pytest.raises(UsageError, match="'ms' cannot be both the values and their epochs"):
        read("commit,ms\na,1\n", column="ms", **{other: "ms"})


def test_many_columns_are_not_all_named(read):
    names = ",".join(f"c{place}" for place in range(30))

    with pytest.raises(UsageError, match=r"'c19', \.\.\.$"):
        read(f"{names}\n{names}\n", column="x")


def test_a_chosen_column_without_a_value_is_nothing_to_look_at(read):
    with pytest.raises(UsageError, match="column 'ms': no value at all"):
        read("commit,ms\na,\n", column="ms")


def test_what_a_terminal_would_obey_is_not_in_an_error(read):
    with pytest.raises(UsageError) as refused:
        read("ms\n1\n\x1b[31mred\N{RIGHT-TO-LEFT OVERRIDE}\n2\n")

    assert "\x1b" not in str(refused.value)
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "values", "labels"),
    [
        ("[1, 2.5, null, NaN]", (1.0, 2.5, NAN, NAN), ()),
        ('[{"sha": 12, "ms": 1}, {"ms": 2, "sha": null}]', (1.0, 2.0), ("12", "")),
        ('[{"ok": true, "a": [1], "b": {}, "ms": 1}]', (1.0,), ("true",)),
        ('{"values": [1, 2], "labels": ["a", "b"]}', (1.0, 2.0), ("a", "b")),
        ('{"values": [1, 2]}', (1.0, 2.0), ()),
        ('\n [{"ms": "1.5"}]', (1.5,), ()),
    ],
)
def test_json_is_read_in_its_usual_forms(read, content, values, labels):
    series = read(content, name="history.json")

    assert (series.values, series.labels) == (values, labels)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n", "history.json is empty"),
        ("[1, 2", "is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[1, 1e400]", "item 2: a number that is infinite or too large"),
        (f"[1, {'9' * 5000}]", "too large"),
        ("[1, 2, -Infinity]", "-Infinity is no number"),
        ('[1, 2, "x"]', "item 3: 'x' is not a number"),
        ("[1, 2, true]", "item 3: 'true' is not a number"),
        ("[1, 2, [3]]", "item 3: '[...]' is not a number"),
        ('[1, 2, {"ms": 3}]', "item 3: '{...}' is not a number"),
        ("[]", "no value at all"),
        ("{}", "JSON of another form"),
        ("12", "JSON of another form"),
        ('{"values": [1], "labels": ["a", "b"]}', "2 labels for 1 values"),
        ('[{"ms": 1, "ms": 2}]', "the key 'ms' is there twice"),
        ('[{"a": 1, "b": 2}]', "choose one with --column (of compare: --metric): 'a', 'b'"),
    ],
)
def test_json_that_cannot_be_read_says_why_and_where(read, content, message):
    with pytest.raises(UsageError) as refused:
        read(content, name="history.json")

    assert message in str(refused.value)


def test_too_much_is_refused_before_it_is_parsed(read, monkeypatch):
    monkeypatch.setattr(history_sources, "MAX_BYTES", 20)
    with pytest.raises(TooLargeError, match="MiB"):
        read("ms\n" + "1\n" * 20)
    monkeypatch.undo()
    monkeypatch.setattr(table_columns, "MAX_CELLS", 10)
    for content in ("ms\n" + "1\n" * 20, f"[{'1,' * 20}1]"):
        with pytest.raises(TooLargeError, match="more than 10 cells"):
            read(content)
    monkeypatch.undo()
    monkeypatch.setattr(history_sources, "MAX_POINTS", 10)
    with pytest.raises(TooLargeError, match="more than 10 points"):
        read("ms\n" + "1\n" * 20)


def test_too_many_columns_are_no_table_of_measurements(read):
    wide = ",".join(f'"c{place}": 1' for place in range(1001))

    with pytest.raises(TooLargeError, match="more than 1000 columns"):
        read(f"[{{{wide}}}]")


@pytest.mark.parametrize("name", ["absent.csv", "nul\0.csv"])
def test_no_such_file_says_so(tmp_path, name):
    with pytest.raises(NotFoundError, match="cannot read"):
        read_histories(tmp_path / name)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_one_bundle_is_no_history(read, make_bundle, pack):
    with pytest.raises(UsageError, match="a history needs several"):
        read(pack(make_bundle().to_json().encode()), name="bundle.json")


def test_what_is_wrong_with_a_bundle_names_its_file(read):
    with pytest.raises(UsageError, match=r"^old\.json: version: "):
        read('{"format": "perfledger-bundle"}', name="old.json")


@pytest.fixture
def folder(tmp_path, make_bundle):
    def folder(*given):
        for place, values in enumerate(given):
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
    found = {series.name: series for series in read_histories(folder({}, {}, {}))}

    assert set(found) == {"gpt:step step_time_p50", "gpt:step peak_memory"}
    series = found["gpt:step step_time_p50"]
    assert series.labels == ("2" * 10, "1" * 10, "0" * 10)
    assert series.values == pytest.approx([0.01] * 3, rel=0.01)
    assert series.unit == "s"


def test_a_point_that_more_processes_tell_has_a_smaller_standard_error(folder):
    path = folder({"pairs": 4}, {"pairs": 16}, {"pairs": 4})

    found = {series.name: series for series in read_histories(path)}

    few, many, others = found["gpt:step step_time_p50"].errors
    assert few == pytest.approx(2 * many, rel=0.01)
    assert few == pytest.approx(others, rel=0.01)
    assert found["gpt:step peak_memory"].errors == (0.0, 0.0, 0.0)


def test_points_of_one_process_each_have_no_standard_errors(folder):
    series, *_ = read_histories(folder({"pairs": 1}, {"pairs": 1}))

    assert series.errors == ()


def test_a_check_of_a_branch_adds_its_head_unless_that_was_never_committed(folder):
    dirty = Revision(sha="e" * 40, is_dirty=True)
    path = folder({"pull_request": None}, {"pull_request": None, "head": dirty})

    series = read_histories(path)[0]

    assert series.labels == ("1" * 10, "f" * 10)
    assert series.values == pytest.approx([0.01, 0.012], rel=0.01)


def test_machines_of_other_classes_are_series_of_their_own_with_gaps(folder):
    other = Machine(device=Device.CPU, model="Other CPU")

    found = {series.name: series for series in read_histories(folder({}, {"machine": other}))}

    series = found["gpt:step step_time_p50 on cpu:Other CPU:1"]
    assert list(series.values) == pytest.approx([0.01, math.nan], rel=0.01, nan_ok=True)


def test_a_metric_that_nothing_read_is_no_series(folder):
    path = folder({"metrics": (STEP_TIME, PEAK_MEMORY, CPU_ACTIVE)})

    assert len(read_histories(path)) == 2


def test_readings_of_zero_are_gaps(folder, make_bundle):
    def active(share):
        samples = {"step_time_p50": (0.01,), "cpu_active": (share,)}
        runs = tuple(replace(run, samples=samples) for run in make_bundle().runs)
        return {"metrics": (STEP_TIME, CPU_ACTIVE), "runs": runs}

    series = read_histories(folder(active(0.5), active(0.0)))[1]

    assert list(series.values) == pytest.approx([math.nan, 0.5], nan_ok=True)


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
