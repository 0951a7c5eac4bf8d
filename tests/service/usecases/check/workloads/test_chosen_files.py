import pytest

from perfledger.protocol import BenchmarkSuite, ChildRequest, Command
from perfledger.records import WorkloadSpec
from perfledger_runners.measuring.discovery import Discovery
from perfledger_service.usecases.check.workloads.chosen_files import discover_chosen
from perfledger_service.usecases.inputs.workload_choice import WorkloadChoice

SUMS = "def time_sum():\n    pass\n"
OTHER = "def time_other():\n    pass\n"


@pytest.fixture
def request_of_asv(tmp_path):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "sums.py").write_text(SUMS)
    (folder / "other.py").write_text(OTHER)
    return ChildRequest(
        command=Command.LIST,
        root=str(tmp_path),
        repository=str(tmp_path),
        paths=(),
        suite=BenchmarkSuite.ASV,
    )


def lister(*names):
    """Return a function that lists workloads of these ids, and the requested files."""
    requested_files = []
    workloads = tuple(WorkloadSpec(id=name, module="m", function="f") for name in names)

    def list_files(listed):
        requested_files.append(listed)
        return (Discovery(workloads=workloads, notes=("a note",)),)

    return list_files, requested_files


def test_only_files_that_name_what_is_chosen_are_listed_and_the_others_are_named(request_of_asv):
    list_files, requested_files = lister("benchmarks.sums:time_sum")
    choice = WorkloadChoice(expression="time_sum")

    (discovery,) = discover_chosen((request_of_asv,), choice, list_files)

    assert requested_files == [("benchmarks/sums.py",)]
    assert discovery.notes == (
        "a note",
        "not imported, because -k 'time_sum' names nothing in their text: benchmarks/other.py",
    )


def test_all_files_are_listed_if_none_of_the_listed_workloads_is_chosen(request_of_asv):
    list_files, requested_files = lister("benchmarks.other:made_by_code")
    choice = WorkloadChoice(expression="time_sum")

    (discovery,) = discover_chosen((request_of_asv,), choice, list_files)

    assert requested_files == [("benchmarks/sums.py",), ()]
    assert discovery.notes == ("a note",)


@pytest.mark.parametrize(
    "choice",
    [
        WorkloadChoice(),
        WorkloadChoice(expression="time"),
        WorkloadChoice(expression="nowhere"),
        WorkloadChoice(globs=("*",)),
    ],
)
def test_all_files_are_listed_where_all_or_none_may_be_chosen(choice, request_of_asv):
    list_files, requested_files = lister("benchmarks.sums:time_sum")

    discover_chosen((request_of_asv,), choice, list_files)

    assert requested_files == [()]
