"""Turn a profiler's file into one JSON object on standard output: READER FILE WORKLOAD SIDE.

READER is a format, or "auto" to tell it by the file's content and name. With --speedscope the whole
recording is written for that viewer instead, after a line that says what is left out.

For files of others: whoever calls this sets limits on memory and time. What cannot be read is one
line on standard error and exit status 1.
"""

import argparse
import gc
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from perfledger.records import Side
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.formats import Format, read_calls, read_profile
from perfledger_profiles.speedscope import left_out, speedscope

AUTO = "auto"
# What the agent takes of a profile; the largest that was looked at is half a megabyte.
MAX_ANSWER_BYTES = 16 * 2**20


def main(arguments: Sequence[str] | None = None) -> int:
    """Read one file and print its profile; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m perfledger_profiles", description=__doc__)
    parser.add_argument("--speedscope", action="store_true")
    parser.add_argument("reader", choices=(AUTO, *(one.value for one in Format)))
    parser.add_argument("file", type=Path)
    parser.add_argument("workload")
    parser.add_argument("side", type=Side, choices=tuple(Side))
    options = parser.parse_args(arguments)
    format_ = None if options.reader == AUTO else Format(options.reader)
    try:
        if options.speedscope:
            _write_speedscope(options.file, format_, name=options.workload)
            return 0
        profile = read_profile(
            options.file, workload=options.workload, side=options.side, format=format_
        )
        answer = json.dumps(asdict(profile), allow_nan=False)
    except (ProfileError, OSError) as error:
        return _fail(str(error))
    except MemoryError:
        return _fail(f"{options.file.name} needs more memory than is allowed: profile fewer steps")
    if len(answer) > MAX_ANSWER_BYTES:
        return _fail(f"{options.file.name} says more than a profile may: record less of it")
    sys.stdout.write(answer)
    return 0


def _write_speedscope(path: Path, format_: Format | None, *, name: str) -> None:
    calls = read_calls(path, format=format_)
    sys.stdout.write(f"{left_out(calls)}\n")
    sys.stdout.writelines(speedscope(calls, name=name))


def _fail(message: str) -> int:
    sys.stderr.write(" ".join(message.split()) + "\n")
    return 1


if __name__ == "__main__":
    # One file is all this process reads: looking for cycles would take as long as reading it.
    gc.disable()
    sys.exit(main())
