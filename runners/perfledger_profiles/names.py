"""Turn the names of operations, kernels and places into what two builds of one code share."""

import re
from functools import lru_cache

# Of two profiles: each name is asked about in several stages.
_KNOWN_NAMES = 4096

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_HASH = re.compile(r"[_.](?=[0-9a-f]*\d)[0-9a-f]{8,}\b")
# What XLA, Inductor and GCC add to tell copies of one thing apart.
_COPY_NUMBER = re.compile(r"([._](\d+|clone|remat\d*|isra|constprop))+$")

_INNERMOST_TEMPLATE = re.compile(r"<[^<>]*>")
_ARGUMENTS = re.compile(r"\([^()]*\)( \[clone[^\]]*\])?$")
# Template arguments that say what a generic kernel does, as vectorized_elementwise_kernel's.
_TELLING_ARGUMENT = re.compile(r"\b\w*(?:Functor|gemm|fprop|dgrad|wgrad)\w*")
_LIBRARY_KERNEL = re.compile(
    r"(?i)^(volta|turing|ampere|ada|hopper|blackwell|maxwell|pascal|sm\d\d|cutlass|nvjet|cijk|xmma)_"
    r"|gemm|[dw]grad|fprop|winograd"
)
# How a library built a kernel, not what it computes: the architecture, tiles, stages, layouts,
# alignments and the ways to load. cuBLAS, cuDNN, CUTLASS, nvJet (Hopper) and Tensile (ROCm).
_BUILD_WORD = re.compile(
    r"(?i)volta|turing|ampere|ada|hopper|blackwell|maxwell|pascal|sm\d+\w?|gfx\w+|\d+"
    r"|\d+x\d+(x\d+)*|tilesize\w*|warpsize\w*|stages?\d*|align[abc]?\d*|ldg\d+|f2f|sliced\w*"
    r"|split\w*|[nt]{1,3}|kernel|cublas|m[ti]\d\w*|sn|coop[ab]?|bz|[hv]|ailk|bljk|bjlk|alik"
)
# The shape of the instruction: s884 on Volta is s16816 on Ampere.
_INSTRUCTION_SHAPE = re.compile(r"(?<=[a-z])\d{3,5}(?=gemm|fprop|dgrad|wgrad)")

_PLACES = (
    (re.compile(r"Torch-Compiled Region: \d+(?:/\d+)?(?:_\d+)?"), "Torch-Compiled Region"),
    (re.compile(r"## Call CompiledFxGraph \w+ ##"), "## Call CompiledFxGraph ##"),
    (re.compile(r"enumerate\(DataLoader\)#[\w.]+"), "enumerate(DataLoader)"),
    (re.compile(r"Optimizer\.(step|zero_grad)#[\w.]+"), r"Optimizer.\1"),
)

# Inductor's kernels, XLA's fusions and torch's operators on many tensors say what is in them.
_FUSED = re.compile(
    r"(?:triton\w*?|cpp)_fused_+(?P<inductor>\w+)"
    r"|(?P<xla>\w+?)_fusion"
    r"|(?:\w+::)?_(?:foreach|fused)_(?P<torch>\w+)"
)
# How XLA emits a fusion, in front of what is in it.
_EMITTER = re.compile(r"^(loop|input|output|wrapped|transpose_plumbing|parallel)_")
_COMPILED_REGION = re.compile(r"Torch-Compiled Region|CompiledFxGraph|CompiledFunction")
_FUSED_MARK = re.compile(r"^(\w+_)?fusion$|_fused_|_foreach_")
# A name that a library documents is the same in every version of it; a kernel's is not.
_OPERATOR = re.compile(r"\w+::\w+(\.\w+)?|\(.*\)|\(\w+\) \S+|[A-Z]\w*\.\w+#\S+")


@lru_cache(maxsize=_KNOWN_NAMES)
def plain_name(name: str) -> str:
    """Return the name without addresses, hashes and the numbers that tell copies apart."""
    return _COPY_NUMBER.sub("", _HASH.sub("", _ADDRESS.sub("", name))) or name


@lru_cache(maxsize=_KNOWN_NAMES)
def normal_name(name: str) -> str:
    """Return the name without what depends on the build, the tuning or the device's generation.

    Those are, beside what `plain_name` drops, template arguments and, for a library's kernel, its
    architecture, tile, stages, layout and alignment.
    """
    text = plain_name(name).removeprefix("void ")
    told: set[str] = set()
    while (found := _INNERMOST_TEMPLATE.search(text)) is not None:
        told.update(_TELLING_ARGUMENT.findall(found[0]))
        text = text[: found.start()] + text[found.end() :]
    if told:
        text = f"{_ARGUMENTS.sub('', text)}<{','.join(sorted(map(_built_alike, told)))}>"
    for pattern, place in _PLACES:
        text = pattern.sub(place, text)
    text = _built_alike(text) if _LIBRARY_KERNEL.search(text) else text
    return _COPY_NUMBER.sub("", text) or name


@lru_cache(maxsize=_KNOWN_NAMES)
def normal_path(path: str) -> str:
    """Return the path without the numbers of compiled regions and the kinds of its loaders."""
    for pattern, place in _PLACES:
        path = pattern.sub(place, path)
    return path


@lru_cache(maxsize=_KNOWN_NAMES)
def bare_name(name: str) -> str:
    """Return the one word for what an operation does: "add" of aten::add_ and of wrapped_add."""
    word = _EMITTER.sub("", plain_name(name).rpartition("::")[2])
    return word.strip("_") or name


@lru_cache(maxsize=_KNOWN_NAMES)
def fused_names(name: str) -> str:
    """Return the operations that a fused one's name lists, joined by "_"; "" for any other."""
    found = _FUSED.match(plain_name(name))
    if found is None:
        return ""
    parts = found["inductor"] or found["xla"] or found["torch"]
    return _EMITTER.sub("", parts).strip("_")


def is_fused_name(name: str) -> bool:
    """Tell whether a name is of what a compiler or a library made of several operations."""
    is_marked = _FUSED_MARK.search(plain_name(name)) is not None
    return is_marked or is_compiled_region(name) or fused_names(name) != ""


def is_compiled_region(name: str) -> bool:
    """Tell whether a name is of a stretch of code that torch.compile compiled as one."""
    return _COMPILED_REGION.search(name) is not None


def is_listed(part: str, fused: str) -> bool:
    """Tell whether the fused operation's name lists that part."""
    return f"_{bare_name(part)}_" in f"_{fused_names(fused)}_"


def is_operator_name(name: str) -> bool:
    """Tell whether a name is one that users call: "aten::sort", "(compiling) f"."""
    return _OPERATOR.fullmatch(name) is not None


def _built_alike(name: str) -> str:
    """Return a library kernel's name without how it was built."""
    words = _INSTRUCTION_SHAPE.sub("", name).split("_")
    kept = [word for word in words if not _BUILD_WORD.fullmatch(word)]
    return "_".join(word for word in kept if word) or name
