"""Real children that run workloads of several files, of which none reaches another at import."""

import pytest

from perfledger.protocol import BenchmarkSuite, Command
from perfledger.records import Framework

IMPORTS = "import atexit, os, random, sys, time, perfledger\n"
# What the top of a file sets → an expression that is true where it has been set.
SET_IN_PYTHON = {
    "os.environ['LEFT'] = '1'": "'LEFT' in os.environ",
    "sys.path.insert(0, '/left')": "'/left' in sys.path",
    "import shared; shared.KEPT = True": "getattr(sys.modules.get('shared'), 'KEPT', False)",
    "sys.setrecursionlimit(1234)": "sys.getrecursionlimit() == 1234",
    "import textwrap; textwrap.dedent = len": "__import__('textwrap').dedent is len",
    "random.random = lambda: 0.0": "random.random() == 0.0",
    "import decimal; decimal.getcontext().prec = 3": "__import__('decimal').getcontext().prec == 3",
}
SET_IN_NUMPY = {"numpy.seterr(all='raise')": "numpy.geterr()['over'] == 'raise'"}
SET_IN_JAX = {
    "jax.config.update('jax_enable_x64', True)": "jax.config.jax_enable_x64",
    "jax.config.update('jax_default_matmul_precision', 'float32')": (
        "jax.config.jax_default_matmul_precision == 'float32'"
    ),
}
SET_IN_TORCH = {
    "torch.set_default_dtype(torch.float64)": "torch.get_default_dtype() == torch.float64",
    "torch.set_num_threads(1)": "torch.get_num_threads() == 1",
    "torch.use_deterministic_algorithms(True)": "torch.are_deterministic_algorithms_enabled()",
    "torch.backends.mkldnn.enabled = False": "not torch.backends.mkldnn.enabled",
}


def file_of_workloads(
    *conditions: str, top: str = "", imports: str = "", result: str = "None"
) -> str:
    """Return a file with a workload for each condition, which holds in its set-up."""
    workloads = (
        f"@perfledger.workload\ndef w{number}():\n"
        f"    assert {condition}\n    return lambda: {result}\n"
        for number, condition in enumerate(conditions)
    )
    return f"{IMPORTS}{imports}\n{top}\n{''.join(workloads)}"


def names(module: str, count: int) -> tuple[str, ...]:
    return tuple(f"benchmarks.{module}:w{number}" for number in range(count))


def assert_only_its_own_file_sees(
    write, run_child, switches, *, imports="", result="None", **changes
):
    """Measure a file before the one that sets the switches, it, and one after it."""
    rest = {"imports": imports, "result": result}
    untouched = file_of_workloads(*(f"not ({each})" for each in switches.values()), **rest)
    switched = file_of_workloads(*switches.values(), top="\n".join(switches), **rest)
    root = write(
        {
            "benchmarks/a.py": untouched,
            "benchmarks/b.py": switched,
            "benchmarks/c.py": untouched,
            "benchmarks/shared.py": "",
        }
    )
    texts = tuple(name for module in "abc" for name in names(module, len(switches)))
    answer = run_child(root, Command.MEASURE, workloads=texts, is_forking=True, **changes)

    failed = {each["workload"]: each["detail"] for each in answer.of("failed")}
    assert failed == {}
    assert answer.of("no_fork") == ()
    assert tuple(each["workload"] for each in answer.of("run")) == texts


@pytest.mark.slow
def test_what_a_file_sets_in_python_reaches_its_own_workloads_alone(write, run_child):
    assert_only_its_own_file_sees(write, run_child, SET_IN_PYTHON)


@pytest.mark.slow
def test_what_a_file_sets_in_numpy_reaches_its_own_workloads_alone(write, run_child):
    pytest.importorskip("numpy")

    assert_only_its_own_file_sees(write, run_child, SET_IN_NUMPY, imports="import numpy")


@pytest.mark.slow(ci_only=True)
def test_what_a_file_sets_in_jax_reaches_its_own_workloads_alone(write, run_child):
    pytest.importorskip("jax")

    assert_only_its_own_file_sees(
        write,
        run_child,
        SET_IN_JAX,
        imports="import jax",
        result="jax.numpy.zeros(1)",
        frameworks=(Framework.JAX,),
    )


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_what_a_file_sets_in_torch_reaches_its_own_workloads_alone(write, run_child):
    assert_only_its_own_file_sees(
        write, run_child, SET_IN_TORCH, imports="import torch", frameworks=(Framework.TORCH,)
    )


