"""Runs children in a sandbox: a command before their interpreter."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from perfledger_runners.children.interpreter import ASK_TIMEOUT_S
from perfledger_runners.private_folder import private_folder
from perfledger_runners.safe_text import last_line
from perfledger_runners.user_folders import home_folder

# Device nodes of accelerators: NVIDIA, AMD and Intel, TPU.
DEVICE_NODES = ("nvidia*", "dri", "kfd", "accel*", "vfio")
# Where an interpreter finds itself and its modules.
FOLDERS_PROGRAM = """
import json, sys
print(json.dumps([sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, *sys.path]))
"""
# The status a shell reports for a command ended by a signal.
SIGNAL_STATUS = 128
# For `bwrap` alone, or the word {default}: the system is read-only, the home and temporary folders
# belong to one side of one check; no network, other processes or daemons' sockets.
ISOLATION = (
    *("--die-with-parent", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
    *("--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
)
EMPTY_FOLDERS = tuple(map(Path, ("/run", "/tmp", "/var/tmp")))  # noqa: S108 - they are hidden


class SandboxError(Exception):
    """A sandbox that cannot run the repository's Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPaths:
    """The paths of one child; `private` belongs to its side of the check."""

    private: Path
    checkout: Path
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """A command before the interpreter, in which {default} and {checkout} are filled in.

    `readable` are the folders of the interpreter and its modules.
    """

    words: tuple[str, ...]
    home: Path
    readable: tuple[Path, ...] = ()

    def command(self, paths: SandboxPaths) -> list[str]:
        """Return the words before the interpreter of one child."""
        words: list[str] = []
        for word in self.words:
            if word == "{default}":
                words += self._default_options(paths)
            else:
                words.append(word.replace("{checkout}", str(paths.checkout)))
        return words

    def _default_options(self, paths: SandboxPaths) -> list[str]:
        temporary = Path(tempfile.gettempdir())
        own_folders = {
            folder: name
            for folder, name in ((self.home.resolve(), "home"), (temporary.resolve(), "tmp"))
            if folder.is_dir() and folder != Path("/")
        }
        folders = (*EMPTY_FOLDERS, *own_folders)

        def real_paths(several: Iterable[Path]) -> list[Path]:
            """Return paths with links resolved in the folder that each is below."""
            return [_real_path(each, (self.home, temporary)) for each in several]

        readable = [
            each
            for each in real_paths((*self.readable, *paths.readable))
            if _is_below(each, folders) and each not in folders
        ]
        writable = real_paths((paths.checkout, *paths.writable))
        hidden = [
            each
            for each in real_paths(paths.hidden)
            if each.is_dir()
            and (_is_below(each, (*readable, *writable)) or not _is_below(each, folders))
        ]
        devices = [node for pattern in DEVICE_NODES for node in Path("/dev").glob(pattern)]
        empty = [each for each in EMPTY_FOLDERS if each.is_dir() and not each.is_symlink()]
        return [
            *ISOLATION,
            *_options("--dev-bind", sorted(devices)),
            *(word for each in empty for word in ("--tmpfs", str(each))),
            *(
                word
                for folder, name in sorted(own_folders.items())  # one may be below the other
                for word in _own_folder(paths, name, folder)
            ),
            *_options("--ro-bind", readable),
            *_options("--bind", writable),
            *(word for each in hidden for word in ("--tmpfs", str(each))),
            *("--chdir", str(paths.checkout)),
        ]


def find_sandbox(setting: str, python: Path, environment: Mapping[str, str]) -> Sandbox | None:
    """Return the sandbox of the setting, None without one.

    `environment` is a child's. Raises SandboxError if the sandbox cannot run this interpreter.
    """
    words = tuple(shlex.split(setting))
    if not words:
        return None
    if words == ("bwrap",):
        words = ("bwrap", "{default}")
    if shutil.which(words[0]) is None:
        package = " (Debian's package bubblewrap)" if words[0] == "bwrap" else ""
        msg = f"`sandbox` needs {words[0]}, which is not installed{package}: install it"
        raise SandboxError(msg)
    home = home_folder(environment)
    readable = _module_folders(python, environment)
    sandbox = Sandbox(words=words, home=home, readable=readable)
    _try(sandbox, python, environment)
    return sandbox


def exit_status(status: int) -> int:
    """Return a child's exit status as Popen defines it, from that of its sandbox."""
    is_signal = SIGNAL_STATUS < status < SIGNAL_STATUS + signal.NSIG
    return SIGNAL_STATUS - status if is_signal else status


def _options(kind: str, paths: Iterable[Path]) -> list[str]:
    """Return the options that show paths where they are."""
    return [word for path in paths for word in (kind, str(path), str(path))]


def _own_folder(paths: SandboxPaths, name: str, mount_point: Path) -> tuple[str, str, str]:
    """Return the option that mounts a folder of the side at a path."""
    folder = paths.private / name
    folder.mkdir(parents=True, exist_ok=True)
    return ("--bind", str(folder), str(mount_point))


def _real_path(path: Path, folders: Iterable[Path]) -> Path:
    """Return a path with the folder that it is below, if any, resolved: bwrap mounts on no link."""
    for folder in folders:
        if path.is_relative_to(folder):
            return folder.resolve() / path.relative_to(folder)
    return path


def _is_below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _module_folders(python: Path, environment: Mapping[str, str]) -> tuple[Path, ...]:
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter that the user configured
            [str(python), "-P", "-c", FOLDERS_PROGRAM],
            env=dict(environment),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=ASK_TIMEOUT_S,
            check=True,
        )
        names: list[str] = json.loads(done.stdout.splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
        msg = f"{python} does not name its folders for `sandbox`: {error}"
        raise SandboxError(msg) from error
    folders = [*map(Path, names), *_link_folders(python)]
    return tuple(dict.fromkeys(each for each in folders if each.exists() and each != Path("/")))


def _link_folders(python: Path) -> list[Path]:
    """Return the folders of the links from an interpreter to its program."""
    folders = [python.parent]
    while python.is_symlink():
        python = python.parent / python.readlink()
        folders.append(Path(os.path.normpath(python.parent)))
    return folders


def _try(sandbox: Sandbox, python: Path, environment: Mapping[str, str]) -> None:
    with private_folder() as folder:
        checkout = folder / "checkout"
        checkout.mkdir()
        paths = SandboxPaths(private=folder / "private", checkout=checkout)
        try:
            subprocess.run(  # noqa: S603 - the sandbox and the interpreter that the user configured
                [*sandbox.command(paths), str(python), "-P", "-S", "-c", "pass"],
                env=dict(environment),
                cwd=checkout,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=ASK_TIMEOUT_S,
                check=True,
            )
        except subprocess.CalledProcessError as error:
            words = last_line(bytes(error.stderr).decode(errors="replace"))
            reason = words or f"exit status {error.returncode}"
            msg = (
                f"`sandbox` cannot run {python} here ({reason}): allow unprivileged user "
                "namespaces on this machine, or set another `sandbox`"
            )
            raise SandboxError(msg) from error
        except (OSError, subprocess.SubprocessError) as error:
            msg = f"`sandbox` cannot run {python} here: {error}"
            raise SandboxError(msg) from error
