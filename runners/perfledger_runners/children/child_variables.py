"""Lists the environment variables that reach the pull request's code, and selects them.

A workload and its build are the pull request's code: a variable that is neither listed here with
its reason nor named by the setting `env` stays with the agent.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate

# Variables about the shell itself, which no workload needs; lists of withheld variables omit them.
SHELL_VARIABLES = ("_", "OLDPWD", "PWD", "SHELL", "SHLVL", "TERM", "COLUMNS", "LINES")
# In a list of withheld variables: enough for an author to find the missing one. A line of a report
# ends after 400 characters.
MAX_LISTED, MAX_LISTED_CHARACTERS = 30, 200
# perfledger's own variables, and those that control a CI job: no setting passes them on.
NEVER = re.compile(r"PERFLEDGER_.*|GITHUB_.*|ACTIONS_.*|GH_TOKEN")
# A name with one of these words may hold a credential: a prefix does not pass it on, only the whole
# name. TensorFlow and Terraform share a prefix, and Terraform passes secrets in TF_VAR_NAME.
CREDENTIAL = re.compile(
    r"TOKEN|SECRET|KEY|PASSW|PASSPHRASE|CREDENTIAL|AUTH|COOKIE|PRIVATE|PWD|JWT"
    r"|(^|_)(PAT|DSN|SAS)(_|$)|^TF_VAR_",
    re.IGNORECASE,
)

# Errors of the code itself: no variable causes them. A missing variable may be a None or an empty
# text; a check of settings names one, or says what is missing.
CODE_ERROR = re.compile(
    r"\b(ModuleNotFoundError|SyntaxError|IndentationError|TabError|NameError|UnboundLocalError"
    r"|ZeroDivisionError|IndexError|RecursionError|NotImplementedError)\b"
    r"|\b(AttributeError|TypeError): (?!.*None)"
    r"|\b(ValueError|AssertionError)\b(?!.*(?:None|''|\"\"|[A-Z0-9]+_[A-Z0-9]"
    r"|(?i:environ|variable|token|key|credential|secret|passw|login|auth|missing|\bset\b)))"
)


@dataclass(frozen=True, slots=True)
class VariableGroup:
    """Variables that the pull request's code gets, all for one reason; `NAME*` is a prefix."""

    reason: str
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.reason:
            msg = "a group of variables needs the reason for which it is passed on"
            raise ValueError(msg)


