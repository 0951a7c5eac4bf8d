"""Tables made here in the shape of `sacct --parsable2`; none was recorded."""

import pytest

from perfledger_cost_models.usage.device_spans import UsageFileError
from perfledger_cost_models.usage.sacct import (
    Gpus,
    amounts_of,
    duration_s,
    gpus_of,
    is_sacct,
    sacct_rows,
)

HEADER = ("JobID", "JobName", "Cluster", "Submit", "Start", "End", "ElapsedRaw", "Elapsed")
START = 1_790_812_800.0  # 2026-10-01T00:00:00Z


def row(**values):
    usual = {
        "JobID": "7",
        "JobName": "train",
        "Cluster": "a",
        "Submit": "2026-09-30T00:00:00",
        "Start": "2026-10-01T00:00:00",
        "End": "2026-10-01T01:00:00",
        "ElapsedRaw": "",
        "Elapsed": "",
    }
    return "|".join((usual | values)[column] for column in HEADER)


def read(*rows, columns=("JobID",)):
    return list(sacct_rows("\n".join(("|".join(HEADER), *rows)), "x", columns))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("00:01", 1.0),
        ("01:00", 60.0),
        ("01:00:00", 3600.0),
        ("1-00:00:00", 86_400.0),
        ("2-03:04:05.678", 183_845.0),
        ("1-00:00", 86_400.0),
        ("", None),
        ("5", None),
        ("1:2:3:4", None),
        ("-1:00", None),
    ],
)
def test_a_duration_is_days_hours_minutes_and_seconds(text, seconds):
    assert duration_s(text) == seconds


@pytest.mark.parametrize(
    ("tres", "name", "amount"),
    [
        ("cpu=8,mem=4K", "mem", 4096.0),
        ("mem=4M", "mem", 4 * 1024.0**2),
        ("mem=1.5G", "mem", 1.5 * 1024**3),
        ("mem=1T,cpu=8", "mem", 1024.0**4),
        ("mem=2P", "mem", 2 * 1024.0**5),
        ("gres/gpu=2", "gres/gpu", 2.0),
    ],
)
def test_units_of_amounts_are_of_1024(tres, name, amount):
    assert amounts_of(tres)[name] == amount


def test_what_is_no_amount_is_left_out():
    assert amounts_of("cpu=,mem=4X,gres/gpu=2") == {"gres/gpu": 2.0}


@pytest.mark.parametrize(
    ("tres", "gpus"),
    [
        ("gres/gpu=8,gres/gpu:h100=8", Gpus(8, "h100")),
        ("gres/gpu:h100=4,gres/gpu:a100=2", Gpus(6, "")),
        ("gres/gpu=8,gres/gpu:h100=4,gres/gpu:a100=2", Gpus(8, "")),
        ("gres/gpu=3", Gpus(3, "")),
        ("gres/gpu=2,gres/gpu:1g.10gb=2", Gpus(2, "1g.10gb", 142)),  # a seventh each
        ("gres/gpu:a100_3g.40gb=1", Gpus(1, "a100_3g.40gb", 500)),
        ("gres/gpu=3,gres/gpu:a100=1,gres/gpu:a100_3g.20gb=2", Gpus(3, "", 667)),
        ("cpu=8", Gpus(0, "")),
    ],
)
def test_the_total_of_gpus_goes_before_their_types(tres, gpus):
    assert gpus_of(tres) == gpus


def test_a_header_of_sacct_has_the_jobs_id():
    assert is_sacct("JobID|JobName")
    assert not is_sacct("JobIDRaw|JobName")


def test_a_row_has_its_job_step_and_times():
    job, step = read(row(), row(JobID="7.batch"))

    assert (job.job, job.step, step.job, step.step) == ("7", "", "7", "batch")
    assert job.span() == (START, START + 3600)
    assert (step.where, job.get("Account")) == ("x, line 3", "")


@pytest.mark.parametrize(
    ("values", "span"),
    [
        ({"Start": "Unknown", "End": "Unknown"}, None),
        ({"End": "Unknown", "ElapsedRaw": "90"}, (START, START + 90)),
        ({"End": "Unknown", "ElapsedRaw": "9" * 11}, (START, START + 99_999_999_999)),
        ({"End": "Unknown", "ElapsedRaw": "9" * 12, "Elapsed": "00:10"}, (START, START + 10)),
        ({"End": "Unknown", "Elapsed": "01:00:00"}, (START, START + 3600)),
        ({"End": "2026-10-01T00:00:00"}, (START, START)),
    ],
)
def test_a_running_job_lasts_until_now(values, span):
    (job,) = read(row(**values))

    assert job.span() == span


