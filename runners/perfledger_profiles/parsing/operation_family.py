"""Classifies kernels and operators by name into families of work.

Names are the only information that all profilers record. The first matching rule decides, so
specific rules come before general ones: a convolution by implicit GEMM is a convolution, and an
optimizer's elementwise kernel belongs to the optimizer.
"""

import re
from functools import lru_cache

from perfledger.profile import OperationFamily

# Operations that compute attention in one call, in torch, cuDNN, XLA and flash-attn.
FUSED_ATTENTION = re.compile(
    r"(?i)scaled_?dot_?product|flash|efficient_?attention|fmha|cudnn_?attention"
)

# Kernels of a step that generates one token per request: each row of the cache is read for one
# query. The name of a split attention does not show it, nor does that of a kernel that also serves
# prompts.
DECODE_ATTENTION = re.compile(
    r"(?i)paged_attention|(batch|single)_?decode|decode_?(attention|attn|mha|mla)|flash_?mla"
    r"|(?<![a-z])mla_(a8|a16|decode)|(?<![a-z])pa_(a16|a8|bf16|fp16)|_fwd_(grouped_)?kernel_stage"
    r"|^reduce_segments|unified_attention_3d|splitkv_combine|ForGen(?![a-z])"
    r"|masked_multihead_attention|(?<![a-z])mmha"
)
SPLIT_ATTENTION = re.compile(r"(?i)split_?kv|unified_attention|paged_?kv")
# A matrix-vector product, which reads each number of the matrix once.
MATRIX_VECTOR = re.compile(
    r"(?i)gemv|mul_mat_vec|(?<![a-z])dot_kernel|reduce_1Block|^aten::(mv|addmv|dot)$"
)
# Inductor's pointwise kernels and reductions. It reads each number once and multiplies no matrices.
MOVING_FUSION = re.compile(r"^triton_(poi|red|per|for)_fused_")

# Types and suffixes that say nothing about a kernel's work.
_NOISE = re.compile(r"cutlass::(bfloat16|half|tfloat32|float_e\dm\d)_t|( \[clone )?\.kd\]?$")
# Inductor names its kernels after all the operators that it fused.
_INDUCTOR_FUSION = re.compile(r"triton_(?!tem_)\w*_fused_|cpp_fused")

# Template arguments may have thousands of characters; the first ones decide.
_MAX_CHARACTERS = 1000
# A large model's trace has a few thousand names.
MAX_CACHED_NAMES = 20_000

