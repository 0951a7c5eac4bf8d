"""`python -P -m perfledger REQUEST.json`: one errand for the agent, answered line by line.

All of the harness is imported here, before the user's folder joins the path: a file of the user's
that is named like the standard library's, or like ours, is only ever seen by the user's own code.
"""

import atexit
import linecache
import os
import sys
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from perfledger import memory
from perfledger.channel import Channel
from perfledger.errand import run_errand
from perfledger.protocol import FD_VARIABLE, read_request


def main(arguments: Sequence[str], environment: MutableMapping[str, str]) -> int:
    """Do the errand in the file named by the only argument; return the exit status.

    2 means that it was not started by the agent; whatever a workload does, the answer is 0.
    """
    descriptor = environment.pop(FD_VARIABLE, "")
    if len(arguments) != 1 or not descriptor.isdecimal():
        sys.stderr.write(
            f"usage: {FD_VARIABLE}=N python -P -m perfledger REQUEST.json\n"
            "This is the part that perfledger's agent starts: run `perfledger check` instead.\n"
        )
        return 2
    channel = Channel(int(descriptor))
    request = read_request(Path(arguments[0]))
    memory.volunteer()
    linecache.getline(__file__, 1)  # it imports more when first used, for a traceback
    del sys.argv[1:]  # the workload's own parsers find no arguments of ours
    run_errand(request, channel)
    channel.close()
    return 0


def leave(status: int) -> NoReturn:
    """End the process with what was registered for its end, and without taking it apart.

    The interpreter frees every object one by one: with torch imported that takes a second and more
    of each of the children of a check, and nobody reads the result.
    """
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - the only way to them
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or gone: nothing to keep
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    leave(main(sys.argv[1:], os.environ))
