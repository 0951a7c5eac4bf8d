import gc
import os
import random
from pathlib import Path
from types import SimpleNamespace

import pytest

from perfledger.process.state import hidden_history, preserved_state


def test_the_current_folder_comes_back(tmp_path):
    before = Path.cwd()
    with preserved_state():
        os.chdir(tmp_path)

    assert Path.cwd() == before


def test_the_environment_comes_back(monkeypatch):
    monkeypatch.setenv("KEPT", "1")
    monkeypatch.setenv("GONE", "2")
    with preserved_state():
        os.environ["KEPT"] = "changed"
        os.environ["NEW"] = "3"
        del os.environ["GONE"]

    assert (os.environ["KEPT"], os.environ["GONE"]) == ("1", "2")
    assert "NEW" not in os.environ


def test_the_random_state_comes_back():
    random.seed(1)
    expected = random.random()
    random.seed(1)
    with preserved_state():
        random.seed(99)

    assert random.random() == expected


def go_and_fail(folder):
    with preserved_state():
        os.chdir(folder)
        os.chdir("no such folder")


def test_it_comes_back_after_an_error_too(tmp_path):
    before = Path.cwd()
    with pytest.raises(FileNotFoundError):
        go_and_fail(tmp_path)

    assert Path.cwd() == before


def remove_the_folder_and_set(folder, name):
    with preserved_state():
        folder.rmdir()
        os.environ[name] = "1"


def test_the_rest_comes_back_when_the_folder_is_gone(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("LEFT_OVER", raising=False)

    with pytest.raises(FileNotFoundError):
        remove_the_folder_and_set(folder, "LEFT_OVER")

    assert "LEFT_OVER" not in os.environ


@pytest.mark.parametrize("is_enabled", [True, False])
def test_the_collectors_switch_comes_back(is_enabled):
    (gc.enable if is_enabled else gc.disable)()
    try:
        with preserved_state():
            (gc.disable if is_enabled else gc.enable)()

        assert gc.isenabled() is is_enabled
    finally:
        gc.enable()


class Setting:
    """Something global of a library's."""

    def __init__(self, value):
        self.value = value

    def get(self):
        return self.value

    def set(self, value):
        self.value = value


def test_the_settings_of_loaded_libraries_come_back():
    numpy, torch, grad, cuda = (Setting("before") for _ in range(4))
    modules = {
        "numpy.random": SimpleNamespace(get_state=numpy.get, set_state=numpy.set),
        "torch": SimpleNamespace(
            get_rng_state=torch.get,
            set_rng_state=torch.set,
            is_grad_enabled=grad.get,
            set_grad_enabled=grad.set,
            cuda=SimpleNamespace(
                is_initialized=lambda: True,
                get_rng_state_all=cuda.get,
                set_rng_state_all=cuda.set,
            ),
        ),
    }
    with preserved_state(modules):
        for each in (numpy, torch, grad, cuda):
            each.set("changed")

    assert [each.value for each in (numpy, torch, grad, cuda)] == ["before"] * 4


def test_a_switch_that_did_not_move_is_left_alone():
    switch = Setting(True)
    written: list[object] = []
    torch = SimpleNamespace(is_grad_enabled=switch.get, set_grad_enabled=written.append)

    with preserved_state({"torch": torch}):
        pass

    assert written == []


def test_a_cuda_that_was_never_used_is_not_woken():
    with preserved_state(
        {"torch": SimpleNamespace(cuda=SimpleNamespace(is_initialized=lambda: False))}
    ):
        pass


@pytest.mark.slow
@pytest.mark.torch
def test_torch_and_numpy_come_back_as_they_were(torch):
    np = pytest.importorskip("numpy.random")
    np.seed(1)
    torch.manual_seed(1)
    expected = (np.random(), float(torch.rand(1)))
    np.seed(1)
    torch.manual_seed(1)
    with preserved_state():
        np.seed(2)
        torch.manual_seed(2)
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)

    assert (np.random(), float(torch.rand(1))) == expected
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() is torch.float32


@pytest.mark.parametrize("before", ["/theirs/.git", None])
def test_git_finds_no_repository_while_history_is_hidden(monkeypatch, before):
    if before is None:
        monkeypatch.delenv("GIT_DIR", raising=False)
    else:
        monkeypatch.setenv("GIT_DIR", before)

    with hidden_history() as history:
        hidden = os.environ["GIT_DIR"]
        history.close()
        text = os.environ.get("GIT_DIR")
        os.environ["NEW"] = "1"

    assert (hidden, text) == (os.devnull, before)
    assert os.environ.get("GIT_DIR") == before
    assert os.environ.pop("NEW") == "1"
