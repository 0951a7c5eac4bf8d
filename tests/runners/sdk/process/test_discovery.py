import sys

import pytest

from perfledger.process.discovery import (
    discover,
    import_roots,
    module_name,
    name_clash,
    source_files,
)
from perfledger.records import FailureReason

WORKLOAD = """
import perfledger
@perfledger.workload()
def work():
    return lambda: None
"""


@pytest.fixture(autouse=True)
def _own_process(clean_process):
    """What a test imports is forgotten after it."""


def look(root, *, paths=("benchmarks",), import_paths=(".", "src"), modules=frozenset()):
    roots = import_roots(root, import_paths)
    sys.path[:0] = [str(folder) for folder in roots]
    return discover(root, paths=paths, roots=roots, modules=modules)


def keys(imported_workloads):
    return [workload.key for workload in imported_workloads.workloads]


def test_files_of_a_folder_without_init_are_named_below_it(write):
    root = write({"benchmarks/gpt_a.py": WORKLOAD, "benchmarks/deep/er.py": WORKLOAD})

    assert keys(look(root)) == ["benchmarks.gpt_a:work", "benchmarks.deep.er:work"]


def test_a_file_directly_in_an_import_path_is_its_stem(write):
    root = write({"bench_b.py": WORKLOAD})

    assert keys(look(root, paths=("bench_b.py",))) == ["bench_b:work"]


def test_a_package_is_imported_by_its_init(write):
    root = write({"benchmarks/__init__.py": WORKLOAD, "benchmarks/more.py": WORKLOAD})

    assert keys(look(root)) == ["benchmarks:work", "benchmarks.more:work"]


def test_a_file_below_src_is_named_below_src(write):
    root = write({"src/mine/bench/__init__.py": "", "src/mine/bench/a.py": WORKLOAD})

    assert keys(look(root, paths=("src/mine/bench",))) == ["mine.bench.a:work"]


def test_a_workload_may_import_the_code_below_src(write):
    root = write(
        {
            "src/mylib_c/__init__.py": "ANSWER = 42\n",
            "benchmarks/c.py": "import mylib_c\nassert mylib_c.ANSWER == 42\n" + WORKLOAD,
        }
    )

    assert keys(look(root)) == ["benchmarks.c:work"]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        pytest.param("raise ValueError('boom')", "ValueError: boom (benchmarks/bad.py:1)", id="x"),
        pytest.param("import sys; sys.exit(3)", "SystemExit: 3 (benchmarks/bad.py:1)", id="exits"),
        pytest.param("raise KeyboardInterrupt", "KeyboardInterrupt (benchmarks/bad.py:1)", id="^C"),
        pytest.param("import no_such", "No module named 'no_such'", id="missing"),
        pytest.param("def (", "SyntaxError: invalid syntax", id="no Python"),
    ],
)
def test_a_file_that_cannot_be_imported_is_broken_and_the_others_are_found(write, text, detail):
    root = write({"benchmarks/bad.py": text, "benchmarks/good.py": WORKLOAD})

    imported_workloads = look(root)

    assert keys(imported_workloads) == ["benchmarks.good:work"]
    (broken,) = imported_workloads.broken
    assert (broken.path, broken.module, broken.reason) == (
        "benchmarks/bad.py",
        "benchmarks.bad",
        FailureReason.RAISED,
    )
    assert detail in broken.detail


def test_what_a_broken_file_had_registered_does_not_count(write):
    root = write({"benchmarks/half.py": WORKLOAD + "\nraise ValueError\n"})

    assert keys(look(root)) == []


def test_what_a_broken_file_had_registered_of_another_module_does_not_count(write):
    half = "import perfledger\nfrom library import work\nperfledger.workload(work)\n1 / 0\n"
    root = write({"benchmarks/half.py": half, "library.py": "def work():\n    return None\n"})

    assert keys(look(root)) == []


def test_what_a_broken_file_had_imported_still_counts(write):
    broken = "from benchmarks import whole\nraise ValueError\n"
    root = write({"benchmarks/broken.py": broken, "benchmarks/whole.py": WORKLOAD})

    assert keys(look(root)) == ["benchmarks.whole:work"]


