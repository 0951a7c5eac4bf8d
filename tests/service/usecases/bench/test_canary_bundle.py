"""Tests what of a machine's canaries goes into a bundle."""

from dataclasses import replace

import pytest

from perfledger.records import Device, Machine
from perfledger_runners.bundles.files import read_bundle
from perfledger_runners.checkouts.repository import Repository
from perfledger_service.errors import NotMeasuredError
from perfledger_service.usecases.bench.canary_bundle import canary_bundle
from perfledger_service.values.doctor_views import CanaryResult, CanaryState, CanaryView
from tests.service.git_history import GitHistory

GPU = Machine(device=Device.CUDA, model="a GPU")
MEASURED = CanaryResult(
    name="matmul[dtype=float32,size=8192]",
    framework="torch",
    params={"dtype": "float32", "size": 8192},
    unit="FLOP",
    devices=1,
    device="a GPU",
    per_second=1e12,
    low_per_second=9e11,
    high_per_second=1.1e12,
    expected_per_second=2e12,
    state=CanaryState.SLOW,
    basis="of the peak",
    rates=(1e12, 1.1e12),
)
FAILED = replace(MEASURED, name="embedding", per_second=None, rates=())


def a_clone(folder):
    history = GitHistory(folder / "clone")
    history.commit()
    return Repository.open(history.folder)


def test_a_bundle_has_what_ran_on_the_device(tmp_path):
    clone = a_clone(tmp_path)
    second = replace(MEASURED, name="gpt_block", expected_per_second=None)
    beside = replace(MEASURED, name="data_loader", device="a CPU", rates=(1.0, 2.0))
    view = CanaryView(machine=GPU, results=(MEASURED, second, beside, FAILED), findings=())

    bundle = canary_bundle(clone, view, repository="octo/models")

    assert [each.name for each in bundle.canaries] == [MEASURED.name, second.name]
    assert read_bundle(bundle.to_json().encode()) == bundle
    with pytest.raises(NotMeasuredError, match="no canary ran on a GPU"):
        canary_bundle(clone, replace(view, results=(beside, FAILED)))