@pytest.mark.slow
def test_a_file_whose_forks_share_something_is_left_out_and_the_others_run(write, run_child):
    root = write(
        {
            "benchmarks/a.py": file_of_workloads("True"),
            "benchmarks/b.py": file_of_workloads("True", "True", top="LEFT = os.pipe()"),
            "benchmarks/c.py": file_of_workloads("True"),
        }
    )
    texts = (*names("a", 1), *names("b", 2), *names("c", 1))
    answer = run_child(root, Command.MEASURE, workloads=texts, is_forking=True)

    (refusal,) = answer.of("no_fork")
    assert refusal["reason"] == "its imports leave a file or a connection open"
    assert tuple(refusal["workloads"]) == names("b", 2)
    assert [each["workload"] for each in answer.of("run")] == [*names("a", 1), *names("c", 1)]
    assert answer.messages[-1]["event"] == "done"


@pytest.mark.slow
@pytest.mark.torch
def test_a_variable_that_a_framework_reads_first_needs_a_process_without_it(write, run_child):
    """In a process of its own, the file sets it before it imports torch."""
    top = "os.environ['OMP_NUM_THREADS'] = '1'\nimport torch"
    root = write(
        {
            "benchmarks/a.py": file_of_workloads("True", imports="import torch"),
            "benchmarks/b.py": file_of_workloads("torch.get_num_threads() == 1", top=top),
        }
    )
    texts = (*names("a", 1), *names("b", 1))
    changes = {"is_forking": True, "frameworks": (Framework.TORCH,)}
    shared = run_child(root, Command.MEASURE, workloads=texts, **changes)
    alone = run_child(root, Command.MEASURE, workloads=names("b", 1), **changes)

    (refusal,) = shared.of("no_fork")
    assert refusal["reason"] == (
        "its imports set OMP_NUM_THREADS, which torch may have read before"
    )
    assert tuple(refusal["workloads"]) == names("b", 1)
    assert alone.of("failed") == alone.of("no_fork") == ()
    assert len(alone.of("run")) == 1


@pytest.mark.slow
def test_exit_functions_of_libraries_run_when_the_workloads_of_a_file_are_done(write, run_child):
    tops = {
        name: (
            f"register = \"atexit.register(print, 'end of {name}', flush=True)\"\n"
            "exec(compile(register, '/library.py', 'exec'))"
        )
        for name in "ab"
    }
    root = write(
        {
            f"benchmarks/{name}.py": file_of_workloads(
                f"print('{name}', flush=True) is None", top=top
            )
            for name, top in tops.items()
        }
    )
    texts = (*names("a", 1), *names("b", 1))
    answer = run_child(root, Command.MEASURE, workloads=texts, is_forking=True)

    assert answer.stdout.split("\n") == ["a", "end of a", "b", "end of b", ""]


@pytest.mark.slow
def test_a_child_ends_as_a_workload_of_a_file_does(write, run_child):
    root = write(
        {
            "benchmarks/a.py": file_of_workloads("os.kill(os.getpid(), 9)"),
            "benchmarks/b.py": file_of_workloads("True"),
        }
    )
    texts = (*names("a", 1), *names("b", 1))
    answer = run_child(root, Command.MEASURE, workloads=texts, is_forking=True)

    assert answer.status == -9
    assert answer.messages[-1]["workload"] == names("a", 1)[0]


@pytest.mark.slow
def test_memory_of_a_file_is_not_that_of_another(write, run_child):
    root = write(
        {
            "benchmarks/a.py": file_of_workloads("True"),
            "benchmarks/b.py": file_of_workloads(
                "True", top="KEPT = bytearray(b'1' * 200_000_000)"
            ),
            "benchmarks/c.py": file_of_workloads("True"),
        }
    )
    texts = tuple(names(module, 1)[0] for module in "abc")
    answer = run_child(root, Command.MEASURE, workloads=texts, is_forking=True)
    before, keeps, after = (each["samples"]["peak_memory"][0] for each in answer.of("run"))

    assert keeps > before + 190_000_000
    assert after < 1.1 * before