def test_two_workloads_of_one_name_break_their_file_and_both_places_are_named(write):
    root = write({"benchmarks/twice.py": WORKLOAD + WORKLOAD})

    (broken,) = look(root).broken

    assert "at benchmarks/twice.py:8: it is registered at benchmarks/twice.py:3" in broken.detail


def test_hidden_and_cached_files_and_virtual_environments_are_left_out(write):
    broken = "raise ValueError"
    root = write(
        {
            "benchmarks/.hidden.py": broken,
            "benchmarks/.cache/a.py": broken,
            "benchmarks/__pycache__/a.py": broken,
            "benchmarks/env/pyvenv.cfg": "",
            "benchmarks/env/lib/a.py": broken,
            "benchmarks/__main__.py": broken,
            "benchmarks/notes.txt": broken,
            "benchmarks/d.py": WORKLOAD,
        }
    )

    assert list(source_files(root / "benchmarks")) == [root / "benchmarks" / "d.py"]
    assert look(root).broken == ()


@pytest.mark.parametrize("path", ["nowhere", "../elsewhere"])
def test_a_path_that_is_not_in_the_checkout_is_an_error_that_says_what_to_do(write, path):
    root = write({"benchmarks/e.py": WORKLOAD})

    imported_workloads = look(root, paths=(path, "benchmarks"))

    assert keys(imported_workloads) == ["benchmarks.e:work"]
    (broken,) = imported_workloads.broken
    assert (broken.path, broken.reason) == (path, FailureReason.MISSING)
    assert "create it, or set `paths` in perfledger.toml" in broken.detail


@pytest.mark.parametrize("path", ["/", "..", "link"])
def test_a_path_that_leads_out_of_the_checkout_is_the_wrong_code(write, path):
    root = write({"benchmarks/e.py": WORKLOAD})
    (root / "link").symlink_to("/")

    imported_workloads = look(root, paths=(path, "benchmarks"))

    assert keys(imported_workloads) == ["benchmarks.e:work"]
    (broken,) = imported_workloads.broken
    assert (broken.path, broken.reason) == (path, FailureReason.WRONG_CODE)
    assert "points outside the checkout, where base and head would run the same" in broken.detail


@pytest.mark.parametrize("path", ["perfledger/__init__.py", "src/perfledger.py"])
def test_a_package_of_the_users_named_like_ours_is_an_error(write, path):
    root = write({path: "", "benchmarks/f.py": WORKLOAD})

    imported_workloads = look(root)

    assert keys(imported_workloads) == []
    (broken,) = imported_workloads.broken
    assert (broken.path, broken.reason) == (path, FailureReason.WRONG_CODE)
    assert "your repository has a package named perfledger" in broken.detail
    assert "rename yours" in broken.detail


def test_a_folder_named_like_ours_that_is_no_package_is_fine(write):
    root = write({"perfledger/notes.md": "", "benchmarks/g.py": WORKLOAD})

    assert name_clash(root, [root]) is None
    assert keys(look(root)) == ["benchmarks.g:work"]


def test_a_file_outside_of_the_import_paths_is_told_to_join_them(write):
    root = write({"src/x.py": "", "benchmarks/h.py": WORKLOAD})

    (broken,) = look(root, import_paths=("src",)).broken

    assert "benchmarks/h.py has no module name below import_paths (src)" in broken.detail


def test_import_paths_that_do_not_exist_are_said_so(write):
    root = write({"benchmarks/i.py": WORKLOAD})

    (broken,) = look(root, import_paths=("lib",)).broken

    assert "(none exists): add its folder there" in broken.detail


def test_a_dot_in_a_files_name_cannot_be_imported(write):
    root = write({"benchmarks/gpt.v2.py": WORKLOAD, "__init__.py": ""})

    assert module_name(root / "benchmarks" / "gpt.v2.py", [root]) is None
    assert module_name(root / "__init__.py", [root]) is None


