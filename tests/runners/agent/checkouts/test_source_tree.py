import pytest

from perfledger.package_code import SourcePackage
from perfledger_runners.checkouts.dependency_files import NOTHING_DECLARED
from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.source_tree import (
    changed_dependencies,
    changed_paths,
    first_few,
    is_below,
    is_compiled_source,
    is_mentioned,
    read_source_tree,
    refuse_new_environment,
)


@pytest.fixture
def tree_of(theirs):
    """Return a function that commits files and reads the commit's tree."""

    def read(files, import_paths=(".", "src")):
        for path, text in files.items():
            theirs.write(path, text)
        return read_source_tree(theirs.open(), theirs.commit("files"), import_paths=import_paths)

    return read


def packages(tree):
    return {each.name: (each.root, each.folder) for each in tree.packages}


@pytest.mark.parametrize(
    ("folder", "root"),
    [
        ("mypkg", "."),
        ("src/mypkg", "src"),
        ("python/mypkg", "python"),
        ("backend/mypkg", "backend"),
        ("packages/one/src/mypkg", "packages/one/src"),
    ],
)
def test_a_package_of_any_layout_is_found_by_its_name(tree_of, folder, root):
    files = {f"{folder}/__init__.py": "", f"{folder}/inner/__init__.py": ""}
    projects = {"backend/setup.py": "", "packages/one/pyproject.toml": ""}

    found_packages = packages(tree_of(files | projects))

    assert found_packages["mypkg"] == (root, folder)
    assert "inner" not in found_packages


def test_a_package_in_a_namespace_has_its_full_name(tree_of):
    tree = tree_of({"src/org/mine/__init__.py": ""})

    assert packages(tree)["org.mine"] == ("src", "src/org/mine")


def test_a_package_that_is_installed_under_another_name_has_that_name(tree_of):
    setup = "setup(package_dir={'mypkg': 'impl'})"

    tree = tree_of({"impl/__init__.py": "", "setup.py": setup})

    assert packages(tree)["mypkg"] == (".", "impl")
    assert SourcePackage("mypkg", ".") in tree.tracked()


def test_a_package_that_nothing_declares_is_a_guess_that_comes_last(tree_of):
    tree = tree_of({"code/mypkg/__init__.py": "", "third_party/torch/__init__.py": ""})

    assert packages(tree) == {
        "code.mypkg": (".", "code/mypkg"),
        "mypkg": ("", "code/mypkg"),
    }
    assert tree.tracked() == (SourcePackage("code.mypkg", "."), SourcePackage("mypkg", ""))


def test_a_declared_package_comes_before_a_guess_of_the_same_name(tree_of):
    tree = tree_of({"code/mypkg/__init__.py": "", "src/mypkg/__init__.py": ""})

    assert SourcePackage("mypkg", "src") in tree.tracked()


def test_a_single_module_beside_packages_is_one_too(tree_of):
    tree = tree_of({"src/single.py": "A = 1", "scripts/tool.py": ""})

    assert packages(tree) == {"single": ("src", "src/single.py")}


def test_our_own_package_is_never_tracked(tree_of):
    tree = tree_of({"src/perfledger/__init__.py": "", "src/perfledger_x/__init__.py": ""})

    assert tree.tracked() == (SourcePackage("perfledger_x", "src"),)


def test_extension_modules_are_named_by_sources_and_setup_files(tree_of):
    tree = tree_of(
        {
            "setup.py": "setup(ext_modules=[CUDAExtension(name='fast_cuda', sources=[])])",
            "csrc/a.cu": "PYBIND11_MODULE(fast_cpu, m) {}\nPYBIND11_MODULE( TORCH_NAME, m) {}",
            "csrc/b.c": "PyMODINIT_FUNC PyInit_plain(void)",
        }
    )

    assert tree.extensions == {"fast_cuda", "fast_cpu", "TORCH_NAME", "plain"}
    assert SourcePackage("plain") in tree.tracked()


def test_without_compiled_sources_there_are_no_extensions(tree_of):
    assert tree_of({"notes.txt": "PyInit_plain"}).extensions == frozenset()


def test_changed_added_and_removed_files_are_changed_paths(tree_of, theirs):
    base = tree_of({"a.py": "1", "b.py": "1", "c.py": "1"})
    (theirs.root / "c.py").unlink()
    head = tree_of({"a.py": "1", "b.py": "2", "d.py": "1"})

    assert changed_paths(base, head) == ("b.py", "c.py", "d.py")


@pytest.mark.parametrize(
    ("path", "is_source"),
    [
        ("csrc/attention.cu", True),
        ("mypkg/fast.pyx", True),
        ("CMakeLists.txt", True),
        ("rust/Cargo.lock", True),
        ("mypkg/solver.F90", True),
        ("mypkg/loops.c.src", True),
        ("csrc/tile.inl", True),
        ("meson.options", True),
        ("mypkg/settings.in", False),
        ("mypkg/a.py", False),
        ("tests/cpp/a.cpp", False),
        ("docs/example.c", False),
    ],
)
def test_compiled_sources_are_those_of_what_is_measured(path, is_source):
    assert is_compiled_source(path) is is_source


