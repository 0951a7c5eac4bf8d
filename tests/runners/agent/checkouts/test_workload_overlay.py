"""Today's workloads over old revisions, with what hostile revisions and folders try."""

import errno
import os
from pathlib import Path

import pytest

from perfledger_runners.checkouts.git import RepositoryError
from perfledger_runners.checkouts.workload_overlay import find_workload_source, overlaid_changes

PATHS = ("bench",)


@pytest.fixture
def history(theirs):
    """Two old commits without the workload `new`, and a newer one that has it."""
    theirs.write("bench/old.py", "OLD")
    theirs.write("code.py", "1")
    theirs.commit("one")
    theirs.write("code.py", "2")
    theirs.commit("two")
    (theirs.root / "bench" / "old.py").unlink()
    theirs.write("bench/deep/new.py", "NEW")
    theirs.write("code.py", "3")
    theirs.commit("three")
    return theirs


def overlay_of(history, name, paths=PATHS):
    return find_workload_source(history.open(), name, folder=history.root).overlay(paths)


def files_at(history, sha):
    names = history.git("ls-tree", "-r", "--name-only", sha).splitlines()
    return {name: history.git("show", f"{sha}:{name}") for name in names}


def test_workloads_replace_the_old_ones_and_nothing_else(history):
    before = history.state()
    old = history.git("rev-parse", "HEAD~2")

    sha = overlay_of(history, "HEAD").lay_over(history.open(), old)

    assert files_at(history, sha) == {"bench/deep/new.py": "NEW", "code.py": "1"}
    assert history.state() == before


def test_the_same_files_give_the_same_commit_and_equal_ones_the_commit_itself(history):
    old, new = history.git("rev-parse", "HEAD~1"), history.git("rev-parse", "HEAD")
    overlay = overlay_of(history, "HEAD")

    assert overlay.lay_over(history.open(), old) == overlay.lay_over(history.open(), old)
    assert overlay.lay_over(history.open(), new) == new


def test_a_folder_is_laid_over_without_being_committed(history, tmp_path):
    folder = tmp_path / "elsewhere"
    (folder / "bench" / "__pycache__").mkdir(parents=True)
    (folder / "bench" / "new.py").write_text("UNCOMMITTED")
    (folder / "bench" / "__pycache__" / "new.pyc").write_text("compiled")
    old = history.git("rev-parse", "HEAD~2")

    overlay = overlay_of(history, str(folder))

    laid_over = overlay.lay_over(history.open(), old)
    assert files_at(history, laid_over) == {"bench/new.py": "UNCOMMITTED", "code.py": "1"}
    record = overlay.record
    assert (record.source, list(record.files)) == (str(folder), ["bench/new.py"])
    assert record.files["bench/new.py"] == history.git("rev-parse", f"{laid_over}:bench/new.py")


def test_a_file_stays_executable(history, tmp_path):
    (tmp_path / "bench").mkdir()
    tool = tmp_path / "bench" / "tool.sh"
    tool.write_text("true")
    tool.chmod(0o755)

    sha = overlay_of(history, str(tmp_path)).lay_over(history.open(), history.git("rev-parse", "@"))

    assert history.git("ls-tree", sha, "bench/tool.sh").startswith("100755")


def test_a_revision_goes_before_a_folder_of_its_name(history):
    history.git("branch", "bench")
    (history.root / "bench" / "bench").mkdir()
    (history.root / "bench" / "bench" / "x.py").write_text("")

    assert overlay_of(history, "bench").source == history.git("rev-parse", "bench")[:12]
    assert overlay_of(history, "./bench").source == "./bench"


def test_a_name_that_is_nothing_says_so(history):
    with pytest.raises(RepositoryError, match=r"neither a revision of .* nor a folder"):
        overlay_of(history, "nowhere")


@pytest.mark.parametrize("link", ["bench", "bench/deep"])
def test_a_link_in_the_old_revision_leads_no_write_outside(history, tmp_path, link):
    outside = tmp_path / "outside"
    outside.mkdir()
    overlay = overlay_of(history, "HEAD")
    history.git("rm", "-rq", "bench")
    (history.root / link).parent.mkdir(exist_ok=True)
    (history.root / link).symlink_to(outside)
    sha = overlay.lay_over(history.open(), history.commit("a trap"))

    with history.open().worktree(sha, tmp_path / "tree") as checkout:
        assert (checkout / "bench" / "deep" / "new.py").read_text() == "NEW"
    assert list(outside.iterdir()) == []


def test_a_link_on_the_way_to_the_workloads_becomes_a_folder(history, tmp_path):
    overlay = overlay_of(history, "HEAD", ("bench/deep",))
    history.git("rm", "-rq", "bench")
    (history.root / "bench").symlink_to(tmp_path)

    sha = overlay.lay_over(history.open(), history.commit("a trap"))

    assert files_at(history, sha) == {"bench/deep/new.py": "NEW", "code.py": "3"}


def with_link(folder):
    (folder / "bench" / "link.py").symlink_to("/etc/passwd")


def with_linked_folder(folder):
    (folder / "bench" / "link").symlink_to("/etc")


@pytest.mark.parametrize("is_revision", [True, False])
def test_the_files_with_a_word_are_pythons_and_regular(history, tmp_path, is_revision):
    folder = history.root
    (tmp_path / "outside.py").write_text("benchmark")
    for name in ("bench/test_it.py", "bench/notes.txt"):
        history.write(name, "def test_it(benchmark): ...")
    (folder / "bench" / "test_link.py").symlink_to(tmp_path / "outside.py")
    history.commit("tests")
    os.mkfifo(folder / "bench" / "test_pipe.py")
    (folder / "bench" / "test_folder.py").mkdir()
    name = "HEAD" if is_revision else str(folder)

    source = find_workload_source(history.open(), name, folder=folder)

    assert source.files_with("benchmark") == ("bench/test_it.py",)
    assert source.files_with("absent") == ()


