"""What a torch step asks for, counted by the real torch on the CPU."""

import importlib
import sys
from types import SimpleNamespace

import pytest

from perfledger import step_work
from perfledger.meters.torch_work import count_torch_work
from perfledger.protocol import Command

pytestmark = [pytest.mark.slow, pytest.mark.torch]


@pytest.fixture(scope="module")
def count(torch):
    return lambda set_up: count_torch_work(torch, importlib.import_module, set_up)


def values(found_count):
    return {count.name: count.value for count in found_count.counts}


def test_a_product_is_counted_without_computing_it(torch, count):
    def set_up():
        x = torch.ones(100_000, 100_000)  # 40 GB, were it real
        return lambda: x @ x

    found_count = count(set_up)

    work = {step_work.FLOPS: 2e15, step_work.BYTES: 3 * 4e10, step_work.OPERATORS: 1}
    assert values(found_count) == work
    assert found_count.limits == ()


def test_views_and_empty_memory_move_nothing(torch, count):
    def set_up():
        x = torch.ones(10, 10)
        return lambda: torch.empty(10).copy_(x.t().reshape(100)[:10])

    counts = values(count(set_up))

    assert counts[step_work.OPERATORS] == 3  # empty, the reshape's copy, copy_
    assert counts[step_work.BYTES] == 4 * (2 * 100 + 3 * 10)


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
    found_count = count(train(torch, foreach=False))

    forward = 2 * 16 * (32 * 64 + 64 * 8)
    assert (
        values(found_count)[step_work.FLOPS] == 2 * forward + 2 * 16 * 64 * 8
    )  # no gradient of the input
    assert found_count.limits == ()


def test_an_optimizer_that_works_on_lists_calls_fewer_operators(torch, count):
    single, counts = (values(count(train(torch, foreach=each))) for each in (False, True))

    assert counts[step_work.OPERATORS] < single[step_work.OPERATORS]
    assert counts[step_work.FLOPS] == single[step_work.FLOPS]


def test_the_same_step_gives_the_same_counts(torch, count):
    assert count(train(torch, foreach=False)) == count(train(torch, foreach=False))


def test_a_module_that_is_moved_to_its_device_is_counted_without_a_limit(torch, count):
    def set_up():
        model = torch.nn.Linear(8, 8).to("cpu")
        x = torch.ones(8, 8)
        return lambda: model(x).sum().backward()

    found_count = count(set_up)

    assert values(found_count)[step_work.FLOPS] == 2 * 2 * 8**3
    assert found_count.limits == ()


def test_a_step_that_needs_values_is_counted_in_a_real_one_and_says_so(torch, count):
    def set_up():
        x = torch.ones(8, 8)
        return lambda: x @ x if (x @ x).sum().item() > 0 else x

    found_count = count(set_up)

    assert values(found_count)[step_work.FLOPS] == 2 * 2 * 8**3
    (limit,) = found_count.limits
    assert limit.startswith("counted in a real step, because it needs tensor values: ")


def test_tensors_of_the_module_are_taken_without_their_data(torch, count):
    weights = torch.ones(8, 8)

    found_count = count(lambda: lambda: weights @ weights)

    assert values(found_count)[step_work.FLOPS] == 2 * 8**3
    assert weights.sum().item() == 64


def test_a_step_that_does_not_run_is_a_limit(count):
    def step():
        msg = "no data\nfor you"
        raise ValueError(msg)

    found_count = count(lambda: step)

    assert found_count.counts == ()
    assert found_count.limits == ("its step fails while it is counted: ValueError: no data",)


def test_a_torch_that_cannot_leave_out_compiling_counts_all_the_same(torch):
    older = SimpleNamespace(Tensor=torch.Tensor, ops=torch.ops, compiler=SimpleNamespace())

    def set_up():
        x = torch.ones(8, 8)
        return lambda: x @ x

    assert (
        values(count_torch_work(older, importlib.import_module, set_up))[step_work.FLOPS]
        == 2 * 8**3
    )


BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 4, 48, 32, 16
ATTENTION_FLOPS = 4 * BATCH * HEADS * QUERIES * KEYS * WIDTH


