"""Becomes another program, which the kernel ends when the process that started this one is gone.

This is a separate file, run by its path: code between fork and exec would run in the runner's
process, which a library with threads (JAX) forbids.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_COULD_NOT_START = 127  # as shells report it


def main(parent: int, words: list[str]) -> int:
    """Run `words` in this process; return only if they do not start or the parent is gone."""
    # Only Linux has this: elsewhere a child outlives a killed runner, and its upload is refused.
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it was killed before the line above
        return 1
    try:
        os.execvp(words[0], words)  # noqa: S606 - an argument list, never a shell's
    except OSError as error:
        sys.stderr.write(f"{words[0]} does not start: {error}\n")
        return _COULD_NOT_START


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
