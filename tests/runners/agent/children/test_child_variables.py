"""The environment variables that reach the pull request's code."""

import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import perfledger_runners
from perfledger_runners.children.child_variables import (
    BUILD_VARIABLES,
    CHILD_VARIABLES,
    CREDENTIAL,
    MAX_LISTED,
    VariableGroup,
    build_variables,
    child_variables,
    may_need_variable,
    named_variable_error,
    withheld_hint,
    withheld_note,
)

CREDENTIALS = (
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HF_TOKEN"),
    *("WANDB_API_KEY", "HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY", "NPM_TOKEN", "SSH_AUTH_SOCK"),
    *("GOOGLE_APPLICATION_CREDENTIALS", "DATABASE_URL", "PGPASSWORD", "KUBECONFIG", "DOCKER_HOST"),
    *("SLURM_JWT", "NVIDIA_API_KEY", "TORCH_HUB_TOKEN", "JAX_SERVICE_PASSWORD", "TF_AUTH"),
    *("CONDA_TOKEN", "TPU_CREDENTIALS", "UCX_SECRET", "PIP_PASSWORD_FILE", "UV_PUBLISH_TOKEN"),
    *("CARGO_REGISTRY_TOKEN", "UV_INDEX_MINE_PASSWORD", "CMAKE_SECRET"),
    *("TF_VAR_region", "TF_VAR_db_admin", "NVIDIA_NGC_PWD", "CUDA_PAT", "NCCL_JWT", "UCX_DSN"),
)
NEEDED = {
    *("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "PYTHONPATH"),
    *(
        "CUDA_VISIBLE_DEVICES",
        "CUDA_HOME",
        "NVIDIA_VISIBLE_DEVICES",
        "XLA_FLAGS",
        "OMP_NUM_THREADS",
    ),
    *("MKL_NUM_THREADS", "KMP_AFFINITY", "OPENBLAS_NUM_THREADS", "TORCH_LOGS", "TORCH_HOME"),
    *("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "PYTORCH_CUDA_ALLOC_CONF", "JAX_PLATFORMS"),
    *(
        "JAX_COMPILATION_CACHE_DIR",
        "NCCL_DEBUG",
        "HF_HOME",
        "TPU_VISIBLE_DEVICES",
        "ROCR_VISIBLE_DEVICES",
    ),
    *("LIBTPU_INIT_ARGS", "VIRTUAL_ENV", "CONDA_PREFIX", "SLURM_JOB_GPUS", "HIP_VISIBLE_DEVICES"),
    *("TOKENIZERS_PARALLELISM", "TF_CPP_MIN_LOG_LEVEL", "CC", "XDG_CACHE_HOME"),
    *("TORCH_DISPATCH_MODE", "XLA_PYTHON_CLIENT_MEM_FRACTION", "TF_XLA_FLAGS"),
}
NAMES = st.text("ABKEYTOKNSR_", min_size=1).map(lambda text: f"X{text}")


@pytest.mark.parametrize("name", CREDENTIALS)
def test_no_credential_reaches_a_child_or_a_build(name):
    assert child_variables({name: "canary"}) == {}
    assert build_variables({name: "canary"}) == {}


@pytest.mark.parametrize(
    "name", ["GITHUB_SHA", "GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "PERFLEDGER_URL", "GH_TOKEN"]
)
def test_the_jobs_own_variables_never_reach_it_even_if_a_setting_names_them(name):
    assert named_variable_error(name)
    for named in ([name], [name[:3] + "*"]):
        assert child_variables({name: "x"}, named=named) == {}
        assert build_variables({name: "x"}, named=named) == {}


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_what_repositories_compute_with_reaches_children_and_builds(name):
    assert child_variables({name: "x"}) == build_variables({name: "x"}) == {name: "x"}


@pytest.mark.parametrize(
    "name",
    [
        *("PIP_INDEX_URL", "UV_CACHE_DIR", "POETRY_CACHE_DIR", "PDM_CACHE_DIR", "CFLAGS"),
        *("MAX_JOBS", "https_proxy", "SSL_CERT_FILE"),
    ],
)
def test_what_installers_need_reaches_builds_alone(name):
    assert build_variables({name: "x"}) == {name: "x"}
    assert child_variables({name: "x"}) == {}


@given(NAMES)
def test_a_name_lets_in_any_variable_and_a_prefix_none_that_may_be_a_credential(name):
    assert child_variables({name: "x"}, named=[name]) == {name: "x"}
    passed = child_variables({name: "x"}, named=["X*"])
    assert bool(passed) is not bool(CREDENTIAL.search(name))


@given(st.dictionaries(NAMES | st.sampled_from(sorted(NEEDED)), st.text()))
def test_a_variable_is_passed_on_unchanged_or_listed_and_never_both(environment):
    passed = child_variables(environment)
    note = withheld_note(environment, passed)

    assert passed.items() <= environment.items()
    assert bool(note) is (len(passed) < len(environment))  # NAMES has nothing of shells or builds


def test_each_group_gives_its_reason_and_no_name_has_two_groups():
    names = [name for group in (*CHILD_VARIABLES, *BUILD_VARIABLES) for name in group.names]

    assert len(names) == len(set(names))
    with pytest.raises(ValueError, match="needs the reason"):
        VariableGroup("", ("PATH",))


@pytest.mark.parametrize(
    "group", [*CHILD_VARIABLES, *BUILD_VARIABLES], ids=lambda each: each.reason
)
def test_each_group_is_in_the_readme(group):
    readme = Path(perfledger_runners.__file__).parent / "README.md"
    names = ", ".join(f"`{name}`" for name in group.names)
    lines = readme.read_text(encoding="utf-8").replace("\n  ", " ")

    assert f"- {group.reason}: {names}\n" in lines


@pytest.mark.parametrize("name", ["M{:03}", "MINE_{:03}", "THE_LONG_NAME_OF_A_SETTING_{:03}"])
def test_a_long_list_of_withheld_variables_keeps_its_advice_in_a_line_of_a_report(name):
    environment = {name.format(number): "canary" for number in range(MAX_LISTED + 2)}

    note = withheld_note(environment, ())

    first, more = re.fullmatch(
        r"perfledger: add to `env` in perfledger.toml what is needed of the environment variables "
        r"that are not passed on: (.*) and (\d+) more",
        note,
    ).groups()
    listed = first.split(", ")
    assert listed == sorted(environment)[: len(listed)]
    assert len(listed) + int(more) == MAX_LISTED + 2
    assert len(note) < 400
    assert "canary" not in note
    assert withheld_note(environment, environment) == ""


def test_one_withheld_variable_is_listed_however_long_its_name_is():
    assert withheld_note({"A" * 300: "canary"}, ()).endswith(f"not passed on: {'A' * 300}")


def test_what_a_shell_and_installers_need_is_not_listed():
    assert withheld_note({"PWD": "/", "SHLVL": "1", "PIP_INDEX_URL": "https://x"}, ()) == ""


def test_credentials_are_listed_first_because_code_asks_for_them():
    assert withheld_note({"A": "canary", "Z_TOKEN": "canary"}, ()).endswith("on: Z_TOKEN, A")


@pytest.mark.parametrize(
    ("error", "may"),
    [
        ("w.py cannot be imported: ModuleNotFoundError: No module named 'numpy' (w.py:1)", False),
        ("AttributeError: module 'jax' has no attribute 'tree_map' (w.py:3)", False),
        ("TypeError: train() got an unexpected keyword argument 'lr' (w.py:3)", False),
        ("TypeError: unsupported operand type(s) for +: 'NoneType' and 'str' (w.py:3)", True),
        ("AssertionError: DATA_ROOT must be set (w.py:3)", True),
        ("AssertionError: the sums differ (w.py:3)", False),
        ("ValueError: too many values to unpack (expected 2) (w.py:3)", False),
        ("ValueError: invalid literal for int() with base 10: '' (w.py:3)", True),
        ("ValueError: no credentials for the bucket (w.py:3)", True),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data' (w.py:3)", True),
        ("OSError: 401 Client Error: gated repository", True),
        ("ended with exit status 3 before its result", True),
    ],
)
def test_an_error_of_the_code_itself_needs_no_list_of_variables(error, may):
    assert may_need_variable(error) is may


def test_the_hint_is_on_whole_names_that_the_error_has():
    environment = {"WANDB_API_KEY": "canary", "API": "canary"}

    hint = withheld_hint(environment, (), "KeyError: 'WANDB_API_KEY'")

    assert hint.startswith("WANDB_API_KEY is set here but not passed on")
    assert withheld_hint(environment, (), "KeyError: 'WANDB'") == ""
    assert withheld_hint(environment, environment, "KeyError: 'WANDB_API_KEY'") == ""


def test_the_hint_is_a_sentence_whether_one_variable_is_named_or_several():
    environment = dict.fromkeys(("ONE", "TWO", "THREE"), "canary")

    assert withheld_hint(environment, (), "set ONE") == (
        "ONE is set here but not passed on: add it to `env` in perfledger.toml"
    )
    assert withheld_hint(environment, (), "set ONE, TWO or THREE") == (
        "ONE, THREE and TWO are set here but not passed on: add them to `env` in perfledger.toml"
    )


@pytest.mark.parametrize("name", ["", "*", "A B", "1A", "A*B", "A=B", "$(id)"])
def test_what_is_no_name_cannot_be_set(name):
    assert "is not the name of a variable" in named_variable_error(name)


@pytest.mark.parametrize("name", ["WANDB_API_KEY", "WANDB_*", "_x1"])
def test_names_and_prefixes_can_be_set(name):
    assert named_variable_error(name) == ""