def test_a_file_that_cannot_be_read_hides_no_test(history, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    source = find_workload_source(history.open(), str(history.root), folder=history.root)
    monkeypatch.setattr(Path, "read_bytes", refuse)

    with pytest.raises(RepositoryError, match=r"code\.py in .* cannot be read: Permission denied"):
        source.files_with("benchmark")


def with_pipe(folder):
    os.mkfifo(folder / "bench" / "pipe.py")


def with_long_name(folder):
    place = folder / "bench" / ("a" * 200)
    place.mkdir()
    (place / ("b" * 200)).write_text("")


def with_odd_name(folder):
    (folder / "bench" / "a\nb.py").write_text("")


@pytest.mark.parametrize(
    ("prepare", "complaint"),
    [
        (with_link, "link.py' in .* is not a regular file"),
        (with_linked_folder, "link' in .* is not a regular file"),
        (with_pipe, "pipe.py' in .* is not a regular file"),
        (with_long_name, "too long or has invalid characters"),
        (with_odd_name, "too long or has invalid characters"),
    ],
)
def test_a_hostile_folder_is_refused(history, tmp_path, prepare, complaint):
    (tmp_path / "bench").mkdir()
    prepare(tmp_path)

    with pytest.raises(RepositoryError, match=complaint):
        overlay_of(history, str(tmp_path))


def test_links_of_a_revision_are_refused(history):
    (history.root / "bench" / "link.py").symlink_to("/etc/passwd")
    history.commit("a link")

    with pytest.raises(RepositoryError, match=r"link.py' in .* is not a regular file"):
        overlay_of(history, "HEAD")


def test_workloads_behind_a_link_are_refused(history, tmp_path):
    (tmp_path / "one").symlink_to(history.root)

    with pytest.raises(RepositoryError, match="lies behind a link"):
        overlay_of(history, str(tmp_path), ("one/bench",))


@pytest.mark.parametrize("path", ["../bench", "bench/../..", "/etc", ".", ""])
def test_paths_that_lead_outside_are_refused(history, path):
    for name in ("HEAD", "."):
        with pytest.raises(RepositoryError, match="cannot be laid over another revision"):
            overlay_of(history, name, (path,))


def test_a_source_without_workloads_says_what_to_set(history):
    for name in ("HEAD", "."):
        with pytest.raises(RepositoryError, match="has no file at nothing: set `paths` there"):
            overlay_of(history, name, ("nothing",))


def with_many_files(folder):
    for number in range(2001):
        (folder / "bench" / f"{number}.py").touch()


def with_a_large_file(folder):
    (folder / "bench" / "data.bin").touch()
    os.truncate(folder / "bench" / "data.bin", 50_000_001)


@pytest.mark.parametrize("prepare", [with_many_files, with_a_large_file])
def test_too_much_is_refused(history, tmp_path, prepare):
    (tmp_path / "bench").mkdir()
    prepare(tmp_path)

    with pytest.raises(RepositoryError, match="at most 2000 of 50 MB can be laid over"):
        overlay_of(history, str(tmp_path))


def test_configurations_are_read_from_where_the_workloads_are(history, tmp_path):
    history.write("perfledger.toml", "alpha = 0.01")
    history.commit("a configuration")
    (tmp_path / "perfledger.toml").symlink_to("/etc/passwd")
    (tmp_path / "pyproject.toml").write_text("x" * 11)
    source = find_workload_source(history.open(), "HEAD", folder=history.root)
    folder = find_workload_source(history.open(), ".", folder=tmp_path)

    assert source.read_file("perfledger.toml", max_bytes=20) == b"alpha = 0.01"
    assert folder.read_file("setup.cfg", max_bytes=20) is None
    with pytest.raises(RepositoryError, match="not a regular file"):
        folder.read_file("perfledger.toml", max_bytes=20)
    with pytest.raises(RepositoryError, match="larger than 10 bytes"):
        folder.read_file("pyproject.toml", max_bytes=10)
    assert folder.read_file("pyproject.toml", max_bytes=11) == b"x" * 11


def test_a_folder_that_cannot_be_read_is_refused(history, tmp_path, monkeypatch):
    closed = tmp_path / "elsewhere" / "bench" / "closed"
    closed.mkdir(parents=True)
    (closed.parent / "new.py").write_text("NEW")
    scandir = os.scandir

    def refusing(folder):
        if Path(folder) == closed:  # permissions would not stop root
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", refusing)

    with pytest.raises(RepositoryError, match=r"closed in .* cannot be read: Permission denied"):
        overlay_of(history, str(tmp_path / "elsewhere"))


def test_changes_at_the_overlaid_paths_are_told_apart_from_the_others(history):
    overlay = overlay_of(history, "HEAD", ("bench", "code.py"))

    changes = overlaid_changes(history.open(), overlay, base="HEAD~1", head="HEAD")
    others = overlaid_changes(
        history.open(), overlay_of(history, "HEAD"), base="HEAD~2", head="HEAD~1"
    )

    assert changes.replaced_paths == ("bench/deep/new.py", "bench/old.py", "code.py")
    assert changes.other_paths == ()
    assert (others.replaced_paths, others.other_paths) == ((), ("code.py",))
