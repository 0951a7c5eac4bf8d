import sys
from types import ModuleType

import pytest

from perfledger.process.module_origin import OWN_FOLDER, misplaced_module


@pytest.fixture
def repository(tmp_path):
    return tmp_path / "repository"


@pytest.fixture
def root(tmp_path):
    return tmp_path / "worktree"


def loaded(*files):
    modules = {"builtin": ModuleType("builtin")}
    for number, file in enumerate(files):
        module = ModuleType(f"m{number}")
        module.__file__ = str(file)
        modules[module.__name__] = module
    return modules


def test_code_of_the_measured_revision_is_right(root, repository):
    assert misplaced_module(loaded(root / "src/a.py"), root=root, repository=repository) == ""


def test_code_of_the_users_own_checkout_is_wrong_and_the_way_out_is_said(root, repository):
    modules = loaded(root / "bench.py", repository / "src/mylib/__init__.py")

    said_misplaced_module = misplaced_module(modules, root=root, repository=repository)

    assert f"module 'm1' was imported from {repository / 'src/mylib'}" in said_misplaced_module
    assert "editable install" in said_misplaced_module
    assert "import_paths" in said_misplaced_module


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_installed_packages_are_right_even_inside_the_checkout(root, repository, folder):
    modules = loaded(repository / "env/lib" / folder / "numpy/__init__.py")

    assert misplaced_module(modules, root=root, repository=repository) == ""


def test_the_interpreters_own_files_are_right_even_inside_the_checkout(root, repository):
    modules = loaded(repository / "python/lib/os.py")
    prefixes = (str(repository / "python"),)

    assert misplaced_module(modules, root=root, repository=repository, prefixes=prefixes) == ""


@pytest.mark.parametrize("prefix", ["", ".."])
def test_an_interpreter_around_the_checkout_excuses_nothing(root, repository, prefix):
    prefixes = (str(repository / prefix),)
    modules = loaded(repository / "a.py")

    assert misplaced_module(modules, root=root, repository=repository, prefixes=prefixes)


def test_a_worktree_inside_the_checkout_is_right_and_its_neighbour_is_wrong(repository):
    root, other = repository / "trees/head", repository / "trees/base"

    assert misplaced_module(loaded(root / "a.py"), root=root, repository=repository) == ""
    assert "'m0'" in misplaced_module(loaded(other / "a.py"), root=root, repository=repository)


def test_measuring_the_checkout_itself_is_right(repository):
    assert (
        misplaced_module(loaded(repository / "a.py"), root=repository, repository=repository) == ""
    )


def test_links_are_followed(root, repository, tmp_path):
    (repository / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to(repository / "src")

    said_misplaced_module = misplaced_module(
        loaded(tmp_path / "link/a.py"), root=root, repository=repository
    )

    assert str(repository / "src") in said_misplaced_module


def test_perfledger_may_lie_anywhere(root):
    assert misplaced_module(sys.modules, root=root, repository=OWN_FOLDER) == ""


def test_a_link_of_the_revision_to_the_users_own_file_is_wrong(root, repository):
    for folder in (root, repository):
        folder.mkdir()
    (repository / "a.py").touch()
    (root / "a.py").symlink_to(repository / "a.py")
    (root / "c.py").touch()
    (root / "b.py").symlink_to("c.py")

    assert f"from {repository}, " in misplaced_module(
        loaded(root / "a.py"), root=root, repository=repository
    )
    assert misplaced_module(loaded(root / "b.py"), root=root, repository=repository) == ""


def test_objects_among_the_modules_that_fail_when_they_are_looked_at_say_nothing(root, repository):
    class Lazy:
        def __getattr__(self, name):
            raise RuntimeError(name)

    modules = {**loaded(repository / "a.py"), "lazy": Lazy(), "blocked": None, 7: Lazy()}

    assert "'m0'" in misplaced_module(modules, root=root, repository=repository)