def attend(torch, *, is_causal=False, is_trained=False):
    """Return a set-up whose step is torch's fused attention."""

    def set_up():
        keys = QUERIES if is_causal else KEYS
        query, key, value = (
            torch.randn(BATCH, HEADS, length, WIDTH, requires_grad=is_trained)
            for length in (QUERIES, keys, keys)
        )
        attention = torch.nn.functional.scaled_dot_product_attention

        def step():
            result = attention(query, key, value, is_causal=is_causal)
            return torch.autograd.grad(result.sum(), (query, key, value)) if is_trained else result

        return step

    return set_up


@pytest.mark.parametrize(
    ("options", "flops"),
    [
        pytest.param({}, ATTENTION_FLOPS, id="forward"),
        # Two products forward and five backward, of the same size.
        pytest.param({"is_trained": True}, ATTENTION_FLOPS * 7 / 2, id="forward and backward"),
        # The masked half is counted, as torch's own formulas do on a GPU.
        pytest.param({"is_causal": True}, ATTENTION_FLOPS * QUERIES / KEYS, id="causal"),
    ],
)
def test_fused_attention_on_a_cpu_is_counted(torch, count, options, flops):
    found_count = count(attend(torch, **options))

    assert values(found_count)[step_work.FLOPS] == flops
    assert found_count.limits == ()


def test_attention_counts_the_same_fused_and_as_products(torch, count):
    def products():
        query, key, value = (
            torch.randn(BATCH, HEADS, length, WIDTH) for length in (QUERIES, KEYS, KEYS)
        )
        return lambda: torch.softmax(query @ key.mT / 4.0, dim=-1) @ value

    assert values(count(products))[step_work.FLOPS] == ATTENTION_FLOPS


@pytest.mark.parametrize(
    ("product", "flops"),
    [
        pytest.param(lambda a, v: a @ v, 2 * 6 * 4, id="mv"),
        pytest.param(lambda _, v: v @ v, 2 * 4, id="dot"),
        pytest.param(lambda a, v: v.new_zeros(6).addmv_(a, v), 2 * 6 * 4, id="addmv_"),
        pytest.param(lambda a, v: v.new_zeros(6, 6).addmm_(a, a.t()), 2 * 6 * 4 * 6, id="addmm_"),
    ],
)
def test_products_that_torch_has_no_formula_for_are_counted(torch, count, product, flops):
    def set_up():
        matrix, vector = torch.ones(6, 4), torch.ones(4)
        return lambda: product(matrix, vector)

    found_count = count(set_up)

    assert (values(found_count)[step_work.FLOPS], found_count.limits) == (flops, ())


WITHOUT_FORMULA = "the work of operators that torch has no FLOP formula for is not counted"


def incomplete(found_count):
    return {count.name for count in found_count.counts if not count.is_complete}


def test_what_works_on_elements_needs_no_formula(torch, count):
    def set_up():
        x = torch.randn(4, 8, 8)
        norm, pool = torch.nn.BatchNorm1d(8), torch.nn.MaxPool1d(2)
        table = torch.nn.Embedding(10, 8)

        def step():
            y = torch.nn.functional.layer_norm(pool(norm(x)), (4,)).softmax(-1).cumsum(0)
            return torch.cat([y.sort().values.flatten(), table(torch.tensor([1, 2])).flatten()])

        return step

    found_count = count(set_up)

    assert (found_count.limits, incomplete(found_count)) == ((), set())


def test_a_torch_operator_without_a_formula_is_named(torch, count):
    def set_up():
        x = torch.eye(8)
        return lambda: torch.linalg.cholesky(x) @ torch.fft.fft(x).real

    found_count = count(set_up)

    assert found_count.limits == (f"{WITHOUT_FORMULA}: aten._fft_r2c, aten.linalg_cholesky_ex",)
    assert values(found_count)[step_work.FLOPS] == 2 * 8**3
    assert incomplete(found_count) == {step_work.FLOPS}


