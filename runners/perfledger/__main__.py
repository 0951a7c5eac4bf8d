"""Runs one command for the agent: `python -P -m perfledger REQUEST.json`, answered line by line.

All of the harness is imported here, before the user's folder is on the path: a user's file named
like a module of the standard library or of perfledger is only seen by the user's own code.
"""

import linecache
import os
import sys
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from perfledger.measuring.rank_end import largest_end_cost
from perfledger.measuring.rank_link import (
    ExchangeKind,
    RankError,
    RankLink,
    connect_to_agent,
    join_ranks,
    rank_place,
    set_rank_variables,
)
from perfledger.meters import child_processes, process_memory
from perfledger.process.commands import SuiteRunner, run_command
from perfledger.process.forks.isolated_run import leave
from perfledger.process.forks.process_end import ProcessEnd
from perfledger.process.message_channel import MessageChannel
from perfledger.protocol import (
    FD_VARIABLE,
    RANKS_VARIABLE,
    BenchmarkSuite,
    ChildRequest,
    MessageType,
    read_request,
)


def main(arguments: Sequence[str], environment: MutableMapping[str, str]) -> int:
    """Run the command in the file named by the only argument; return the exit status.

    2 means that the program was not started by the agent; otherwise it is 0, whatever a workload
    does.
    """
    descriptor = environment.pop(FD_VARIABLE, "")
    folder = environment.pop(RANKS_VARIABLE, "")
    if len(arguments) != 1 or not (descriptor.isdecimal() or folder):
        sys.stderr.write(
            f"usage: {FD_VARIABLE}=N python -P -m perfledger REQUEST.json\n"
            "This is the part that perfledger's agent starts: run `perfledger check` instead.\n"
        )
        return 2
    channel, link = (
        _join_launch(Path(folder), environment)
        if folder
        else (MessageChannel(int(descriptor)), None)
    )
    request = read_request(Path(arguments[0]))
    process_memory.mark_for_oom_kill()
    child_processes.adopt_orphans()
    linecache.getline(__file__, 1)  # its first use imports more modules
    del sys.argv[1:]  # the workload's own parsers must not see perfledger's arguments
    end = ProcessEnd(Path(request.root).resolve())
    if request.is_forking:
        end.watch()
    run_command(request, channel, end=end, in_pytest=_pytest_runner(request), link=link)
    if link is None:
        end.finish(channel.send)
    else:  # a rank that ends before the others looks as if it had died
        link.exchange(ExchangeKind.BARRIER)
        end.finish(partial(_send_as_rank, channel, link), largest=partial(largest_end_cost, link))
    with suppress(OSError):  # an exit function may have closed every descriptor
        channel.close()
    return 0


def _join_launch(
    folder: Path, environment: MutableMapping[str, str]
) -> tuple[MessageChannel, RankLink]:
    """Connect one of several ranks to the agent, and to the others."""
    place = rank_place(environment)
    channel = MessageChannel(connect_to_agent(folder), is_follower=place.rank > 0)
    channel.send(MessageType.RANK, {"rank": place.rank, "ranks": place.ranks})
    link = join_ranks(folder, place)
    set_rank_variables(environment, link)
    return channel, link


def _send_as_rank(
    channel: MessageChannel, link: RankLink, event: MessageType, fields: Mapping[str, object]
) -> None:
    """Send a message, and return when the first rank has sent it: before that, no rank may end."""
    channel.send(event, fields)
    with suppress(RankError, OSError):
        link.exchange(ExchangeKind.BARRIER)


def _pytest_runner(request: ChildRequest) -> SuiteRunner | None:
    """Import pytest for a request that needs it; return None if it is not installed."""
    if request.suite is not BenchmarkSuite.PYTEST or find_spec("pytest") is None:
        return None
    from perfledger.pytest_plugin import run_tests  # noqa: PLC0415 - the user may not have pytest

    return run_tests


if __name__ == "__main__":
    child_processes.end_with_parent()
    leave(main(sys.argv[1:], os.environ))
