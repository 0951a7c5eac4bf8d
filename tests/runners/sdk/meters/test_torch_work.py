"""What a torch step asks for, counted by the real torch on the CPU."""

import importlib
from types import SimpleNamespace

import pytest

from perfledger import step_work
from perfledger.meters.torch_work import count_torch_work
from perfledger.protocol import Command

pytestmark = [pytest.mark.slow, pytest.mark.torch]


@pytest.fixture(scope="module")
def count(torch):
    return lambda set_up: count_torch_work(torch, importlib.import_module, set_up)


def values(found):
    return {count.name: count.value for count in found.counts}


def test_a_product_is_counted_without_computing_it(torch, count):
    def set_up():
        x = torch.ones(100_000, 100_000)  # 40 GB, were it real
        return lambda: x @ x

    found = count(set_up)

    assert values(found) == {
        step_work.FLOPS: 2e15,
        step_work.BYTES: 3 * 4e10,
        step_work.OPERATORS: 1,
    }
    assert found.limits == ()


def test_views_and_empty_memory_move_nothing(torch, count):
    def set_up():
        x = torch.ones(10, 10)
        return lambda: torch.empty(10).copy_(x.t().reshape(100)[:10])

    found = values(count(set_up))

    assert found[step_work.OPERATORS] == 3  # empty, the reshape's copy, copy_
    assert found[step_work.BYTES] == 4 * (2 * 100 + 3 * 10)


def train(torch, *, foreach, optimizer="AdamW"):
    def set_up():
        model = torch.nn.Sequential(
            torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)
        )
        chosen = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3, foreach=foreach)
        x = torch.randn(16, 32)

        def step():
            chosen.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            chosen.step()
            return loss.detach()

        return step

    return set_up


def test_a_training_step_counts_forward_and_backward(torch, count):
    found = count(train(torch, foreach=False))

    forward = 2 * 16 * (32 * 64 + 64 * 8)
    assert (
        values(found)[step_work.FLOPS] == 2 * forward + 2 * 16 * 64 * 8
    )  # no gradient of the input
    assert found.limits == ()


def test_an_optimizer_that_works_on_lists_calls_fewer_operators(torch, count):
    single, together = (values(count(train(torch, foreach=each))) for each in (False, True))

    assert together[step_work.OPERATORS] < single[step_work.OPERATORS]
    assert together[step_work.FLOPS] == single[step_work.FLOPS]


def test_the_same_step_gives_the_same_counts(torch, count):
    assert count(train(torch, foreach=False)) == count(train(torch, foreach=False))


def test_a_module_that_is_moved_to_its_device_is_counted_without_a_limit(torch, count):
    def set_up():
        model = torch.nn.Linear(8, 8).to("cpu")
        x = torch.ones(8, 8)
        return lambda: model(x).sum().backward()

    found = count(set_up)

    assert values(found)[step_work.FLOPS] == 2 * 2 * 8**3
    assert found.limits == ()


def test_a_step_that_needs_values_is_counted_in_a_real_one_and_says_so(torch, count):
    def set_up():
        x = torch.ones(8, 8)
        return lambda: x @ x if (x @ x).sum().item() > 0 else x

    found = count(set_up)

    assert values(found)[step_work.FLOPS] == 2 * 2 * 8**3
    (limit,) = found.limits
    assert limit.startswith("counted in a real step, because it needs tensor values: ")


def test_tensors_of_the_module_are_taken_without_their_data(torch, count):
    weights = torch.ones(8, 8)

    found = count(lambda: lambda: weights @ weights)

    assert values(found)[step_work.FLOPS] == 2 * 8**3
    assert weights.sum().item() == 64


def test_a_step_that_does_not_run_is_a_limit(count):
    def step():
        msg = "no data\nfor you"
        raise ValueError(msg)

    found = count(lambda: step)

    assert found.counts == ()
    assert found.limits == ("its step fails while it is counted: ValueError: no data",)


def test_a_torch_that_cannot_leave_out_compiling_counts_all_the_same(torch):
    older = SimpleNamespace(Tensor=torch.Tensor, compiler=SimpleNamespace())

    def set_up():
        x = torch.ones(8, 8)
        return lambda: x @ x

    assert (
        values(count_torch_work(older, importlib.import_module, set_up))[step_work.FLOPS]
        == 2 * 8**3
    )


def test_a_set_up_that_fails_is_the_callers_business(count):
    with pytest.raises(ZeroDivisionError):
        count(lambda: 1 // 0)


WORKLOADS = """
import torch
import perfledger

@perfledger.workload()
def matmul():
    x = torch.ones(16, 16)
    return lambda: x @ x

@perfledger.workload()
def compiled():
    x = torch.ones(16, 16)
    multiply = torch.compile(lambda a: torch.relu(a @ a))
    return lambda: multiply(x)

@perfledger.workload()
def fails():
    raise KeyError("weights")
"""


@pytest.fixture(scope="module")
def answer(tmp_path_factory, run_child):
    root = tmp_path_factory.mktemp("torch-repository")
    (root / "benchmarks").mkdir(parents=True)
    (root / "benchmarks/mul.py").write_text(WORKLOADS)
    return run_child(root, Command.COUNT)


def test_a_compiled_function_is_counted_as_it_was_written(answer):
    counted = answer.about("benchmarks.mul:compiled")

    assert {c["name"]: c["value"] for c in counted["counts"]} == {
        step_work.FLOPS: 2 * 16**3,
        step_work.BYTES: 4 * 16**2 * (3 + 2),
        step_work.OPERATORS: 2,
    }
    assert counted["limits"] == []


def test_a_child_answers_for_each_workload(answer):
    counted = answer.about("benchmarks.mul:matmul")
    assert (counted["event"], counted["limits"], counted["program"]) == ("counted", [], "")
    assert counted["counts"][0] == {
        "name": "flops_per_step",
        "unit": "FLOP",
        "value": 8192.0,
        "source": "torch's FlopCounterMode",
    }
    failed = answer.about("benchmarks.mul:fails")
    assert (failed["event"], failed["reason"]) == ("failed", "raised")