@pytest.fixture
def own_operator(torch):
    """A library of operators that a test defines."""
    library = torch.library.Library("perfledger_test", "FRAGMENT")

    def define(name, function, **options):
        library.define(f"{name}(Tensor a) -> Tensor", **options)
        library.impl(name, function, "CPU")
        library.impl(name, function, "Meta")
        return getattr(torch.ops.perfledger_test, name)

    yield define
    library._destroy()


@pytest.mark.parametrize(("operators", "more"), [(5, ""), (6, " and 1 more"), (7, " and 2 more")])
def test_operators_of_another_library_without_a_formula_are_named_as_far_as_they_fit(
    torch, count, own_operator, operators, more
):
    for number in range(operators):
        own_operator(f"square{number}", torch.empty_like)

    def set_up():
        library, kinds = torch.ops.perfledger_test, (torch.float32, torch.int8)
        x = [torch.ones(8, 8, dtype=kind) for kind in kinds]
        return lambda: [getattr(library, f"square{n}")(x[n % 2]) for n in range(operators)]

    found_count = count(set_up)

    names = ", ".join(f"perfledger_test.square{number}" for number in range(5))
    assert found_count.limits == (f"{WITHOUT_FORMULA}: {names}{more}",)
    assert incomplete(found_count) == {step_work.FLOPS}


def test_an_operator_of_another_library_counts_by_the_formula_that_it_registers(
    torch, count, own_operator
):
    flop_counter = importlib.import_module("torch.utils.flop_counter")
    operator = own_operator("cube", torch.empty_like)
    flop_counter.register_flop_formula(operator)(lambda shape, **_: 4 * shape[0] ** 3)

    def set_up():
        x = torch.ones(8, 8)
        return lambda: operator(x)

    found_count = count(set_up)

    del flop_counter.flop_registry[operator]
    assert (values(found_count)[step_work.FLOPS], found_count.limits) == (4 * 8**3, ())


def test_an_operator_that_is_tagged_as_working_on_elements_needs_no_formula(
    torch, count, own_operator
):
    operator = own_operator("half", torch.empty_like, tags=(torch.Tag.pointwise,))

    def set_up():
        x = torch.ones(8, 8)
        return lambda: operator(x)

    assert incomplete(count(set_up)) == set()


class JITFunction:
    """A kernel as Triton has it, which runs nothing."""

    __name__ = "attention_kernel"

    def run(self, *arguments, grid):
        return (arguments, grid)


def test_a_triton_kernel_that_is_no_operator_is_named(torch, count, monkeypatch):
    monkeypatch.setitem(sys.modules, "triton.runtime.jit", SimpleNamespace(JITFunction=JITFunction))
    run = JITFunction.run

    def set_up():
        x = torch.ones(8, 8)
        return lambda: JITFunction().run(x @ x, grid=(1,))

    found_count = count(set_up)

    assert found_count.limits == (
        "the work of Triton kernels called without an operator is not counted: attention_kernel",
    )
    assert incomplete(found_count) == {step_work.FLOPS, step_work.BYTES, step_work.OPERATORS}
    assert JITFunction.run is run


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


@pytest.mark.slow(ci_only=True)
def test_a_compiled_function_is_counted_as_it_was_written(answer):
    counted = answer.about("benchmarks.mul:compiled")

    assert {c["name"]: c["value"] for c in counted["counts"]} == {
        step_work.FLOPS: 2 * 16**3,
        step_work.BYTES: 4 * 16**2 * (3 + 2),
        step_work.OPERATORS: 2,
    }
    assert counted["limits"] == []


@pytest.mark.slow(ci_only=True)
def test_a_child_answers_for_each_workload(answer):
    counted = answer.about("benchmarks.mul:matmul")
    assert (counted["event"], counted["limits"], counted["program"]) == ("counted", [], "")
    assert counted["counts"][0] == {
        "name": "flops_per_step",
        "unit": "FLOP",
        "value": 8192.0,
        "source": "torch's FlopCounterMode",
        "is_complete": True,
    }
    failed = answer.about("benchmarks.mul:fails")
    assert (failed["event"], failed["reason"]) == ("failed", "raised")
