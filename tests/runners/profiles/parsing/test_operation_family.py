from pathlib import Path

import pytest

from perfledger.profile import OperationFamily
from perfledger_profiles.parsing.operation_family import family_of, is_tensor_kernel

ELEMENTWISE = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>"
NAMES = {
    OperationFamily.GEMM: (
        "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(Params)",
        "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_32x6_tn",
        "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_stage4_tensor16x8x8_kernel_cublas",
        "volta_sgemm_128x64_nt",
        "void gemmSN_NN_kernel<float, 256, 4, 2, 8, 4, 4, false>(cublasGemmSmallNParams<float>)",
        "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4, false>()",
        "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT",
        "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI16x16x16x1_SN_1LDSB0_APM1",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float>(cublasSplitKParams)",
        "aten::addmm",
        "aten::linear",
        "triton_tem_fused_addmm_3",
        "dot_general.12",
    ),
    OperationFamily.CONVOLUTION: (
        "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize128x128x32_stage4",
        "void cudnn::cnn::wgrad2d_grouped_direct_kernel<float, float, float, int>(cudnnTensor)",
        "volta_scudnn_128x64_relu_interior_nn_v1",
        "void implicit_convolve_sgemm<float, float, 128, 5, 5, 3, 3, 3, 1, false>(int, int)",
        "volta_sgemm_winograd_stridedB_32x32_3x3_dgrad",
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(cudnn::Params)",
        "cask_cudnn::computeOffsetsKernel(cask_cudnn::ComputeOffsetsParams)",
        "miopenSp3AsmConv_v21_1_2_gfx9_fp32_stride1",
        "igemm_wrw_gtcx_nhwc_fp16_bx0_ex0_bt128x128x32",
        "aten::mkldnn_convolution",
        "triton_tem_fused_convolution_4",
    ),
    OperationFamily.ATTENTION: (
        "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128>>",
        "fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6",
        "void cutlass::device_kernel<flash::FlashAttnFwdSm90<flash::CollectiveMainloop>>",
        "aten::_scaled_dot_product_flash_attention_for_cpu",
        "attn_fwd.kd",
        "void vllm::paged_attention_v2_kernel<unsigned short, 128, 16, 128>",
        "triton_tem_fused_flex_attention_0",
    ),
    OperationFamily.NORMALIZATION: (
        "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1, true>(cudnnTensor)",
        "void at::native::batch_norm_transform_input_kernel<float, float, float, true, int>",
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>",
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>",
        "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>",
        "void vllm::rms_norm_kernel<c10::BFloat16>",
        "MIOpenBatchNormFwdTrainSpatial.kd",
        "aten::native_layer_norm",
    ),
    OperationFamily.EMBEDDING: (
        "void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<>",
        "void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int>",
        "void at::native::(anonymous namespace)::compute_grad_weight<float, long>",
        "void fbgemm_gpu::permute_indices_weights_kernel<false, int, decltype(nullptr)>(int)",
        "aten::embedding_bag",
    ),
    OperationFamily.OPTIMIZER: (
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<4>>",
        "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float, float, int>>",
        "aten::_fused_adamw_",
        "aten::_foreach_add_",
        "Optimizer.step#SGD.step",
    ),
    OperationFamily.ELEMENTWISE: (
        ELEMENTWISE,
        "void at::native::unrolled_elementwise_kernel<at::native::BUnaryFunctor<float, float>>",
        "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned>",
        "void vllm::act_and_mul_kernel<c10::BFloat16, vllm::silu_kernel>",
        "aten::relu_",
        "aten::add_",
        "multiply.3",
    ),
    OperationFamily.REDUCTION: (
        "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormOps>>",
        "void cub::DeviceScanKernel<cub::DeviceScanPolicy<int>::Policy600, int*, int*>",
        "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float>",
        "aten::sum",
        "reduce.7",
    ),
    OperationFamily.POOLING: (
        "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int, float)",
        "void cudnn::pooling_fw_4d_kernel<float, float, cudnn::maxpooling_func>(cudnnTensor)",
        "aten::adaptive_avg_pool2d",
    ),
    OperationFamily.SORTING: (
        "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, long>>",
        "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>",
        "aten::sort",
    ),
    OperationFamily.COPY: (
        "Memcpy HtoD (Pinned -> Device)",
        "CopyHostToDevice",
        "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda(Iter)>",
        "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2, 128>",
        "void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>(params)",
        "aten::copy_",
        "copy-done.4",
    ),
    OperationFamily.MEMSET: ("Memset (Device)", "hipMemsetAsync", "FillBuffer"),
    OperationFamily.COMMUNICATION: (
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)",
        "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "rcclGenericKernel<1, false>(ncclDevComm*)",
        "void vllm::cross_device_reduce_1stage<__half, 8>(vllm::RankData*)",
        "gloo:all_reduce",
        "all-reduce.1",
    ),
    OperationFamily.FUSION: (
        "triton_poi_fused_add_relu_0",
        "triton_per_fused_native_layer_norm_2",
        "triton_red_fused_sum_1",
        "loop_add_fusion",
        "broadcast_add_fusion.1",
        "wrapped_tanh",
    ),
    OperationFamily.OTHER: ("my_kernel", "", "aten::empty"),
}


