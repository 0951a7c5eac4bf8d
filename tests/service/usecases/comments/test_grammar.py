"""How commands in comments are read, and that no text breaks the reader."""

from datetime import date

import pytest
from hypothesis import given, strategies as st

from perfledger_service.usecases.comments.grammar import (
    MAX_LINE,
    MAX_REASON,
    AcceptCommand,
    AllowCommand,
    BisectCommand,
    DisallowCommand,
    HelpQuestion,
    InvalidCommand,
    RerunCommand,
    command_line,
    parse_command,
)

DAY = date(2026, 12, 31)


def read(comment):
    return parse_command(command_line(comment))


@pytest.mark.parametrize(
    ("comment", "command"),
    [
        ("accept a:b --reason ok", AcceptCommand(workload="a:b", reason="ok")),
        (
            "accept  a:b --reason it is  so --until 2026-12-31",
            AcceptCommand(workload="a:b", reason="it is so", until=DAY),
        ),
        (
            "accept a:b --until=2026-12-31 --reason=ok",
            AcceptCommand(workload="a:b", reason="ok", until=DAY),
        ),
        (
            "accept `a:b[x='y z']` \u2014reason \u201cbigger batch\u201d \u2013until 2026-12-31",
            AcceptCommand(workload="a:b[x='y z']", reason="bigger batch", until=DAY),
        ),
        (
            "accept a:b --reason uses --untilted",
            AcceptCommand(workload="a:b", reason="uses --untilted"),
        ),
        ("ignore --reason 'repaired'", AcceptCommand(workload="", reason="repaired")),
        ("help", HelpQuestion()),
        ("", HelpQuestion()),
        ("rerun ", RerunCommand()),
        ("bisect", BisectCommand("")),
        (f"allow {'b' * 40}", AllowCommand("b" * 40)),
        ("disallow", DisallowCommand()),
        ("bisect `a:b[x='y z']`", BisectCommand("a:b[x='y z']")),
    ],
)
def test_a_command_is_read_as_it_is_written(comment, command):
    assert read(f"  /perfledger {comment}\r\nmore lines") == command


@pytest.mark.parametrize(
    ("comment", "problem"),
    [
        ("accept", "name the workload"),
        ("accept --reason ok", "name the workload"),
        ("accept a:b", "give a reason"),
        ("accept a:b --reason", "give a reason"),
        ("accept a:b --reason \u2026", "give a reason"),
        ("accept a:b --reason x --reason y", "each option once"),
        ("accept a:b --reason x --until soon", "--until YYYY-MM-DD"),
        ("accept a:b --reason x --until 2026-02-31", "--until YYYY-MM-DD"),
        ("accept a:b --reason x --until", "--until YYYY-MM-DD"),
        ("ignore a:b --reason x", "ignore takes no workload"),
        ("ignore --reason x --until 2026-12-31", "ignore takes no day"),
        ("approve", "an approval names"),
        ("approve bbbbbbb 12: \u0000", "give a reason"),
        ("approve bbbbbbb 12: …", "give a reason"),
        ("Accept a:b --reason x", "is not a command"),
        ("rerun everything", "takes no workload"),
        ("frobnicate \u202e`x`", "is not a command"),
    ],
)
def test_what_cannot_be_carried_out_says_why(comment, problem):
    command = read(f"/perfledger {comment}")

    assert isinstance(command, InvalidCommand)
    assert problem in command.problem


@pytest.mark.parametrize(
    "comment",
    [
        "",
        " \n",
        "/perfledgers help",
        "> /perfledger help",
        "see /perfledger help",
        "x\n/perfledger",
    ],
)
def test_other_comments_are_no_commands(comment):
    assert command_line(comment) == ""


def test_only_so_much_of_a_comment_is_read():
    command = read("/perfledger accept a:b --reason " + "x" * 60_000)

    assert isinstance(command, AcceptCommand)
    assert len(command.reason) <= MAX_REASON
    assert len(command_line("/perfledger " + "y" * 60_000)) == MAX_LINE


@given(st.text(max_size=300))
def test_any_text_is_a_command_or_not_and_its_reason_fits(text):
    for name in ("", "accept ", "ignore ", "approve ", "accept a --reason "):
        command = read(f"/perfledger {name}{text}")
        reason = getattr(command, "reason", "")
        assert len(reason) <= MAX_REASON
        assert "\n" not in reason