_RULES = {
    family: re.compile(pattern, re.IGNORECASE | re.VERBOSE)
    for family, pattern in {
        OperationFamily.COMMUNICATION: r"""
              (?<![a-z])(nccl|rccl|hccl|oneccl|gloo|c10d|msccl|nvshmem|ccl_)
            | cross_device_reduce | all_?reduce | all_?gather | reduce_?scatter | all_?to_?all
            | sendrecv | all-reduce | all-gather | reduce-scatter | all-to-all
            | collective-permute | deep_ep:: | pplx:: | \bep::(inter|intra)node:: | oneRankReduce
        """,
        OperationFamily.MEMSET: r"""
              ^(hip)?memset | ^fillbuffer | fillBufferAligned | ^\[CUDA\ memset\]
        """,
        OperationFamily.COPY: r"""
              ^(hip)?memcpy | ^copy(host|device) | copyBuffer | ^\[CUDA\ memcpy | ^dma
            | ^zeCommandListAppendMemory | CatArrayBatchedCopy | direct_copy_kernel
            | b?float\d+\w*_copy_kernel | copy_device_to_device | (nchw|nhwc)to(nchw|nhwc)
            | batched_transpose | transpose_readWrite | transpose_[nchw]+2[nchw]+
            | store_kv | _and_cache_ | gather_cache | copy_page_indices | recat_copy
            | split_with_sizes_copy | chunk_cat_
            | ^aten::(copy_|_to_copy|to|clone|contiguous|cat|stack|pin_memory|_pin_memory)$
            | ^copy(-start|-done)?(\.\d+)?$
            | ^(input_|wrapped_)?transpose(_fusion)?([._]\d+)?$
        """,
        OperationFamily.ATTENTION: r"""
              flash_?(fwd|bwd|attn|mla) | fmha | attention | sdpa | \battn | _attn | attn_ | mha_
            | paged_kv | mem_eff | (batch|single)(prefill|decode)
            | (?<![a-z])pa_(a16|bf16|fp16) | (?<![a-z])mla_ | _fwd_(grouped_)?kernel_stage
            | ^reduce_segments
        """,
        OperationFamily.EMBEDDING: r"""
              (?<!rotary_)embedding | index_?select | vectorized_gather_kernel
            | compute_grad_weight | krn_partial | sum_and_scatter
            | compute_num_of_partial_segments | fbgemm_gpu | permute_pooled | bounds_check_indices
            | linearize_index | ^(gather|scatter)([._]\d+)*$
        """,
        OperationFamily.OPTIMIZER: r"""
              multi_tensor | fused_?(adam|sgd|lamb|adagrad|lion)
            | _foreach_ | adamw?(?![a-z]) | adagrad | rmsprop | \blamb(?!d|$)
            | sgd_?(step|kernel|momentum) | optimizer\.step | kOptimizer
        """,
        OperationFamily.NORMALIZATION: r"""
              batch_?norm | layer_?norm | group_?norm | rms_?norm | _rms_ | instance_?norm
            | l2_?norm | normalization:: | cudnn::bn_ | (?<![a-z])bn_(fw|bw) | bnorm
            | RowwiseMoments | GammaBeta | ComputeInternalGradients | cuComputeGradInput
            | Compute(Backward)?FusedParams | (?<!topk)(?<!topkGating)soft_?max
        """,
        OperationFamily.POOLING: r"""
              (max|avg|average|adaptive)_?pool | pooling | pool2d | pool_(fw|bw|kernel)
            | reduce-window | select-and-scatter
        """,
        OperationFamily.CONVOLUTION: r"""
              (?<![a-z])conv(?!ert) | _convolution | convolve | winograd | fprop | dgrad
            | wgrad | xdlops_bwd_weight | implicit_gemm | scudnn | hcudnn
            | \d+cudnn_ | igemm_(fwd|bwd|wrw)
            | im(\dd)?2col | col2im | vol2col | fft2d_ | (cask|cutlass)_cudnn
            | cudnn::(cnn|gemm|winograd|detail) | cudnn_infer | depthwise | miopen
            | conv_?(fwd|bwd) | computeOffsetsKernel | computeWgradSplitK | scalePackedTensor
        """,
        OperationFamily.GEMM: r"""
              gemm(?!ini) | gemv | cublas | cutlass | xmma | cijk_ | tensile | nvjet | matmul
            | splitk | wgmma | mfma | dot_kernel | reduce_1Block
            | ^triton_tem_fused_(add)?(mm|bmm) | (?<![a-z])(add|b|baddb)?mm(?![a-z])
            | triton_mm | ^aten::(linear|einsum|dot|mv|addmv)$ | ^dot(_general)?(\.\d+)?$
            | fused_moe | fmoe_ | mul_mat_ | onednn_(mm|linear) | mkldnn_linear
            | trsm | syrk | marlin | awq_
        """,
        OperationFamily.FUSION: r"""
              ^triton_ | nvfuser | (^|_)fusion([._]\d+)?$ | ^wrapped_
        """,
        OperationFamily.SORTING: r"""
              sort | top_?k | TopPSampling | routing | moe_align
            | radix | bitonic | unique | histogram | DeviceSelect | nonzero
        """,
        OperationFamily.ELEMENTWISE: r"""
              elementwise | pointwise | vectorized_ | unrolled_ | fused_dropout | dropout
            | FillFunctor | index_?Func | index_(put|copy|fill|add) | scatter_gather
            | bias_(act|gelu)
            | rotary | rope(?![a-z]) | act_and_mul | silu | gelu | relu | sigmoid | tanh_
            | distribution_ | where_kernel | op_tensor | (Sub|Op)Tensor | ^Op\dd?Tensor | triu
            | tril | upsample | interpolate | fill_kernel | (?<![a-z])cast_? | clamp_
            | (?<![a-z])quant(?!ile) | detail::transform_kernel
            | ^aten::_?(add|sub|mul|div|neg|exp|log|sqrt|rsqrt|pow|tanh|abs|sin|cos|lerp|clamp)_?$
            | ^aten::(masked_fill|where|fill|zero|addcmul|addcdiv|threshold_backward)_?$
            | ^aten::(eq|ne|gt|lt|ge|le|hardtanh|hardswish|bernoulli|normal|uniform|random)_?$
            | ^loop[_ ](?!.*reduc)
            | ^(_?(add|subtract|multiply|divide|exponential|select|broadcast|convert|copy|iota))+
              ([._]\d+)*$
        """,
        OperationFamily.REDUCTION: r"""
              reduc | argm(ax|in) | cumsum | cumprod | DeviceScan | _scan_ | nll_loss | NLLCriterion
            | cross_?entropy | (?<![a-z])sum
            | ^aten::(sum|mean|max|min|amax|amin|norm|std|var|prod|all|any|logsumexp)$
            | welford
        """,
    }.items()
}

