"""What the peak of a torch step's memory holds, by steps whose peaks are worked out by hand."""

import importlib
import json

import pytest

from perfledger.meters.torch_lines import record_lines

pytestmark = [pytest.mark.slow, pytest.mark.torch]


@pytest.fixture
def peak_tensors_of(torch, tmp_path):
    """Return a function that returns the bytes at a step's peak, by operator and tensor."""

    def record(step, *, device="cpu"):
        path = record_lines(
            torch,
            importlib.import_module,
            step,
            root=tmp_path,
            path=tmp_path / "lines.json",
            device=device,
        )
        assert path is not None
        rows = json.loads(path.read_text(encoding="utf-8"))["peak_tensors"]
        return {(row["operator"], row["tensor"]): (row["bytes"], row["tensors"]) for row in rows}

    return record


def test_the_peak_holds_what_lives_at_once_and_what_is_older_than_the_step(torch, peak_tensors_of):
    older = torch.ones(1000)

    def step():
        first = older * 2
        second = first.new_zeros(3000)  # the peak: 4,000 + 4,000 + 12,000 bytes
        del second
        return first + older

    assert peak_tensors_of(step) == {
        ("", "float32[1000]"): (4000, 1),
        ("aten::mul", "float32[1000]"): (4000, 1),
        ("aten::new_zeros", "float32[3000]"): (12_000, 1),
    }


def test_a_tensor_that_is_released_before_the_peak_is_not_held(torch, peak_tensors_of):
    def step():
        torch.zeros(5000)
        return torch.ones(6000)

    assert peak_tensors_of(step) == {("aten::ones", "float32[6000]"): (24_000, 1)}


def test_of_two_equal_peaks_the_first_counts(torch, peak_tensors_of):
    def step():
        torch.zeros(5000)
        return torch.ones(5000)

    assert peak_tensors_of(step) == {("aten::zeros", "float32[5000]"): (20_000, 1)}


def test_what_the_backward_pass_needs_is_held_until_then(torch, peak_tensors_of):
    weight = torch.ones(100, 100, requires_grad=True)

    def step():
        weight.grad = None
        (weight.sin().cos().sum()).backward()

    rows = peak_tensors_of(step)

    assert rows["aten::sin", "float32[100,100]"] == (40_000, 1)
    assert rows["", "float32[100,100]"] == (40_000, 1)


def test_a_view_holds_the_memory_of_its_tensor_once(torch, peak_tensors_of):
    def step():
        return [torch.zeros(100, 10)[row] for row in range(1)] + [torch.zeros(7).view(1, 7).t()]

    assert peak_tensors_of(step) == {
        ("aten::zeros", "float32[100,10]"): (4000, 1),
        ("aten::zeros", "float32[7]"): (28, 1),
    }


def test_a_tensor_that_python_makes_in_the_step_is_not_older(torch, peak_tensors_of):
    def step():
        return [torch.zeros(50), torch.tensor([1.0, 2.0])]

    assert ("", "float32[2]") not in peak_tensors_of(step)


def test_memory_of_another_device_is_not_counted(torch, peak_tensors_of):
    assert peak_tensors_of(lambda: torch.zeros(10), device="cuda") == {}


def test_tensors_without_a_storage_are_passed_over(torch, peak_tensors_of):
    def step():
        return torch.eye(3).to_sparse()

    assert ("aten::eye", "float32[3,3]") in peak_tensors_of(step)
