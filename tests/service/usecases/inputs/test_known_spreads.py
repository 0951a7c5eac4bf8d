"""What a check knows before its first pair, and what it makes of that."""

import pytest

from perfledger.bundle import KnownSpread
from perfledger.metrics import PEAK_MEMORY, STEP_TIME
from perfledger.records import Device, Machine
from perfledger_baselines.significance.interim_looks import planned_looks
from perfledger_service.usecases.history.spreads import spreads_of_service
from perfledger_service.usecases.inputs.known_spreads import (
    MAX_DEVICES,
    KnownSpreads,
    find_known_spreads,
    machine_classes,
)
from perfledger_service.usecases.inputs.upload_target import UploadTarget

TOKEN = "pl_0123abcd_" + "s" * 43
MACHINE = Machine(device=Device.CPU, model="Test CPU", cpu_model="Test CPU")


def a_spread(workload="gpt:step", metric=STEP_TIME.name):
    return KnownSpread(
        workload=workload,
        metric=metric,
        machine_class="cpu:Test CPU:1",
        variance=1e-4,
        degrees=12.0,
        pairs=40,
    )


@pytest.fixture
def target(site):
    return UploadTarget(url=site.url, token=TOKEN)


def learn(site, make_bundle, **values):
    for seed in range(2):
        bundle = make_bundle(seed=seed, ratio=1.0, **values)
        site.judge(site.upload(bundle).json()["id"])


def test_a_check_without_a_service_knows_nothing():
    assert find_known_spreads(None, MACHINE, ["gpt:step"]) == KnownSpreads()


def test_earlier_checks_are_recalled(site, target, make_bundle):
    learn(site, make_bundle, workloads=("gpt:step", "gpt:other"))

    known_spreads = find_known_spreads(target, MACHINE, ["gpt:step"])

    assert [(one.workload, one.metric) for one in known_spreads.spreads] == [
        ("gpt:step", STEP_TIME.name)
    ]
    assert known_spreads.history == 8  # entries of two uploads, two workloads and two metrics
    assert known_spreads.notes == ()


def test_a_file_that_is_not_a_history_is_named(tmp_path):
    path = tmp_path / "spreads.json"
    path.write_text('{"history": 1, "priors": [{"workload": "gpt:step", "device_class": "cpu"}]}')

    (note,) = find_known_spreads(path, MACHINE, ["gpt:step"]).notes

    before = "measured without the history of earlier checks"
    assert note.startswith(f"{before}: {path} is not a history: Object missing required field")


@pytest.mark.slow(ci_only=True)
def test_a_workload_of_two_classes_is_not_guessed_about(site, target, make_bundle):
    machine = Machine(device=Device.CUDA, model="a GPU", count=2, cpu_model="Test CPU")
    for count in (1, 2):
        one = Machine(device=Device.CUDA, model="a GPU", count=count)
        for seed in range(2):
            bundle = make_bundle(seed=10 * count + seed, ratio=1.0, machine=one)
            site.judge(site.upload(bundle).json()["id"])

    assert find_known_spreads(target, machine, ["gpt:step"]).spreads == ()


def test_a_service_that_does_not_answer_is_a_note():
    nobody = UploadTarget(url="http://127.0.0.1:9", token=TOKEN)

    known_spreads = find_known_spreads(nobody, MACHINE, ["gpt:step"])

    assert (known_spreads.spreads, known_spreads.history) == ((), None)
    (note,) = known_spreads.notes
    assert note.startswith("measured without the history of earlier checks: no answer")
    assert TOKEN not in note


@pytest.mark.slow(ci_only=True)
def test_what_was_saved_is_recalled_as_if_asked_for(site, target, make_bundle, tmp_path):
    learn(site, make_bundle)
    machine = Machine(device=Device.CPU, model="Another CPU")
    learn(site, make_bundle, machine=machine, samples=4)
    path = tmp_path / "history.json"

    path.write_bytes(spreads_of_service(target).to_json())

    known_spreads, saved = (
        find_known_spreads(source, MACHINE, ["gpt:step"]) for source in (target, path)
    )
    assert saved.spreads == known_spreads.spreads
    assert (saved.history, known_spreads.history) == (8, 4)  # the file holds another machine's, too


@pytest.mark.parametrize("content", [None, b"", b"{}", b'{"history": -1, "priors": []}'])
def test_a_file_that_holds_no_history_is_a_note(tmp_path, content):
    path = tmp_path / "history.json"
    if content is not None:
        path.write_bytes(content)

    known_spreads = find_known_spreads(path, MACHINE, ["gpt:step"])

    assert known_spreads.spreads == ()
    assert known_spreads.notes[0].startswith("measured without the history of earlier checks: ")


def test_all_numbers_of_devices_are_asked_for():
    machine = Machine(device=Device.CUDA, model="a GPU", count=64, cpu_model="a CPU")

    classes = machine_classes(machine)

    assert classes[0] == "cuda:a GPU:1"
    assert "cuda:a GPU:64" in classes
    assert classes[-1] == "cpu:a CPU:1"
    assert len(classes) == MAX_DEVICES + 2


def test_a_cpu_is_asked_for_once():
    assert machine_classes(MACHINE) == ("cpu:Test CPU:1",)


@pytest.mark.parametrize(
    ("spreads", "fewest"),
    [
        pytest.param((), 5, id="nothing"),
        pytest.param((a_spread(),), 5, id="one of two workloads"),
        pytest.param((a_spread(), a_spread("gpt:other")), 2, id="both"),
        pytest.param((a_spread(), a_spread("gpt:other", PEAK_MEMORY.name)), 5, id="not its time"),
    ],
)
def test_the_second_pair_is_looked_at_if_all_step_times_are_known(spreads, fewest):
    looks = KnownSpreads(spreads=spreads).looks(["gpt:step", "gpt:other"], max_pairs=20)

    assert looks == planned_looks(20, fewest=fewest)


def test_no_workload_is_no_reason_to_look_early():
    assert KnownSpreads().looks([], max_pairs=20) == planned_looks(20)
