import pytest

from perfledger_profiles.diff.stable_names import (
    bare_name,
    fused_names,
    is_fused_name,
    is_listed,
    is_operator_name,
    normal_name,
    normal_path,
    normal_region,
    plain_name,
    unqualified_name,
)


@pytest.mark.parametrize(
    ("name", "expected_name"),
    [
        ("aten::add_", "aten::add_"),
        ("fusion.12", "fusion"),
        ("dot.3.clone.1", "dot"),
        ("loop_add_fusion_3", "loop_add_fusion"),
        ("triton_poi_fused_add_0a1b2c3d4e", "triton_poi_fused_add"),
        ("callback at 0x7f00dead", "callback at "),
        ("12", "12"),
        ("batch 3", "batch"),
        ("forward: 12", "forward"),
        ("layers[4]", "layers"),
        ("void gemm<4, 8>(int)", "void gemm<4, 8>(int)"),
        ("_3", "_3"),
    ],
)
def test_what_tells_copies_apart_is_dropped_from_a_plain_name(name, expected_name):
    assert plain_name(name) == expected_name


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("aten::add_", "aten::add_"),
        ("void gemm<float, pair<4, 8>>(int)", "gemm(int)"),
        ("<lambda>", "<lambda>"),
        ("volta_sgemm_128x64_nn", "sgemm"),
        ("ampere_sgemm_64x64_tn", "sgemm"),
        ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "fp16_sgemm_fp16"),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_32x5_tn", "fp16_sgemm_fp16"),
        ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "nvjet_tst"),
        (
            "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x64x32_stage3_ffma_aligna4__51_cublas",
            "xmma_gemm_f32f32_f32f32_f32_ffma",
        ),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SN", "Cijk_HHS_BH"),
        (
            "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_nn_align8>",
            "cutlass::Kernel2<cutlass_tensorop_bf16_sgemm_bf16>",
        ),
        (
            "void at::native::unrolled_elementwise_kernel<4, CUDAFunctor_add<float>, A<int>>(int)",
            "at::native::unrolled_elementwise_kernel<CUDAFunctor_add>",
        ),
        (
            "void at::native::(anonymous)::softmax_warp_forward",
            "at::native::(anonymous)::softmax_warp_forward",
        ),
    ],
)
def test_how_a_kernel_was_built_is_dropped_from_a_normal_name(name, normal):
    assert normal_name(name) == normal


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (
            "void cub::CUB_200700_750_NS::DeviceScanKernel<cub::CUB_200700_750_NS::State<int>>(T1)",
            "void cub::CUB_300001_SM_900_NS::DeviceScanKernel<cub::State<int>>(T1)",
        ),
        ("rocprim::ROCPRIM_400200_NS::detail::kernel<1>(T1)", "rocprim::detail::kernel<2>(T1)"),
        ("cutlass::v3::device_kernel<a>(T1)", "cutlass::v4::device_kernel<b>(T1)"),
        ("at::native::(anonymous namespace)::f<1>(int)", "at::native::<unnamed>::f<2>(int)"),
    ],
)
def test_the_version_of_a_library_is_dropped_from_a_normal_name(base, head):
    assert normal_name(base) == normal_name(head)


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ("nvkernel_solve_F1L204_2", "nvkernel_solve_F1L210_2"),
        ("main_45_gpu", "main_53_gpu"),
        ("main_45_gpu__red", "main_53_gpu__red"),
        ("__omp_offloading_10305_2a1d3c_main_l53", "__omp_offloading_fd02_77_main_l60"),
    ],
)
def test_the_line_of_an_offloaded_region_is_dropped_from_a_normal_name(base, head):
    assert normal_name(base) == normal_name(head) != base


@pytest.mark.parametrize("name", ["nvkernel", "my_gpu", "copy_1_gpu_cache", "omp_offloading_main"])
def test_other_names_with_such_words_are_kept(name):
    assert normal_name(name) == name


def test_kernels_of_one_generic_name_are_told_apart_by_what_they_compute():
    kinds = {
        normal_name(f"void cutlass::device_kernel<{of}<cute::tuple<int>>>(T1::Params)")
        for of in (
            "flash::FlashAttnBwd",
            "flash::FlashAttnBwdPreprocess",
            "cutlass::gemm::kernel::G",
        )
    }

    assert len(kinds) == 3


