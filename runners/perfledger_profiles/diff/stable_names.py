"""Normalises names of operations, kernels and paths so that two builds of the same code agree."""

import re
from functools import lru_cache

# Cache size for the names of two profiles; several stages look them up.
MAX_CACHED_NAMES = 4096

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_HASH = re.compile(r"[_.](?=[0-9a-f]*\d)[0-9a-f]{8,}\b")
# Suffixes with which XLA, Inductor and GCC number copies, and counters of ranges: "batch 3".
_COPY_NUMBER = re.compile(r"([._](\d+|clone|remat\d*|isra|constprop)|[ #:]+\d+|\[\d+\])+$")
# The same within a path: instances of one module, "layers.3/Linear_12".
_INSTANCE = re.compile(r"(?:[ ._#:]+\d+|\[\d+\])+(?=/|$)")

# Kernels that compilers name by the file and line of an offloaded region: OpenMP of LLVM, then
# OpenMP and OpenACC of NVIDIA's HPC SDK.
_OFFLOADED = (
    (re.compile(r"^__omp_offloading_[0-9a-f]+_[0-9a-f]+_(\w+?)_l\d+"), r"__omp_offloading_\1"),
    (re.compile(r"^nvkernel_(\w+?)_F\d+L\d+_\d+"), r"nvkernel_\1"),
    (re.compile(r"^(\w+?)_\d+_gpu(?=__|$)"), r"\1_gpu"),
)

_INNERMOST_TEMPLATE = re.compile(r"<[^<>]*>")
_ARGUMENTS = re.compile(r"\([^()]*\)( \[clone[^\]]*\])?$")
# Template arguments that name a generic kernel's operation, as in vectorized_elementwise_kernel.
_OPERATION_ARGUMENT = re.compile(r"\b\w*(?:Functor|gemm|fprop|dgrad|wgrad|Attn)\w*")
# Namespaces that a library renames with each version ("cub::CUB_200700_750_NS::", "cutlass::v3::"),
# and anonymous ones as clang, nvcc and gcc print them.
_VERSION_NAMESPACE = re.compile(
    r"\b(?:[A-Z]+_\d\w*_NS|v\d+|__\d+)::|(?:\(anonymous namespace\)|<unnamed>|\{anonymous\})::"
)
_NAMESPACE = re.compile(r"\b\w+::")
_LIBRARY_KERNEL = re.compile(
    r"(?i)^(volta|turing|ampere|ada|hopper|blackwell|maxwell|pascal|sm\d\d|cutlass|nvjet|cijk|xmma)_"
    r"|gemm|[dw]grad|fprop|winograd"
)
# Words about a kernel's build and not its work: architecture, tiles, stages, layouts, alignments
# and loads. From cuBLAS, cuDNN, CUTLASS, nvJet (Hopper) and Tensile (ROCm).
_BUILD_WORD = re.compile(
    r"(?i)volta|turing|ampere|ada|hopper|blackwell|maxwell|pascal|sm\d+\w?|gfx\w+|\d+"
    r"|\d+x\d+(x\d+)*|tilesize\w*|warpsize\w*|stages?\d*|align[abc]?\d*|ldg\d+|f2f|sliced\w*"
    r"|split\w*|[nt]{1,3}|kernel|cublas|m[ti]\d\w*|sn|coop[ab]?|bz|[hv]|ailk|bljk|bjlk|alik"
)
# The instruction's shape: s884 on Volta is s16816 on Ampere.
_INSTRUCTION_SHAPE = re.compile(r"(?<=[a-z])\d{3,5}(?=gemm|fprop|dgrad|wgrad)")

_REGIONS = (
    (re.compile(r"Torch-Compiled Region: \d+(?:/\d+)?(?:_\d+)?"), "Torch-Compiled Region"),
    (re.compile(r"## Call CompiledFxGraph \w+ ##"), "## Call CompiledFxGraph ##"),
    (re.compile(r"enumerate\(DataLoader\)#[\w.]+"), "enumerate(DataLoader)"),
    (re.compile(r"Optimizer\.(step|zero_grad)#[\w.]+"), r"Optimizer.\1"),
)

# Inductor's kernels, XLA's fusions and torch's foreach operators list their parts.
_FUSED = re.compile(
    r"(?:triton\w*?|cpp)_fused_+(?P<inductor>\w+)"
    r"|(?P<xla>\w+?)_fusion"
    r"|(?:\w+::)?_(?:foreach|fused)_(?P<torch>\w+)"
)
# XLA's emitter, which precedes the parts of a fusion.
_EMITTER = re.compile(r"^(loop|input|output|wrapped|transpose_plumbing|parallel)_")
_COMPILED_REGION = re.compile(r"Torch-Compiled Region|CompiledFxGraph|CompiledFunction")
_FUSED_MARK = re.compile(r"^(\w+_)?fusion$|_fused_|_foreach_")
# An operator dispatched by torch, the innermost part of the path of its kernels.
_DISPATCHED = re.compile(r"(?:aten|prims|torchvision)::\w+")
# Documented operator names are stable across versions; kernel names are not.
_OPERATOR = re.compile(r"\w+::\w+(\.\w+)?|\(.*\)|\(\w+\) \S+|[A-Z]\w*\.\w+#\S+")


