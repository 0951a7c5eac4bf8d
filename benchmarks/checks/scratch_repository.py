"""A repository that a benchmark makes for a check, and other work beside the check."""

import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

IDENTITY = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@example.com")


def git(folder: Path, *arguments: str) -> None:
    """Run git in the repository, with a name for the commits."""
    subprocess.run(["git", *IDENTITY, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, files: Mapping[str, str | bytes | None], message: str) -> None:
    """Write a commit's files, and remove those that are None."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match content:
            case None:
                path.unlink()
            case bytes():
                path.write_bytes(content)
            case str():
                path.write_text(content, encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)


@contextmanager
def busy_loops(count: int) -> Generator[None]:
    """Keep this many cores busy.

    Each has a session of its own, as programs have: Linux may give all processes of one session
    together as much time as one of another.
    """
    command = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
