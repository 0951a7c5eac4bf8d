import pytest

from perfledger_runners.checkouts.version_files import MAX_BYTES, supply_version_files

VERSION = "version = '1.2.dev3'\n"
PATH = "src/mine/_version.py"
SCM = f'[tool.setuptools_scm]\nwrite_to = "{PATH}"\n'


@pytest.fixture
def folders(tmp_path):
    """Return a clone in which a build wrote the version, and a checkout of it."""
    for name in ("clone", "checkout"):
        (tmp_path / name / "src" / "mine").mkdir(parents=True)
    (tmp_path / "clone" / PATH).write_text(VERSION)
    return tmp_path / "clone", tmp_path / "checkout"


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

    (note,) = supply_version_files(clone, checkout)

    assert note.startswith(f"{PATH} is written by a build")
    assert (checkout / PATH).read_text() == VERSION


def test_a_file_of_the_commit_stays(folders):
    clone, checkout = folders
    (checkout / "pyproject.toml").write_text(SCM)
    (checkout / PATH).write_text("version = 'its own'\n")

    assert supply_version_files(clone, checkout) == ()
    assert (checkout / PATH).read_text() == "version = 'its own'\n"


@pytest.mark.parametrize("text", ["", "= =", "[tool]\nsetuptools_scm = 3\n", "[tool.pdm]\n"])
def test_a_project_that_names_no_version_file_gets_none(folders, text):
    clone, checkout = folders
    (checkout / "pyproject.toml").write_text(text)

    assert supply_version_files(clone, checkout) == ()


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

    assert supply_version_files(clone, checkout) == ()


def test_a_link_out_of_the_clone_is_not_followed(folders):
    clone, checkout = folders
    (checkout / "pyproject.toml").write_text(SCM)
    (clone.parent / "theirs.py").write_text(VERSION)
    (clone / PATH).unlink()
    (clone / PATH).symlink_to(clone.parent / "theirs.py")

    assert supply_version_files(clone, checkout) == ()