@lru_cache(maxsize=MAX_CACHED_NAMES)
def plain_name(name: str) -> str:
    """Return the name without addresses, hashes and copy numbers."""
    return _COPY_NUMBER.sub("", _HASH.sub("", _ADDRESS.sub("", name))) or name


@lru_cache(maxsize=MAX_CACHED_NAMES)
def normal_name(name: str) -> str:
    """Return the name without parts that depend on the build, the tuning or the device generation.

    In addition to what `plain_name` drops, these are template arguments, lines of offloaded regions
    and, in a library's kernel, architecture, tile, stages, layout and alignment. A number before
    "_gpu" may also be a size that the user's own kernel has in its name, so names are compared as
    they are first.
    """
    for pattern, region in _OFFLOADED:
        name = pattern.sub(region, name)
    text = _VERSION_NAMESPACE.sub("", plain_name(name)).removeprefix("void ")
    operators: set[str] = set()
    while (template := _INNERMOST_TEMPLATE.search(text)) is not None:
        operators.update(_OPERATION_ARGUMENT.findall(template[0]))
        text = text[: template.start()] + text[template.end() :]
    if operators:
        text = (
            f"{_ARGUMENTS.sub('', text)}<{','.join(sorted(map(_without_build_words, operators)))}>"
        )
    for pattern, region in _REGIONS:
        text = pattern.sub(region, text)
    text = _without_build_words(text) if _LIBRARY_KERNEL.search(text) else text
    return _COPY_NUMBER.sub("", text) or name


@lru_cache(maxsize=MAX_CACHED_NAMES)
def unqualified_name(name: str) -> str:
    """Return the normal name without namespaces, which a library may add or rename."""
    return _NAMESPACE.sub("", normal_name(name)) or name


@lru_cache(maxsize=MAX_CACHED_NAMES)
def normal_region(name: str) -> str:
    """Return the name without numbers of compiled regions and kinds of data loaders."""
    for pattern, region in _REGIONS:
        name = pattern.sub(region, name)
    return name


@lru_cache(maxsize=MAX_CACHED_NAMES)
def normal_path(path: str) -> str:
    """Return the path without addresses, counters and numbers of modules and compiled regions."""
    return _INSTANCE.sub("", _ADDRESS.sub("", normal_region(path)))


@lru_cache(maxsize=MAX_CACHED_NAMES)
def bare_name(name: str) -> str:
    """Return the word for an operation's work, such as "add" for aten::add_ and wrapped_add."""
    word = _EMITTER.sub("", plain_name(name).rpartition("::")[2])
    return word.strip("_") or name


@lru_cache(maxsize=MAX_CACHED_NAMES)
def fused_names(name: str) -> str:
    """Return the operations that a fused name lists, joined by "_", or "" for other names."""
    match = _FUSED.match(plain_name(name))
    if match is None:
        return ""
    parts = match["inductor"] or match["xla"] or match["torch"]
    return _EMITTER.sub("", parts).strip("_")


def is_fused_name(name: str) -> bool:
    """Return whether a name is that of an operation fused by a compiler or a library."""
    is_marked = _FUSED_MARK.search(plain_name(name)) is not None
    return is_marked or is_compiled_region(name) or fused_names(name) != ""


def is_compiled_region(name: str) -> bool:
    """Return whether a name is that of a region compiled by torch.compile."""
    return _COMPILED_REGION.search(name) is not None


def is_listed(part: str, fused: str) -> bool:
    """Return whether a fused operation's name lists a part."""
    return f"_{bare_name(part)}_" in f"_{fused_names(fused)}_"


def is_operator_name(name: str) -> bool:
    """Return whether users know an operation by this name: "aten::sort", "(compiling) f"."""
    return _OPERATOR.fullmatch(name) is not None


def operator_of(name: str, path: str) -> str:
    """Return the name that users know: for a kernel with a path, the operator that launched it."""
    operator = normal_path(path).rpartition("/")[2]
    is_kernel = not is_operator_name(name) and _DISPATCHED.fullmatch(operator) is not None
    return operator if is_kernel else name


def _without_build_words(name: str) -> str:
    """Return a library kernel's name without its build words."""
    words = _INSTRUCTION_SHAPE.sub("", name).split("_")
    stable_words = [word for word in words if not _BUILD_WORD.fullmatch(word)]
    return "_".join(word for word in stable_words if word) or name