@pytest.mark.parametrize(
    ("name", "family"), [(name, family) for family, many in NAMES.items() for name in many]
)
def test_a_name_tells_the_kind_of_work(name, family):
    assert family_of(name) is family


def read_labelled_names():
    """Return the names of kernels that public traces, logs and sources hold, with their family.

    The families are assigned by what each kernel does, not by the rules; long names are cut.
    """
    text = Path(__file__).with_name("kernel_names.tsv").read_text(encoding="utf-8")
    return [tuple(line.split("\t")) for line in text.splitlines()]


def test_the_rules_are_right_on_all_real_kernel_names():
    names = read_labelled_names()
    wrong = [(name, family_of(name), family) for family, name in names if family_of(name) != family]
    assert len(names) >= 500
    assert wrong == []


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::elementwise_kernel<128, 2, neg_kernel_cuda(Iterator&)::{lambda(int)#1}>",
        "void at::native::elementwise_kernel<128, 2, neg_kernel_cuda(Iterator&)::[lambda(int)]>",
        "void at::native::elementwise_kernel<128, 2, neg_kernel_cuda(Iterator&)::{lamb",
    ],
)
def test_a_lambda_is_no_lamb_optimizer(name):
    assert family_of(name) is OperationFamily.ELEMENTWISE


def test_the_element_type_of_a_library_is_no_matrix_product():
    assert family_of("void finalize<cutlass::bfloat16_t, 4>()") is OperationFamily.OTHER


def test_every_family_has_its_examples():
    assert set(NAMES) == set(OperationFamily)


@pytest.mark.parametrize(
    "name",
    [
        "cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4",
        "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_32x6_tn",
        "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn",
        "turing_h1688cudnn_256x64_sliced1x2_ldg8_relu_exp_small_nhwc_tn_v1",
        "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_stage4_tensor16x8x8_kernel",
        "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1",
        "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>",
        "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI16x16x16x1_SN",
    ],
)
def test_the_instruction_in_a_name_tells_tensor_cores(name):
    assert is_tensor_kernel(name) is True


@pytest.mark.parametrize(
    "name",
    [
        "volta_sgemm_128x64_nt",
        "volta_scudnn_128x64_relu_interior_nn_v1",
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_kernel",
        "void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(Params)",
        "Cijk_Ailk_Bljk_SB_MT64x64x16_SE_K1",
        "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int, int)",
        "void splitKreduce_kernel<float, float, float, float>(cublasSplitKParams<float>)",
        ELEMENTWISE,
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    ],
)
def test_what_multiplies_without_them_or_not_at_all_does_not_use_tensor_cores(name):
    assert is_tensor_kernel(name) is False


@pytest.mark.parametrize("name", ["my_gemm", "conv_fwd", "triton_poi_fused_add_0", "my_kernel"])
def test_a_name_that_does_not_tell_is_unknown(name):
    assert is_tensor_kernel(name) is None


@pytest.mark.parametrize("name", ["SubTensorOpWithCastTensor1d", "SubTensorOpWithScalar1d"])
def test_miopens_operations_on_parts_of_tensors_use_no_matrix_cores(name):
    assert (family_of(name), is_tensor_kernel(name)) == (OperationFamily.ELEMENTWISE, False)


def test_a_name_that_only_begins_like_a_product_is_none():
    assert family_of("render_gemmini") is OperationFamily.OTHER
