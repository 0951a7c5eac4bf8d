import py_compile
import struct
from dataclasses import replace
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode

import pytest

import perfledger
from perfledger import records
from perfledger.protocol import ChildRequest, Command
from perfledger.records import Device, Framework, WorkloadSpec
from perfledger_runners.children.harness import (
    PASSIVE_WAITING,
    child_environment,
    for_workloads,
    prepare_harness,
    python_of,
    sandbox_command,
    waiting_notes,
)
from perfledger_runners.children.launch import Launch
from perfledger_runners.children.sandbox import EMPTY_FOLDERS, Sandbox


def prepared_environment(interpreter, environment, *, device="auto", own=""):
    with prepare_harness(interpreter, environment=environment) as harness:
        sdk = str(harness.sdk)
        request = ChildRequest(
            command=Command.LIST, root="/checkout", repository="/", device=device, environment=own
        )
        child_variables = child_environment(
            harness, request, answers={"PERFLEDGER_FD": "7"}, mark="abc"
        )
    return sdk, child_variables


def modules(package):
    return {str(path.relative_to(package)) for path in package.rglob("*.py")}


def test_a_private_folder_holds_our_package_and_nothing_else(interpreter):
    with prepare_harness(interpreter, environment={}) as harness:
        names = modules(harness.sdk / "perfledger")
        folder = harness.folder

        assert [path.name for path in harness.sdk.iterdir()] == ["perfledger"]
        assert names == modules(Path(perfledger.__file__).parent)
        assert {"__init__.py", "meters/torch_clock.py"} <= names
        assert folder.stat().st_mode & 0o077 == 0
    assert not Path(folder).exists()


def test_a_module_is_copied_with_what_this_python_compiled_of_it(interpreter):
    py_compile.compile(records.__file__, invalidation_mode=PycInvalidationMode.TIMESTAMP)

    with prepare_harness(interpreter, environment={}) as harness:
        source = harness.sdk / "perfledger" / "records.py"
        header = Path(cache_from_source(source)).read_bytes()[:16]
        size, time = source.stat().st_size, int(source.stat().st_mtime)

    assert struct.unpack("<4s3L", header) == (MAGIC_NUMBER, 0, time, size)


def test_the_users_own_path_comes_behind_ours(interpreter):
    sdk, environment = prepared_environment(interpreter, {"PYTHONPATH": "/theirs:/more"})

    assert environment["PYTHONPATH"] == f"{sdk}:/theirs:/more"


def test_without_a_path_of_theirs_there_is_no_empty_entry(interpreter):
    sdk, environment = prepared_environment(interpreter, {"PYTHONPATH": ""})

    assert environment["PYTHONPATH"] == sdk


def test_only_listed_variables_reach_a_pull_requests_code(interpreter):
    theirs = {"HF_HOME": "/models", "HF_TOKEN": "canary", "AWS_SECRET_ACCESS_KEY": "canary"}

    _, environment = prepared_environment(interpreter, theirs)

    assert "canary" not in environment.values()
    assert environment["HF_HOME"] == "/models"


def test_variables_that_the_setting_names_reach_it_on_both_sides(interpreter):
    request = ChildRequest(command=Command.LIST, root="/", repository="/")
    sides = {"/base", "/head"}
    with prepare_harness(
        interpreter, environment={"WANDB_API_KEY": "x"}, variable_names=["WANDB_API_KEY"]
    ) as harness:
        environment = [
            child_environment(harness, replace(request, root=root), answers={}, mark="abc")
            for root in sides
        ]

    folders = {each.pop("TORCH_EXTENSIONS_DIR") for each in environment}
    tags = {each.pop("TORCH_COMPILE_CACHE_KEY_TAG") for each in environment}
    assert environment[0] == environment[1]
    assert (len(folders), len(tags)) == (2, 2)
    assert environment[0]["WANDB_API_KEY"] == "x"