CHILD_VARIABLES = (
    VariableGroup("programs, and the user's files", ("PATH", "HOME", "USER", "LOGNAME")),
    VariableGroup("the language and the time zone of texts", ("LANG", "LANGUAGE", "LC_*", "TZ")),
    VariableGroup(
        "folders for temporary files and caches of compilers",
        ("TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
    ),
    VariableGroup(
        "where Python finds modules, and how it runs",
        (
            *("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "PYTHONSAFEPATH"),
            *("PYTHONUTF8", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"),
            *("PYTHONPYCACHEPREFIX", "PYTHONMALLOC", "PYTHONOPTIMIZE", "PYTHONWARNINGS"),
            *("PYTHONFAULTHANDLER", "PYTHON_GIL", "PYTHON_JIT"),
            *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"),
        ),
    ),
    VariableGroup(
        "shared libraries, and the allocator that is loaded with them",
        ("LD_LIBRARY_PATH", "LD_PRELOAD", "MALLOC_*", "TCMALLOC_*", "MIMALLOC_*", "GLIBC_TUNABLES"),
    ),
    VariableGroup(
        "compilers that torch.compile, Triton and extensions call while they run",
        ("CC", "CXX", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"),
    ),
    VariableGroup(
        "which NVIDIA devices are visible, and their libraries",
        (
            *("CUDA_*", "CUDACXX", "CUDAARCHS", "CUDAHOSTCXX", "NVIDIA_*", "CUDNN_*", "CUBLAS_*"),
            *("CUBLASLT_*", "CUPTI_*", "NVTE_*", "NVCC_*"),
        ),
    ),
    VariableGroup(
        "which AMD and Intel devices are visible, and their libraries",
        (
            *("ROCR_*", "ROCM_*", "HIP_*", "HSA_*", "MIOPEN_*", "ROCBLAS_*", "HIPBLASLT_*"),
            *("GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR"),
        ),
    ),
    VariableGroup("TPUs and their runtime", ("TPU_*", "LIBTPU_*", "PJRT_*")),
    VariableGroup(
        "what frameworks compute with, and how they compile",
        (
            *("XLA_*", "JAX_*", "JAXTYPING_*", "EQX_*", "TF_*"),
            *("TORCH_*", "TORCHINDUCTOR_*", "TORCHDYNAMO_*", "PYTORCH_*", "TRITON_*"),
        ),
    ),
    VariableGroup(
        "how many threads compute, and how they wait",
        (
            *("OMP_*", "GOMP_*", "KMP_*", "MKL_*", "OPENBLAS_*", "GOTO_NUM_THREADS", "BLIS_*"),
            *("DNNL_*", "ONEDNN_*", "VECLIB_*", "NUMEXPR_*", "NUMBA_*", "TBB_*", "RAYON_*"),
            *("NPY_*", "NVPL_*", "TOKENIZERS_PARALLELISM"),
        ),
    ),
    VariableGroup(
        "how devices and processes exchange data", ("NCCL_*", "NVSHMEM_*", "UCX_*", "GLOO_*")
    ),
    VariableGroup(
        "the place of a process in its job",
        (
            *("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"),
            *("SLURM_JOB_ID", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE"),
            *("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "SLURM_CPU_BIND", "SLURM_NTASKS"),
            *("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NNODES", "SLURM_TMPDIR"),
        ),
    ),
    VariableGroup(
        "where downloaded models and data sets are",
        (
            *("HF_HOME", "HF_HUB_CACHE", "HF_ASSETS_CACHE", "HF_DATASETS_CACHE", "HF_HUB_OFFLINE"),
            *("HF_DATASETS_OFFLINE", "TRANSFORMERS_CACHE", "TRANSFORMERS_OFFLINE", "KERAS_HOME"),
        ),
    ),
    VariableGroup(
        "coverage of processes, if the caller measures it",
        ("COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "COVERAGE_FILE", "COVERAGE_RCFILE"),
    ),
)
# What a build gets in addition. An index's address may hold a password; pip and uv need it.
BUILD_VARIABLES = (
    VariableGroup(
        "which index, cache and options pip, uv, Poetry and PDM install with",
        ("PIP_*", "UV_*", "POETRY_*", "PDM_*", "PIP_KEYRING_PROVIDER", "UV_KEYRING_PROVIDER"),
    ),
    VariableGroup(
        "which settings, cache and CUDA driver conda and pixi install with",
        (
            *("CONDARC", "CONDA_PKGS_DIRS", "CONDA_OVERRIDE_CUDA"),
            *("PIXI_HOME", "PIXI_CACHE_DIR", "RATTLER_CACHE_DIR"),
        ),
    ),
    VariableGroup(
        "compilers' options",
        (
            *("CPPFLAGS", "CFLAGS", "CXXFLAGS", "LDFLAGS", "ARCHFLAGS", "FC", "AR", "LD"),
            *("CMAKE_*", "SKBUILD_*", "MESON_*", "NINJA_*", "PKG_CONFIG*", "CCACHE_*", "SCCACHE_*"),
            *("MAKEFLAGS", "MAX_JOBS", "RUSTFLAGS", "RUSTC_WRAPPER", "RUSTUP_*", "CARGO_*"),
            *("SETUPTOOLS_*", "SOURCE_DATE_EPOCH"),
        ),
    ),
    VariableGroup(
        "the way to an index: proxies and certificates",
        (
            *("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"),
            *("HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "ALL_PROXY", "NO_PROXY"),
            *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
        ),
    ),
)


def child_variables(environment: Mapping[str, str], *, named: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables that a process of the pull request's code gets.

    `named` are names and prefixes (`NAME*`) of the setting `env`.
    """
    return _select(environment, (*_names(CHILD_VARIABLES), *named))


def build_variables(environment: Mapping[str, str], *, named: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables that a side's build gets: a child's, and those of installers."""
    return _select(environment, (*_names(CHILD_VARIABLES), *_names(BUILD_VARIABLES), *named))


def withheld_hint(environment: Mapping[str, str], received: Iterable[str], error: str) -> str:
    """Return a sentence on the withheld variable that an error names, "" if it names none."""
    words = set(re.findall(r"\w+", error))
    names = [name for name in _withheld(environment, received) if name in words]
    if not names:
        return ""
    *first, last = names
    listed = f"{', '.join(first)} and {last}" if first else last
    verb, pronoun = ("are", "them") if first else ("is", "it")
    return f"{listed} {verb} set here but not passed on: add {pronoun} to `env` in perfledger.toml"


def withheld_note(environment: Mapping[str, str], received: Iterable[str]) -> str:
    """Return the names of the withheld variables, "" if there are none."""
    names = _withheld(environment, received)
    if not names:
        return ""
    totals = accumulate(len(f"{name}, ") for name in names[:MAX_LISTED])
    number = max(1, sum(total <= MAX_LISTED_CHARACTERS for total in totals))
    more = f" and {len(names) - number} more" if len(names) > number else ""
    return (
        "perfledger: add to `env` in perfledger.toml what is needed of the environment variables "
        f"that are not passed on: {', '.join(names[:number])}{more}"
    )


def may_need_variable(error: str) -> bool:
    """Return whether a missing environment variable may be the cause of an error."""
    return CODE_ERROR.search(error) is None


def named_variable_error(name: str) -> str:
    """Return why the setting `env` cannot have this name or prefix, "" if it can."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*\*?", name):
        return f"{name!r} is not the name of a variable: write NAME, or NAME* for a prefix"
    if NEVER.fullmatch(name):
        return (
            f"{name} is never passed on: PERFLEDGER_*, GITHUB_* and ACTIONS_* give access to the "
            "job; set another variable to the value that is needed"
        )
    return ""


def _withheld(environment: Mapping[str, str], received: Iterable[str]) -> tuple[str, ...]:
    """Return the names that a setting could pass on; those that the code asks for come first."""
    names = environment.keys() - {*received, *build_variables(environment), *SHELL_VARIABLES}
    return tuple(
        sorted(
            (name for name in names if not named_variable_error(name)),
            key=lambda name: (not CREDENTIAL.search(name), name),
        )
    )


def _select(environment: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    exact = {name for name in names if not name.endswith("*")}
    prefixes = tuple(name.removesuffix("*") for name in names if name.endswith("*"))
    return {
        name: value
        for name, value in environment.items()
        if not NEVER.fullmatch(name)
        and (name in exact or (name.startswith(prefixes) and not CREDENTIAL.search(name)))
    }


def _names(groups: Iterable[VariableGroup]) -> tuple[str, ...]:
    return tuple(name for group in groups for name in group.names)
