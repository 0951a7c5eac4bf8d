import pytest

from perfledger_runners.checkouts.version_files import MAX_BYTES, supply_version_files

VERSION = "version = '1.2.dev3'\n"
PATH = "src/mine/_version.py"
SCM = f'[tool.setuptools_scm]\nwrite_to = "{PATH}"\n'


@pytest.fixture
def folders(theirs, tmp_path):
    """Return a clone in which a build wrote the version, and a checkout of it."""
    theirs.commit("one")
    for root in (theirs.root, tmp_path / "checkout"):
        (root / "src" / "mine").mkdir(parents=True)
    (theirs.root / PATH).write_text(VERSION)
    return theirs.root, tmp_path / "checkout"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", SCM),
        ("pyproject.toml", f'[tool.setuptools_scm]\nversion_file = "{PATH}"\n'),
        ("pyproject.toml", f'[tool.hatch.build.hooks.vcs]\nversion-file = "{PATH}"\n'),
        ("pyproject.toml", f'[tool.pdm.version]\nsource = "scm"\nwrite_to = "{PATH}"\n'),
        ("setup.py", f"setup(use_scm_version={{'write_to': '{PATH}'}})"),
    ],
)
def test_a_checkout_gets_the_version_that_a_build_wrote(folders, name, text):
    clone, checkout = folders
    (checkout / name).write_text(text)

    (note,) = supply_version_files(clone, checkout, commits=())

    assert note.startswith(f"{PATH} is written by a build")
    assert (checkout / PATH).read_text() == VERSION


def test_a_file_of_the_commit_stays(folders):
    clone, checkout = folders
    (checkout / "pyproject.toml").write_text(SCM)
    (checkout / PATH).write_text("version = 'its own'\n")

    assert supply_version_files(clone, checkout, commits=()) == ()
    assert (checkout / PATH).read_text() == "version = 'its own'\n"


@pytest.mark.parametrize("text", ["", "= =", "[tool]\nsetuptools_scm = 3\n", "[tool.pdm]\n"])
def test_a_project_that_names_no_version_file_gets_none(folders, text):
    clone, checkout = folders
    (checkout / "pyproject.toml").write_text(text)

    assert supply_version_files(clone, checkout, commits=()) == ()


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("src/mine/secrets.txt", VERSION),
        ("src/mine/other.py", "password = 1\n"),
        ("../outside.py", VERSION),
        ("src/mine/large.py", VERSION + "#" * MAX_BYTES),
        ("src/mine/absent.py", None),
        ("src/theirs/_version.py", VERSION),
    ],
)
def test_nothing_else_of_the_clone_is_copied(folders, path, content):
    clone, checkout = folders
    (checkout / "pyproject.toml").write_text(f'[tool.setuptools_scm]\nwrite_to = "{path}"\n')
    if content is not None:
        (clone / path).parent.mkdir(exist_ok=True)
        (clone / path).write_text(content)

    assert supply_version_files(clone, checkout, commits=()) == ()


def test_a_link_out_of_the_clone_is_not_followed(folders):
    clone, checkout = folders
    (checkout / "pyproject.toml").write_text(SCM)
    (clone.parent / "theirs.py").write_text(VERSION)
    (clone / PATH).unlink()
    (clone / PATH).symlink_to(clone.parent / "theirs.py")

    assert supply_version_files(clone, checkout, commits=()) == ()


@pytest.mark.parametrize(
    "name", ["a\\u0000.py", "a" * 400 + ".py", "loop.py", "../clone/a.py", "loop.py/a.py"]
)
def test_a_path_that_the_system_does_not_take_names_nothing(folders, name):
    clone, checkout = folders
    (checkout / "pyproject.toml").write_text(f'[tool.setuptools_scm]\nversion_file = "{name}"\n')
    for folder in folders:
        (folder / "loop.py").symlink_to("loop.py")

    assert supply_version_files(clone, checkout, commits=()) == ()


def test_a_file_that_only_one_side_has_is_not_copied_to_the_other(theirs, folders):
    clone, checkout = folders
    (checkout / "pyproject.toml").write_text(SCM)
    theirs.git("add", PATH)

    assert supply_version_files(clone, checkout, commits=()) == ()

    theirs.commit("head has it")
    base, head = (theirs.git("rev-parse", each) for each in ("HEAD~1", "HEAD"))
    theirs.git("reset", "-q", base)

    assert supply_version_files(clone, checkout, commits=(base, head)) == ()
    assert not (checkout / PATH).exists()
    assert supply_version_files(clone, checkout, commits=(base,)) != ()


def test_a_tracked_file_is_not_copied_under_the_name_of_a_link_either(theirs, folders):
    clone, checkout = folders
    theirs.git("add", PATH)
    theirs.commit("head has it")
    for folder in folders:
        (folder / "link").symlink_to("src/mine")
    (checkout / "pyproject.toml").write_text(SCM.replace("src/mine", "link"))

    assert supply_version_files(clone, checkout, commits=()) == ()