_TENSOR = re.compile(
    r"(?i)(?<!sub)tensorop|wmma|wgmma|gmma|hmma|imma|dmma|qmma|nvjet|tensor\d+x\d+x\d+|bf16gemm_bf16"
    r"|[hsi]_?(884|1688|16816|161616|8816|16832|1616|8832|168256|16864)(?!\d)|tf32"
    r"|_MI\d+x\d+|mfma|flash_(fwd|bwd)|cutlass(F|B)_(f16|bf16)|cutlass3x_sm(9|1)\d"
    r"|sm(9|1)\d_xmma|(volta|turing|ampere)_(fp16|h|i8|bf16).*(884|1688|16816)"
)
# Plain fused multiply-adds, whatever else the name contains.
_NOT_TENSOR = re.compile(
    r"(?i)simt|ffma|(?<!t)gemv|(volta|maxwell|ampere|pascal|turing)_s(gemm|cudnn)|sgemm_\d+x\d+"
    r"|(volta|maxwell|ampere|turing)_(dgemm|cgemm|zgemm)|scudnn|winograd|convolve_sgemm"
    r"|fft2d_|dgemm_\d|naive_conv|im2col|gemmk1|gemmSN|dot_kernel|_engine<(float|double)"
    r"|OffsetsKernel|scalePackedTensor|splitKreduce"
)
_MULTIPLIES = (
    OperationFamily.GEMM,
    OperationFamily.CONVOLUTION,
    OperationFamily.ATTENTION,
    OperationFamily.FUSION,
    OperationFamily.OTHER,
)


@lru_cache(maxsize=MAX_CACHED_NAMES)
def family_of(name: str) -> OperationFamily:
    """Return a kernel's or operator's family of work, OTHER if its name does not show it."""
    text = _NOISE.sub("", name[:_MAX_CHARACTERS])
    if text.startswith("triton_tem_") and "convolution" in text:
        return OperationFamily.CONVOLUTION
    if _INDUCTOR_FUSION.match(text):
        return OperationFamily.FUSION
    return next(
        (family for family, rule in _RULES.items() if rule.search(text)), OperationFamily.OTHER
    )


@lru_cache(maxsize=MAX_CACHED_NAMES)
def is_tensor_kernel(name: str) -> bool | None:
    """Return whether a kernel runs on tensor or matrix cores, None if its name does not show it.

    Libraries name the instruction (s1688, 16816, tensorop, wgmma, MI16x16) or its absence (simt,
    ffma, sgemm). Kernels that do not multiply matrices do not use these cores.
    """
    text = name[:_MAX_CHARACTERS]
    if _NOT_TENSOR.search(text):
        return False
    if _TENSOR.search(text):
        return True
    if text.startswith("Cijk_"):
        return False
    return None if family_of(name) in _MULTIPLIES else False