@pytest.mark.slow(ci_only=True)
@pytest.mark.torch
def test_profiles_of_several_files_have_files_of_their_own(write, run_child, tmp_path):
    text = file_of_workloads("True", "True", imports="import torch")
    root = write({"benchmarks/a.py": text, "benchmarks/b.py": text})
    texts = (*names("a", 2), *names("b", 2))
    answer = run_child(
        root,
        Command.PROFILE,
        workloads=texts,
        is_forking=True,
        frameworks=(Framework.TORCH,),
        trace_folder=str(tmp_path / "traces"),
    )

    profile = answer.of("profiled")
    assert [each["workload"] for each in profile] == [*texts]
    assert len({each["trace"] for each in profile}) == 4


OF_OTHER_TOOLS = {
    BenchmarkSuite.PYTEST: (
        "tests/test_{}.py",
        "def test_it(benchmark):\n    {}\n    benchmark(list)",
    ),
    BenchmarkSuite.ASV: ("benchmarks/{}.py", "def time_it():\n    {}"),
}


@pytest.mark.slow
@pytest.mark.parametrize("suite", OF_OTHER_TOOLS)
def test_what_a_file_sets_reaches_no_benchmark_of_another_in_other_tools(write, run_child, suite):
    file, benchmark = OF_OTHER_TOOLS[suite]
    contents = {
        "a": "import decimal\n" + benchmark.format("assert decimal.getcontext().prec == 28"),
        "b": "import decimal\ndecimal.getcontext().prec = 3\n"
        + benchmark.format("assert decimal.getcontext().prec == 3"),
        "c": "import decimal\n" + benchmark.format("assert decimal.getcontext().prec == 28"),
    }
    root = write({file.format(name): text + "\n" for name, text in contents.items()})
    function = "time_it" if suite is BenchmarkSuite.ASV else "test_it"
    modules = [file.format(name).removesuffix(".py").replace("/", ".") for name in contents]
    texts = tuple(f"{module}:{function}" for module in modules)
    answer = run_child(
        root,
        Command.MEASURE,
        suite=suite,
        paths=(file.partition("/")[0],),
        workloads=texts,
        is_forking=True,
    )

    assert answer.of("failed") == ()
    assert tuple(each["workload"] for each in answer.of("run")) == texts


@pytest.mark.slow
def test_a_function_of_a_package_is_measured_where_only_its_file_is_imported(write, run_child):
    """Its id names the package's module, and the request the file that registers it."""
    steps = "import decimal\ndef train():\n    prec = decimal.getcontext().prec\n"
    root = write(
        {
            "library/steps.py": steps + "    assert prec == 28, prec\n    return lambda: None\n",
            "benchmarks/a.py": file_of_workloads("True"),
            "benchmarks/b.py": "import perfledger\nfrom library.steps import train\n"
            "perfledger.workload(train)\n",
            "benchmarks/c.py": "import decimal\ndecimal.getcontext().prec = 3\n",
        }
    )
    requests = ("library.steps:train", *names("a", 1))
    changes = {"workloads": requests, "is_forking": True}
    known_child = run_child(
        root,
        Command.MEASURE,
        files={requests[0]: "benchmarks.b", requests[1]: "benchmarks.a"},
        **changes,
    )
    unknown = run_child(root, Command.MEASURE, **changes)

    assert known_child.of("failed") == ()
    assert tuple(each["workload"] for each in known_child.of("run")) == requests
    assert [each["workload"] for each in unknown.of("failed")] == [requests[0]]


@pytest.mark.slow
def test_a_workload_that_its_file_no_longer_registers_is_missing(write, run_child):
    root = write({"benchmarks/a.py": "", "benchmarks/b.py": file_of_workloads("True")})
    answer = run_child(
        root,
        Command.MEASURE,
        workloads=names("b", 1),
        files={names("b", 1)[0]: "benchmarks.a"},
        is_forking=True,
    )

    (failure,) = answer.of("failed")
    assert failure["reason"] == "missing"
