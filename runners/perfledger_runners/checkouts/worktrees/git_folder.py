"""Gives a checkout a git folder of its own, which leads to no file of the user's checkout.

The git folder of a linked work tree is a part of the user's, whose parent is the user's checkout:
code that looks for its data beside `git rev-parse --git-common-dir` would find the same there on
both sides, whatever the change is. In a folder of its own it finds those of its side. Commits and
files come from the user's objects, which git reads as an alternate.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from perfledger_runners.checkouts.git import git

GIT_FILE = ".git"
# What a workload may ask git for, and how git reaches servers: rewritten addresses, certificates of
# authorities, proxies, what Git LFS fetches. Credentials (headers, cookies, the client's own keys)
# and programs (helpers, commands of ssh) stay in the user's folder.
SHARED_SETTINGS = re.compile(
    r"core\.(repositoryformatversion|filemode|ignorecase|symlinks|precomposeunicode|autocrlf|eol"
    r"|quotepath|abbrev)"
    r"|extensions\.partialclone|user\.(name|email)"
    r"|remote\..*\.(url|fetch|promisor|partialclonefilter|lfsurl)|branch\..*\.(remote|merge)"
    r"|url\..*\.(insteadof|pushinsteadof)|submodule\..*\.(url|active)|protocol\.(.*\.)?allow"
    r"|http\.(.*\.)?(sslcainfo|sslcapath|sslverify|sslbackend|sslversion|version|proxy"
    r"|postbuffer|lowspeedlimit|lowspeedtime|followredirects)"
    r"|lfs\.(url|fetchinclude|fetchexclude|concurrenttransfers|skipdownloaderrors)",
    re.DOTALL,
)
# How `git lfs install --local` writes its filter; without it, `git lfs pull` writes no files.
LFS_FILTER = re.compile(
    r"filter\.lfs\.(required\ntrue|clean\ngit-lfs clean -- %f"
    r"|smudge\ngit-lfs smudge( --skip)? -- %f|process\ngit-lfs filter-process( --skip)?)"
)
USER_OF_URL = re.compile(r"([A-Za-z][\w+.-]*)://([^/\s]*)@")
# ssh logs in as the user of an address, and has no password of it.
SSH = frozenset({"ssh", "git+ssh", "ssh+git"})
HISTORY_FILES = ("shallow", "info/grafts", "info/exclude", "info/attributes")
REFS = "%(objectname) %(refname) %(symref)"


def give_own_git_folder(checkout: Path) -> None:
    """Replace the link of a linked work tree by a git folder with the same commit, index and refs.

    The user's record of the work tree stays, and keeps its commit from being collected. Raises
    RepositoryError, and OSError.
    """
    link = checkout / GIT_FILE
    theirs, common = (
        checkout / os.fsdecode(git(checkout, "rev-parse", name)).removesuffix("\n")
        for name in ("--absolute-git-dir", "--git-common-dir")
    )
    own_folder = checkout.with_name(f"{checkout.name}{GIT_FILE}")
    for name in ("objects/info", "objects/pack", "refs", "info"):
        (own_folder / name).mkdir(parents=True)
    (own_folder / "objects/info/alternates").write_bytes(os.fsencode(common / "objects") + b"\n")
    for folder, names in ((theirs, ("HEAD", "index")), (common, HISTORY_FILES)):
        for name in names:
            if (folder / name).is_file():
                shutil.copy2(folder / name, own_folder / name)  # with its time
    _write_refs(checkout, own_folder)
    settings = git(checkout, "config", "--local", "--includes", "--list", "--null")
    lines = "".join(_config_lines(os.fsdecode(settings)))
    (own_folder / "config").write_bytes(os.fsencode(lines))
    link.unlink()
    own_folder.rename(link)


def _write_refs(checkout: Path, own_folder: Path) -> None:
    """Write the refs, whatever form the user's repository keeps them in."""
    packed = ["# pack-refs with: sorted\n"]
    for line in os.fsdecode(git(checkout, "for-each-ref", f"--format={REFS}")).splitlines():
        digest, name, *target = line.split(" ")
        if target[0]:
            (own_folder / name).parent.mkdir(parents=True, exist_ok=True)
            (own_folder / name).write_bytes(os.fsencode(f"ref: {target[0]}\n"))
        else:
            packed.append(f"{digest} {name}\n")
    (own_folder / "packed-refs").write_bytes(os.fsencode("".join(packed)))


def _config_lines(settings: str) -> Iterator[str]:
    """Yield the lines of a configuration with the shared ones of these settings."""
    for entry in settings.split("\0"):
        key, separator, value = entry.partition("\n")
        if not (SHARED_SETTINGS.fullmatch(key) or LFS_FILTER.fullmatch(entry)):
            continue
        if key.endswith(".proxy") and "@" in value:  # its address may have no scheme
            continue
        section, _, rest = key.partition(".")
        subsection, _, name = rest.rpartition(".")
        subsection = _without_credentials(subsection)
        title = f'{section} "{_config_text(subsection)}"' if subsection else section
        value = _without_credentials(value) if separator else "true"
        yield f'[{title}]\n\t{name} = "{_config_text(value)}"\n'


def _without_credentials(text: str) -> str:
    """Return a text without the users of its addresses, which may be tokens, and passwords."""

    def address(match: re.Match[str]) -> str:
        scheme, user = match.groups()
        return f"{scheme}://{user.partition(':')[0]}@" if scheme.lower() in SSH else f"{scheme}://"

    return USER_OF_URL.sub(address, text)


def _config_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
