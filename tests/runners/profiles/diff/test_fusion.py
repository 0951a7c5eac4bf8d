from perfledger_profiles.diff.cause import ChangeKind
from perfledger_profiles.diff.matching import match
from perfledger_profiles.diff.operation_change import MatchStage


def fusions(base, head):
    return [
        (tuple(o.name for o in change.base), tuple(o.name for o in change.head))
        for change in match(base, head)
        if change.stage is MatchStage.FUSION
    ]


def test_a_triton_kernel_is_matched_with_the_operations_that_its_name_lists(make):
    base = [make.operation("triton_poi_fused_add_mul_3", 1.0), make.operation("aten::mm", 1.0)]
    head = [
        make.operation("aten::add", 1.0),
        make.operation("aten::mul_", 1.0),
        make.operation("aten::sort", 1.0),
        make.operation("aten::mm", 1.0),
    ]

    assert fusions(base, head) == [(("triton_poi_fused_add_mul_3",), ("aten::add", "aten::mul_"))]


def test_kernels_are_matched_by_the_operators_that_launched_them(make):
    eager = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
    base = [
        make.operation(eager, 1.0, path="aten::add"),
        make.operation("void at::native::elementwise_kernel<128, 2>", 1.0, path="aten::mul_"),
        make.operation("void at::native::sort_kernel", 1.0, path="aten::sort"),
    ]
    head = [make.operation("triton_poi_fused_add_mul_0", 1.2, path="## Call ##")]

    (fusion,) = fusions(base, head)

    assert fusion == ((base[0].name, base[1].name), ("triton_poi_fused_add_mul_0",))


def test_operations_that_were_put_together_are_matched_too(make):
    base = [
        make.operation("multiply.1", 1.0, path="jit_f"),
        make.operation("add.2", 1.0, path="jit_f"),
    ]
    head = [make.operation("multiply_add_fusion", 1.0, path="jit_f")]

    assert fusions(base, head) == [(("multiply.1", "add.2"), ("multiply_add_fusion",))]


def test_an_optimizer_that_is_no_longer_fused_is_one_change(make):
    where = "Optimizer.step#Adam.step"
    base = [make.operation("aten::_fused_adam_", 1.0, path=where), make.operation("aten::mm", 1.0)]
    head = [
        make.operation("aten::lerp_", 1.0, 8.0, path=where),
        make.operation("aten::addcdiv_", 1.0, 8.0, path=where),
        make.operation("aten::fill_", 1.0, 8.0, path=f"{where}/aten::zeros"),
        make.operation("aten::mm", 1.0),
    ]

    assert fusions(base, head) == [
        (("aten::_fused_adam_",), ("aten::lerp_", "aten::addcdiv_", "aten::fill_"))
    ]
    assert [change.kind for change in match(base, head)] == [ChangeKind.RATE, ChangeKind.REPLACED]


def test_what_came_and_went_in_one_span_is_not_a_fusion_when_nothing_in_it_is_fused(make):
    base = [make.operation("aten::tanh", 1.0, path="my forward")]
    head = [make.operation("aten::sort", 1.0, path="my forward")]

    assert fusions(base, head) == []
    assert {change.kind for change in match(base, head)} == {ChangeKind.NEW, ChangeKind.GONE}


def test_fusions_of_one_module_that_share_most_parts_are_the_same_code(make):
    base = [make.operation("add_multiply_tanh_fusion", 1.0, path="jit_f")]
    head = [
        make.operation("multiply_tanh_fusion", 1.0, path="jit_f"),
        make.operation("reduce_exponential_fusion", 1.0, path="jit_f"),
    ]

    assert fusions(base, head) == [(("add_multiply_tanh_fusion",), ("multiply_tanh_fusion",))]


def test_fusions_of_different_modules_are_not(make):
    base = [make.operation("add_multiply_tanh_fusion", 1.0, path="jit_f")]
    head = [make.operation("multiply_tanh_fusion", 1.0, path="jit_g")]

    assert fusions(base, head) == []


def region(make, seconds, *, number="0/0", count=1.0):
    return make.operation(f"Torch-Compiled Region: {number}", seconds, count)


def test_what_a_compiled_region_no_longer_covers_is_matched_with_it(make):
    base = [region(make, 2.0), make.operation("aten::mm", 1.0)]
    head = [
        region(make, 0.1, count=2.0),
        make.operation("aten::sin", 3.0),
        make.operation("aten::mm", 1.0),
    ]

    assert fusions(base, head) == [
        (("Torch-Compiled Region: 0/0",), ("Torch-Compiled Region: 0/0", "aten::sin"))
    ]
    assert fusions(head, base) == [
        (("Torch-Compiled Region: 0/0", "aten::sin"), ("Torch-Compiled Region: 0/0",))
    ]


def test_a_region_that_kept_its_time_lost_nothing(make):
    base = [region(make, 2.0)]
    head = [region(make, 1.6), make.operation("aten::sort", 3.0)]

    assert fusions(base, head) == []


def test_a_region_that_got_faster_alone_is_not_taken_apart(make):
    assert fusions([region(make, 2.0)], [region(make, 1.0)]) == []
