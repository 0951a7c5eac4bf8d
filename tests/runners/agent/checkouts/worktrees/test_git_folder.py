"""A checkout's git knows the user's history, and leads to no file of the user's checkout."""

import subprocess

import pytest


def said_by_git(folder, *words):
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(theirs, tmp_path):
    theirs.commit("one", a="1")
    theirs.git("tag", "v1")
    theirs.git("config", "remote.origin.url", "https://me:secret@example.org/o/n.git")
    theirs.git("config", "http.https://example.org/.extraheader", "AUTHORIZATION: basic secret")
    theirs.git("update-ref", "refs/remotes/origin/main", "HEAD")
    theirs.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    sha = theirs.commit("two", a="2")
    with theirs.open().worktree(sha, tmp_path / "tree") as folder:
        yield folder


def test_its_folder_is_its_own(checkout):
    assert said_by_git(checkout, "rev-parse", "--absolute-git-dir") == f"{checkout}/.git"
    assert said_by_git(checkout, "rev-parse", "--git-common-dir") == ".git"


@pytest.mark.parametrize(
    "words",
    [
        ("rev-parse", "HEAD"),
        ("log", "--format=%H %s"),
        ("show", "HEAD~1:a.txt"),
        ("describe", "--tags", "--long"),
        ("for-each-ref",),
        ("symbolic-ref", "refs/remotes/origin/HEAD"),
        ("merge-base", "HEAD", "origin/main"),
    ],
)
def test_git_answers_as_in_the_users_checkout(theirs, checkout, words):
    assert said_by_git(checkout, *words) == said_by_git(theirs.root, *words)


def test_a_fresh_checkout_is_clean(checkout):
    assert said_by_git(checkout, "status", "--porcelain") == ""


def test_credentials_stay_in_the_users_folder(checkout):
    assert said_by_git(checkout, "remote", "get-url", "origin") == "https://example.org/o/n.git"
    assert "secret" not in (checkout / ".git/config").read_text()


def test_what_a_workload_commits_stays_in_its_checkout(theirs, checkout):
    before = theirs.state()
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")

    said_by_git(checkout, *identity, "commit", "--quiet", "--allow-empty", "--message", "three")

    assert theirs.state() == before


PRIVATE = {
    "url.https://x-access-token:secret@example.org/.insteadOf": "https://example.org/",
    "http.https://me:secret@example.org/.sslVerify": "true",
    "http.extraHeader": "AUTHORIZATION: basic secret",
    "http.https://example.org/.extraHeader": "AUTHORIZATION: basic secret",
    "http.cookieFile": "secret",
    "http.sslKey": "secret",
    "http.proxy": "me:secret@proxy:3128",
    "lfs.url": "https://secret@example.org/lfs",
    "lfs.customtransfer.secret.path": "secret",
    "submodule.a.url": "ssh://git:secret@example.org/a",
    "submodule.a.update": "!secret",
    "remote.up.url": "https://me:sec@ret@example.org/o/n.git",
    "credential.helper": "store --file=secret",
    "core.sshCommand": "secret",
    "filter.lfs.process": "secret",
    "alias.secret": "!secret",
}
SHARED = {
    "url.ssh://git@example.org/.insteadOf": "https://example.org/",
    "http.sslCAInfo": "/etc/authority.pem",
    "http.https://example.org/.sslVerify": "false",
    "http.proxy": "http://proxy:3128",
    "lfs.url": "https://example.org/lfs",
    "lfs.fetchExclude": "data",
    "remote.up.lfsurl": "https://example.org/lfs",
    "submodule.a.url": "git@example.org:o/a.git",
    "protocol.file.allow": "always",
    "filter.lfs.process": "git-lfs filter-process",
    "filter.lfs.smudge": "git-lfs smudge -- %f",
    "filter.lfs.required": "true",
}


def settings_of(theirs, tmp_path, settings):
    for name, value in settings.items():
        theirs.git("config", name, value)
    with theirs.open().worktree(theirs.commit("one", a="1"), tmp_path / "tree") as folder:
        return said_by_git(folder, "config", "--local", "--list")


def test_no_setting_with_a_credential_or_a_program_is_copied(theirs, tmp_path):
    settings = settings_of(theirs, tmp_path, PRIVATE)

    assert "sec" not in settings
    assert "ret" not in settings
    assert "submodule.a.url=ssh://git@example.org/a\n" in f"{settings}\n"
    assert "lfs.url=https://example.org/lfs\n" in f"{settings}\n"


def test_settings_by_which_git_reaches_a_server_are_copied(theirs, tmp_path):
    settings = settings_of(theirs, tmp_path, SHARED).splitlines()

    for name, value in SHARED.items():
        section, _, rest = name.partition(".")
        subsection, _, last = rest.rpartition(".")
        place = f"{subsection}." if subsection else ""
        assert f"{section}.{place}{last.lower()}={value}" in settings


def test_a_workload_fetches_through_a_rewritten_address(theirs, tmp_path):
    sha = theirs.commit("one", a="1")
    subprocess.run(
        ["git", "clone", "--quiet", "--bare", theirs.root, tmp_path / "n.git"], check=True
    )
    theirs.git("config", "remote.origin.url", "https://example.org/o/n.git")
    theirs.git("config", f"url.{tmp_path}/.insteadOf", "https://example.org/o/")

    with theirs.open().worktree(sha, tmp_path / "tree") as folder:
        said_by_git(folder, "fetch", "--quiet", "origin", "HEAD")

        assert said_by_git(folder, "rev-parse", "FETCH_HEAD") == sha