def test_a_kernel_in_another_namespace_keeps_its_unqualified_name():
    before = "void flash_fwd_kernel<Traits<64>>(Flash_fwd_params)"
    after = "void flash::flash_fwd_kernel<Traits<128>>(flash::Flash_fwd_params)"

    assert unqualified_name(before) == unqualified_name(after)
    assert unqualified_name("PjitFunction(step)") != unqualified_name("PjitFunction(tanh)")
    assert unqualified_name("a::") == "a::"


def test_a_kernel_of_another_type_or_kind_keeps_another_name():
    kinds = {
        normal_name(name)
        for name in (
            "volta_sgemm_128x64_nn",
            "volta_dgemm_128x64_nn",
            "ampere_fp16_s16816gemm_fp16_128x64_tn",
            "winograd_fwd",
        )
    }

    assert len(kinds) == 4


def test_a_place_loses_the_numbers_of_compiled_regions_and_the_kind_of_its_loader():
    path = "Torch-Compiled Region: 0/1/## Call CompiledFxGraph fab12 ##/aten::mm"
    loader = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"

    assert normal_path(path) == "Torch-Compiled Region/## Call CompiledFxGraph ##/aten::mm"
    assert normal_path(loader) == "enumerate(DataLoader)"
    assert normal_path("Optimizer.step#AdamW.step/aten::add_") == "Optimizer.step/aten::add_"


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("model/layers.3/Linear_12", "model/layers/Linear"),
        ("batch 7/decoder[2]/aten::mm", "batch/decoder/aten::mm"),
        ("hook at 0x7f00dead/aten::mm", "hook at /aten::mm"),
        ("aten::conv2d/cudnn_v8", "aten::conv2d/cudnn_v8"),
    ],
)
def test_a_place_loses_addresses_counters_and_numbers_of_modules(path, normal):
    assert normal_path(path) == normal


def test_a_name_keeps_the_number_that_may_tell_it_from_its_neighbour():
    assert normal_region("fusion.12") == "fusion.12"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("triton_poi_fused_add_mul_3", "add_mul"),
        ("triton_red_fused__softmax_add_0", "softmax_add"),
        ("cpp_fused_gelu_0", "gelu"),
        ("loop_multiply_add_fusion.2", "multiply_add"),
        ("aten::_foreach_addcdiv_", "addcdiv"),
        ("fusion.7", ""),
        ("aten::add", ""),
    ],
)
def test_a_fused_name_lists_its_parts(name, parts):
    assert fused_names(name) == parts


def test_an_operation_is_one_of_the_parts_by_its_whole_word():
    fused = "triton_per_fused_native_layer_norm_add_4"

    assert is_listed("aten::add_", fused)
    assert is_listed("aten::native_layer_norm", fused)
    assert not is_listed("aten::addmm", fused)
    assert not is_listed("aten::layer", "aten::mul")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("aten::add_", "add"),
        ("aten::_softmax", "softmax"),
        ("wrapped_tanh", "tanh"),
        ("dot.3", "dot"),
    ],
)
def test_the_bare_name_is_one_word(name, word):
    assert bare_name(name) == word


@pytest.mark.parametrize(
    "name",
    ["fusion", "fusion.3", "Torch-Compiled Region: 0/0", "aten::_fused_adamw_", "add_fusion"],
)
def test_what_a_compiler_or_library_put_together_is_fused(name):
    assert is_fused_name(name)


@pytest.mark.parametrize("name", ["aten::mul", "aten::confusion", "volta_sgemm_128x64_nn"])
def test_any_other_name_is_not_fused(name):
    assert not is_fused_name(name)


def test_only_names_that_users_call_are_operators():
    assert is_operator_name("aten::sort")
    assert is_operator_name("(compiling) f")
    assert is_operator_name("(outside operations)")
    assert not is_operator_name("volta_sgemm_128x64_nn")
    assert not is_operator_name("fusion.3")
    assert not is_operator_name("void at::native::reduce_kernel<512>(int)")