def test_both_sides_hash_strings_alike_whatever_the_user_set(interpreter):
    _, environment = prepared_environment(interpreter, {"PYTHONHASHSEED": "random"})

    assert environment["PYTHONHASHSEED"] == "0"


def waiting(interpreter, environment, *, is_interleaved):
    with prepare_harness(interpreter, environment=environment) as harness:
        request = ChildRequest(
            command=Command.MEASURE, root="/", repository="/", is_interleaved=is_interleaved
        )
        child_variables = child_environment(
            harness, request, answers={"PERFLEDGER_FD": "7"}, mark="abc"
        )
    return {name: child_variables[name] for name in PASSIVE_WAITING if name in child_variables}


def test_threads_of_interleaved_sides_sleep_while_they_wait(interpreter):
    assert waiting(interpreter, {}, is_interleaved=True) == {
        "OMP_WAIT_POLICY": "passive",
        "GOMP_SPINCOUNT": "0",
        "KMP_BLOCKTIME": "0",
        "OPENBLAS_THREAD_TIMEOUT": "4",
    }
    assert waiting(interpreter, {}, is_interleaved=False) == {}


@pytest.mark.parametrize("name", PASSIVE_WAITING)
def test_whoever_says_how_threads_wait_decides_it(interpreter, name):
    assert waiting(interpreter, {name: "7"}, is_interleaved=True) == {name: "7"}


def test_a_check_on_the_cpu_says_how_threads_wait():
    (note,) = waiting_notes({"PATH": "/bin"}, Device.CPU, [])

    assert "OMP_WAIT_POLICY=passive, GOMP_SPINCOUNT=0, KMP_BLOCKTIME=0, " in note
    assert "OPENBLAS_THREAD_TIMEOUT=4" in note
    assert waiting_notes({"KMP_BLOCKTIME": "200"}, Device.CPU, []) == ()
    assert waiting_notes({}, Device.CUDA, []) == ()


def test_a_check_of_jax_says_that_xlas_threads_spin_whatever_openmps_do():
    specs = [WorkloadSpec(id="m:f", module="m", function="f", framework=Framework.JAX)]
    usual = waiting_notes({}, Device.CPU, specs)
    chosen = waiting_notes({"KMP_BLOCKTIME": "200"}, Device.CPU, specs)

    assert [note.partition(" ")[0] for note in usual] == ["threads", "XLA's"]
    assert chosen == usual[1:]
    assert waiting_notes({}, Device.CUDA, specs) == ()


def test_only_a_check_on_the_cpu_keeps_jax_there(interpreter):
    _, on_cpu = prepared_environment(interpreter, {}, device="cpu")
    _, anywhere = prepared_environment(interpreter, {}, device="auto")

    assert on_cpu["JAX_PLATFORMS"] == "cpu"
    assert "JAX_PLATFORMS" not in anywhere


