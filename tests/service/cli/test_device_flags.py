import os

import pytest

from perfledger_profiles.parsing.device_choice import DeviceChoice
from perfledger_runners.machine import nvml
from perfledger_service.cli.device_flags import choice_of, only_chosen_gpu
from perfledger_service.errors import UsageError
from tests.cases import case

VISIBLE = "CUDA_VISIBLE_DEVICES"


def test_the_flags_are_the_choice():
    assert choice_of(1, None) == DeviceChoice(device=1)
    assert choice_of(None, 2) == DeviceChoice(rank=2)


@pytest.mark.parametrize("device", [None, "auto", "cpu", "cuda", "tpu", "tpu:1", "cuda:", "gpu:0"])
def test_a_device_without_a_gpus_name_is_the_setting_as_it_is(monkeypatch, device):
    monkeypatch.setenv(VISIBLE, "4,6")

    with only_chosen_gpu(device) as setting:
        assert (setting, os.environ[VISIBLE]) == (device, "4,6")


def interrupted(*, expected):
    """Choose the GPU of number 1, and end as by Ctrl-C."""
    with only_chosen_gpu("cuda:1") as setting:
        assert (setting, os.environ[VISIBLE]) == ("cuda", expected)
        raise KeyboardInterrupt


def test_a_gpu_that_is_named_is_the_only_visible_one_until_the_end(monkeypatch):
    monkeypatch.setattr(nvml, "load_nvml", lambda: None)  # a real GPU has another name
    for before in ("4,6", None):
        with case(before=before):
            monkeypatch.delenv(VISIBLE, raising=False)
            if before is not None:
                monkeypatch.setenv(VISIBLE, before)

            with pytest.raises(KeyboardInterrupt):
                interrupted(expected="6" if before else "1")

            assert os.environ.get(VISIBLE) == before


def test_a_gpu_that_has_no_such_name_is_an_error_that_names_the_option(monkeypatch):
    monkeypatch.delenv(VISIBLE, raising=False)

    with pytest.raises(UsageError, match="--device cuda:first: 'first' names no GPU"):
        only_chosen_gpu("cuda:first").__enter__()
    assert VISIBLE not in os.environ