def test_a_running_job_without_its_length_is_refused():
    (job,) = read(row(End="Unknown"))

    with pytest.raises(UsageFileError, match="x, line 2: the run has neither End nor Elapsed"):
        job.span()


def test_a_run_that_ends_before_it_starts_is_refused():
    with pytest.raises(UsageFileError, match=r"before its start at .* TZ=UTC sacct"):
        read(row(End="2026-09-30T23:59:59"))


@pytest.mark.parametrize("elapsed", [{"Elapsed": "00:00:00"}, {"ElapsedRaw": "0"}])
def test_what_lies_outside_an_export_with_truncate_has_neither_start_nor_end(elapsed):
    """Slurm cuts End to the export's end before Start, and Start to its beginning after End."""
    later = row(Start="2026-10-02T06:00:00", End="2026-10-02T00:00:00", **elapsed)
    earlier_step = row(
        JobID="7.0", Start="2026-10-02T00:00:00", End="2026-10-01T05:00:00", **elapsed
    )

    rows = read(later, earlier_step, later)

    assert [(each.start, each.end, each.span()) for each in rows] == [(None, None, None)] * 3
    assert all(each.is_outside_export for each in rows)


def test_a_jobs_name_may_have_the_delimiter():
    (job,) = read(row(JobName="a|b|c"))

    assert (job.get("JobName"), job.get("Cluster")) == ("a|b|c", "a")


@pytest.mark.parametrize("line", ["7|train", "7"])
def test_a_truncated_row_is_refused(line):
    with pytest.raises(UsageFileError, match="cells for 8 columns"):
        read(line)


def test_a_missing_column_is_named():
    with pytest.raises(UsageFileError, match=r"lacks \['AllocTRES'\]"):
        read(row(), columns=("JobID", "AllocTRES"))


@pytest.mark.parametrize(
    "other",
    [
        {"Start": "2026-10-01T00:00:01"},
        {"Cluster": "b"},
        {"JobID": "7.0"},
        {"Start": "Unknown", "End": "Unknown"},
    ],
)
def test_another_run_cluster_or_step_counts_too(other):
    assert len(read(row(), row(**other))) == 2


@pytest.mark.parametrize("values", [{}, {"Start": "Unknown", "End": "Unknown"}])
def test_a_run_that_appears_twice_is_refused(values):
    with pytest.raises(UsageFileError, match="x, line 3: job '7' appears twice"):
        read(row(**values), row(**values))


def test_a_job_without_any_time_is_no_run_and_may_appear_twice():
    timeless = row(Submit="", Start="", End="")

    assert len(read(timeless, timeless)) == 2


PIPES = "JobID|JobName|Submit|Start|End|AllocTRES|SubmitLine|Comment|State\n"


@pytest.mark.parametrize(
    ("name", "submit_line", "comment"),
    [
        ("a|b", "sbatch", ""),
        ("train", "sbatch --wrap=env | grep SLURM | sort", ""),
        ("train", "sbatch", "see | below"),
    ],
)
def test_one_text_of_a_row_may_contain_the_delimiter(name, submit_line, comment):
    moments = "2026-09-01T00:00:00|2026-09-01T01:00:00|2026-09-01T02:00:00"
    row = f"7|{name}|{moments}|gres/gpu=8|{submit_line}|{comment}|COMPLETED\n"

    (job,) = sacct_rows(PIPES + row, "sacct.txt", ("JobID",))

    assert job.span() == (1_788_224_400.0, 1_788_228_000.0)
    assert (job.get("AllocTRES"), job.get("State")) == ("gres/gpu=8", "COMPLETED")
    assert job.get("JobName") == name


def test_two_texts_with_the_delimiter_are_refused():
    moments = "2026-09-01T00:00:00|2026-09-01T01:00:00|2026-09-01T02:00:00"
    row = f"7|a|b|{moments}|gres/gpu=8|env | sort||COMPLETED\n"

    with pytest.raises(UsageFileError, match="11 cells for 9 columns, because texts contain"):
        tuple(sacct_rows(PIPES + row, "sacct.txt", ("JobID",)))


def test_a_delimiter_that_two_columns_of_text_may_have_moved_no_job_to_another_account():
    header = "JobID|JobName|Account|SubmitLine|Submit|Start|End|AllocTRES\n"
    moments = "2026-09-01T00:00:00|2026-09-01T01:00:00|2026-09-01T02:00:00"
    row = f"7|train|vision|env | sort|{moments}|gres/gpu=8\n"

    with pytest.raises(UsageFileError, match="9 cells for 8 columns, because texts contain"):
        tuple(sacct_rows(header + row, "sacct.txt", ("JobID",)))
