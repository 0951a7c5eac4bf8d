"""Turn a profiler's file into one JSON object on standard output: READER FILE WORKLOAD SIDE.

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

from perfledger.profile import Profile
from perfledger.records import Side
from perfledger_profiles.chrome import MAX_UNPACKED_BYTES
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.kineto import read_kineto
from perfledger_profiles.xplane import read_xplane


def main(arguments: Sequence[str] | None = None) -> int:
    """Read one file and print its profile; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m perfledger_profiles", description=__doc__)
    parser.add_argument("reader", choices=("kineto", "xplane"))
    parser.add_argument("file", type=Path)
    parser.add_argument("workload")
    parser.add_argument("side", type=Side, choices=tuple(Side))
    options = parser.parse_args(arguments)
    try:
        profile = _read(options.reader, options.file, options.workload, options.side)
    except (ProfileError, OSError) as error:
        return _fail(str(error))
    except MemoryError:
        return _fail(f"{options.file.name} needs more memory than is allowed: profile fewer steps")
    json.dump(asdict(profile), sys.stdout, allow_nan=False)
    return 0


def _read(reader: str, path: Path, workload: str, side: Side) -> Profile:
    if reader == "xplane":
        return read_xplane(path, workload=workload, side=side)
    if path.stat().st_size > MAX_UNPACKED_BYTES:
        msg = f"{path.name} is larger than {MAX_UNPACKED_BYTES} bytes: profile fewer steps"
        raise ProfileError(msg)
    return read_kineto(path.read_bytes(), workload=workload, side=side)


def _fail(message: str) -> int:
    sys.stderr.write(" ".join(message.split()) + "\n")
    return 1


if __name__ == "__main__":
    # One file is all this process reads: looking for cycles would take as long as reading it.
    gc.disable()
    sys.exit(main())