def test_threads_are_the_users_business(interpreter):
    _, environment = prepared_environment(interpreter, {"OMP_NUM_THREADS": "3"})

    assert environment["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in environment


def test_a_side_with_its_own_environment_runs_on_its_python_and_programs(interpreter):
    _, environment = prepared_environment(interpreter, {"PATH": "/usr/bin"}, own="/cache/head")
    request = ChildRequest(command=Command.LIST, root="/", repository="/", environment="/cache/a")

    assert environment["VIRTUAL_ENV"] == "/cache/head"
    assert environment["PATH"] == "/cache/head/bin:/usr/bin"
    with prepare_harness(interpreter, environment={}) as harness:
        assert python_of(harness, request) == Path("/cache/a/bin/python")


def test_a_workload_with_a_time_limit_of_its_own_has_it(interpreter):
    slow = WorkloadSpec(id="m:slow", module="m", function="slow", timeout=900.0)
    usual = WorkloadSpec(id="m:usual", module="m", function="usual")

    with prepare_harness(interpreter, environment={}) as harness:
        limits = for_workloads(harness, [slow, usual]).limits

    assert (limits.of("m:slow"), limits.of("m:usual")) == (900.0, limits.workload_s)


def hidden_folders(interpreter, repository, checkout):
    sandbox = Sandbox(words=("{default}",), home=Path("/no/such/home"))
    with prepare_harness(interpreter, environment={}) as harness:
        request = ChildRequest(command=Command.LIST, root=str(checkout), repository=str(repository))
        words = sandbox_command(replace(harness, sandbox=sandbox), request, harness.folder)
    empty = [words[at + 1] for at, word in enumerate(words) if word == "--tmpfs"]
    return [Path(each) for each in empty if Path(each) not in EMPTY_FOLDERS]


def test_a_sandbox_hides_the_history_also_from_a_linked_work_tree(theirs, interpreter):
    theirs.commit("one")
    linked = theirs.root / "linked"
    theirs.git("worktree", "add", "-q", str(linked))

    for repository in (theirs.root, linked):
        hidden = hidden_folders(interpreter, repository, theirs.root)
        assert hidden == [theirs.root / ".git"]


def test_each_side_has_a_folder_of_its_own_for_what_torch_compiles(interpreter):
    theirs = {"TORCH_EXTENSIONS_DIR": "/theirs"}
    with prepare_harness(interpreter, environment=theirs) as harness:
        folders = [
            child_environment(
                harness,
                ChildRequest(command=Command.LIST, root=root, repository="/checkout"),
                answers={"PERFLEDGER_FD": "7"},
                mark="abc",
            )["TORCH_EXTENSIONS_DIR"]
            for root in ("/checkouts/base", "/checkouts/head", "/checkout")
        ]

        assert folders == [
            str(harness.folder / "extensions" / "base"),
            str(harness.folder / "extensions" / "head"),
            "/theirs",
        ]


def test_each_side_of_a_check_has_entries_of_its_own_in_the_caches_of_torch_compile(interpreter):
    tags = []
    for _ in range(2):
        with prepare_harness(interpreter, environment={}) as harness:
            environments = [
                child_environment(
                    harness,
                    ChildRequest(command=Command.LIST, root=root, repository="/checkout"),
                    answers={"PERFLEDGER_FD": "7"},
                    mark="abc",
                )
                for root in ("/checkouts/base", "/checkouts/base", "/checkouts/head", "/checkout")
            ]
        tags.append([each.get("TORCH_COMPILE_CACHE_KEY_TAG", "") for each in environments])

    (base, again, head, users), (other_check, *_) = tags
    assert base == again
    assert len({base, head, other_check, ""}) == 4
    assert users == ""


def test_packages_of_a_sides_own_environment_come_before_the_users_path(interpreter, tmp_path):
    packages = tmp_path / "lib" / "python3.12" / "site-packages"
    packages.mkdir(parents=True)

    sdk, environment = prepared_environment(
        interpreter, {"PYTHONPATH": "/theirs:/more"}, own=str(tmp_path)
    )

    assert environment["PYTHONPATH"] == f"{sdk}:{packages}:/theirs:/more"


@pytest.mark.parametrize(
    ("workloads", "shared"),
    [("abcd", "a"), ("bcd", "b"), ("acd", "ac"), ("ac", "ac"), ("db", "d")],
)
def test_a_workload_with_a_launcher_has_a_process_of_its_own(interpreter, workloads, shared):
    """With launchers for "b" and "d": forks of one process run the others before them."""
    with prepare_harness(interpreter, environment={}) as harness:
        with_launchers = replace(
            harness, launches=dict.fromkeys("bd", Launch("", 4, Framework.JAX))
        )

        child_request = ChildRequest(
            command=Command.MEASURE,
            root="/",
            repository="/",
            workloads=tuple(workloads),
            is_forking=True,
        )

        alone = replace(child_request, is_forking=False)
        assert with_launchers.first_child_of(child_request).workloads == tuple(shared)
        assert with_launchers.first_child_of(alone).workloads == tuple(workloads[:1])