def test_changed_dependencies_are_locks_requirements_and_what_a_project_requires(tree_of):
    project = "[project]\nname = 'a'\nversion = '{}'\ndependencies = ['torch{}']\n"
    files = {"uv.lock": "1", "requirements-gpu.txt": "1", "tests/requirements.txt": "1"}
    base = tree_of(files | {"pyproject.toml": project.format(1, "")})
    same = tree_of({"pyproject.toml": project.format(2, ""), "tests/requirements.txt": "2"})
    head = tree_of(
        {
            "uv.lock": "2",
            "requirements-gpu.txt": "2",
            "pyproject.toml": project.format(2, ">=2.13"),
        }
    )

    assert changed_dependencies(base, same) == ()
    assert changed_dependencies(base, head) == (
        *("pyproject.toml", "requirements-gpu.txt", "uv.lock"),
    )


def test_requirements_count_as_written_only_where_nobody_compiled_them(tree_of):
    base, head = (tree_of({"requirements.in": f"torch=={each}"}) for each in "12")
    compiled = tree_of({"requirements.in": "torch", "requirements.txt": "torch==1"})

    assert changed_dependencies(base, head) == ("requirements.in",)
    assert list(compiled.dependencies) == ["requirements.txt"]


def test_archives_that_may_be_installed_are_declared_by_their_content(tree_of):
    files = {"requirements.txt": "./libs/a.whl\n", "libs/b.whl": "1", "tests/a.whl": "1"}
    base = tree_of({**files, "libs/a.whl": "1"})
    head = tree_of({"libs/a.whl": "2", "libs/b.whl": "2", "tests/a.whl": "2"})

    assert changed_dependencies(base, head) == ("libs/a.whl", "libs/b.whl")
    assert head.dependencies["libs/a.whl"].archive == "./libs/a.whl"


def test_a_broken_project_file_requires_nothing(tree_of):
    assert tree_of({"pyproject.toml": "= ="}).dependencies == {"pyproject.toml": NOTHING_DECLARED}


@pytest.mark.parametrize(
    ("word", "is_in"), [("fast", True), ("libfast", False), ("fas", False), ("-e", False)]
)
def test_a_word_is_mentioned_if_a_text_file_has_it(theirs, word, is_in):
    (theirs.root / "build.py").write_text("compile('fast.so')\n")
    theirs.git("add", "--all")

    assert is_mentioned(theirs.root, word) is is_in


def test_a_folder_without_git_mentions_nothing(tmp_path):
    assert not is_mentioned(tmp_path, "fast")


def test_a_path_is_below_its_folders_and_not_below_others_of_the_same_beginning():
    assert is_below("src/mypkg/a.py", "src/mypkg")
    assert is_below("src/mypkg", "src/mypkg")
    assert is_below("anything", ".")
    assert not is_below("src/mypkg2/a.py", "src/mypkg")


def test_modules_in_cython_outside_packages_are_extensions(tree_of):
    tree = tree_of({"fast.pyx": "", "mypkg/__init__.py": "", "mypkg/inner.pyx": ""})

    assert tree.extensions == {"fast"}


def test_packages_in_submodules_are_guesses_with_their_files(tree_of, theirs, users_repository):
    outer = users_repository(theirs.root.parent / "outer")
    for path in ("python/lib/__init__.py", "tests/check/__init__.py"):
        outer.write(path, "A = 1")
    outer.commit("outer")
    theirs.commit("first")
    local = ("-c", "protocol.file.allow=always")
    theirs.git(*local, "submodule", "add", "--quiet", str(outer.root), "third_party/outer")

    tree = tree_of({"a.py": ""})

    assert packages(tree)["lib"] == ("", "third_party/outer/python/lib")
    assert "check" not in packages(tree)
    assert SourcePackage("lib", "") in tree.tracked()
    assert "third_party/outer/python/lib/__init__.py" in tree.hashes
    assert tree.missing_submodules == frozenset()


def test_a_file_belongs_to_the_innermost_project(tree_of):
    tree = tree_of({"setup.py": "", "sub/pyproject.toml": "[project]\nname = 'a'"})

    assert [tree.project_of(path) for path in ("sub/a/b.c", "other/b.c")] == ["sub", "."]
    assert tree.projects["sub"].is_installable


def test_a_committed_environment_is_no_part_of_the_project(tree_of):
    tree = tree_of(
        {
            ".venv/pyvenv.cfg": "",
            ".venv/lib/python3.12/site-packages/other/__init__.py": "",
            ".venv/lib/python3.12/site-packages/other/pyproject.toml": "[project]\nname = 'other'",
            ".venv/lib/python3.12/site-packages/other/fast.pyx": "",
            "mypkg/__init__.py": "",
            "tests/environment/pyvenv.cfg": "",
        }
    )

    assert packages(tree) == {"mypkg": (".", "mypkg")}
    assert tree.hashes.keys() == {"mypkg/__init__.py", "tests/environment/pyvenv.cfg"}
    assert (tree.projects.keys(), tree.extensions, tree.dependencies) == ({"."}, frozenset(), {})
    assert tree.environments.keys() == {".venv"}


def test_head_may_not_add_or_change_a_committed_environment(tree_of):
    before = tree_of({"a.py": "A"})
    added = tree_of({".venv/pyvenv.cfg": "version = 3.12"})
    changed = tree_of({".venv/lib/python3.12/site-packages/other.py": "A"})

    refuse_new_environment(added, added)
    refuse_new_environment(added, before)
    for base, head in ((before, added), (added, changed)):
        with pytest.raises(RepositoryError, match=r"head commits \.venv, .*git rm -r --cached"):
            refuse_new_environment(base, head)


@pytest.mark.parametrize(
    ("count", "text"), [(1, "f0"), (3, "f0, f1, f2"), (5, "f0, f1, f2 and 2 more")]
)
def test_a_sentence_names_three_files_at_most(count, text):
    assert first_few([f"f{number}" for number in range(count)]) == text