def test_only_the_files_of_the_wanted_modules_are_imported(write):
    root = write({"benchmarks/j.py": WORKLOAD, "benchmarks/k.py": "raise ValueError"})

    imported_workloads = look(root, modules=frozenset({"benchmarks.j"}))

    assert (keys(imported_workloads), imported_workloads.broken) == (["benchmarks.j:work"], ())


@pytest.mark.parametrize("shadow", ["", "raise ValueError('theirs')"])
def test_an_installed_package_that_hides_the_users_folder_is_named(write, tmp_path, shadow):
    write({"site/bench_l/__init__.py": shadow, "site/bench_l/a.py": ""})
    root = write({"checkout/bench_l/a.py": WORKLOAD}) / "checkout"
    sys.path.insert(0, str(tmp_path / "site"))

    (broken,) = look(root, paths=("bench_l",)).broken

    assert broken.path == "bench_l/a.py"
    if not shadow:
        assert "comes first: give yours an __init__.py" in broken.detail


def test_a_package_of_the_checkout_that_hides_the_folder_around_it_is_named(write):
    write({"bench_m/bench_m/__init__.py": "", "bench_m/workloads/a.py": WORKLOAD})
    root = write({"bench_m/__main__.py": ""})
    sys.path.insert(0, str(root / "bench_m"))

    (broken,) = look(root, paths=("bench_m/workloads",)).broken

    assert "__init__.py comes first: give yours an __init__.py or another name" in broken.detail


def test_a_module_that_takes_another_ones_place_is_not_taken_for_it(write):
    impostor = "import sys, types\nsys.modules[__name__] = types.ModuleType(__name__)\n"
    root = write({"benchmarks/m.py": impostor})

    (broken,) = look(root).broken

    assert broken.detail == "module 'benchmarks.m' was imported from None"


def test_import_paths_outside_of_the_checkout_do_not_count(write, tmp_path):
    write({"tree/src/a.py": "", "other/b.py": ""})

    roots = import_roots(tmp_path / "tree", ("../other", "src", "src/../src", "missing"))

    assert roots == (tmp_path / "tree/src",)


def test_a_file_that_goes_elsewhere_at_import_does_not_take_the_next_with_it(write, monkeypatch):
    look_here = "from pathlib import Path\nassert Path('benchmarks').is_dir()\n" + WORKLOAD
    root = write({"benchmarks/a.py": "import os\nos.chdir('/')", "benchmarks/b.py": look_here})
    monkeypatch.chdir(root)

    assert look(root).broken == ()


def test_a_file_may_import_those_beside_it_by_their_names_alone(write):
    root = write(
        {
            "benchmarks/a_steps.py": f"import data\nfrom tools import SIZE\n{WORKLOAD}",
            "benchmarks/data.py": "NUMBERS = [1, 2]\n",
            "benchmarks/tools/__init__.py": "SIZE = 3\n",
        }
    )

    imported_workloads = look(root)

    assert keys(imported_workloads) == ["benchmarks.a_steps:work"]
    assert imported_workloads.broken == ()


def test_a_workload_beside_the_file_that_imports_it_is_registered_once(write):
    root = write(
        {
            "benchmarks/a_user.py": "import z_steps\nimport benchmarks.z_steps as same\n"
            "assert z_steps is same and same.__spec__.name == 'benchmarks.z_steps'\n",
            "benchmarks/z_steps.py": WORKLOAD,
        }
    )

    imported_workloads = look(root)

    assert (keys(imported_workloads), imported_workloads.broken) == (
        ["benchmarks.z_steps:work"],
        (),
    )


def test_what_is_installed_comes_before_a_file_of_its_name(write):
    root = write(
        {
            "benchmarks/a_user.py": "import json\nassert json.dumps(1) == '1'\n",
            "benchmarks/json.py": "",
        }
    )

    assert look(root).broken == ()


def test_what_no_file_is_named_like_is_still_missing(write):
    (broken,) = look(write({"benchmarks/a_user.py": "import nothing_like_this\n"})).broken

    assert "No module named 'nothing_like_this'" in broken.detail
