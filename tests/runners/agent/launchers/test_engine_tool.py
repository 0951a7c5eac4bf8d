import sys

import pytest

from perfledger_runners.launchers import engine_tool
from perfledger_runners.launchers.engine_tool import ask_tool, run_tool
from perfledger_runners.launchers.launcher import LauncherError


def python(code):
    return [sys.executable, "-c", code]


def test_a_program_gets_its_input_and_answers():
    answer = run_tool(python("print(input()[::-1])"), text=b"abc\n")

    assert (answer.status, answer.text) == (0, "cba\n")


def test_one_that_fails_is_quoted():
    code = "import sys; sys.exit('Invalid partition name specified')"
    with pytest.raises(LauncherError, match=r"failed: Invalid partition name specified"):
        run_tool(python(code))
    assert ask_tool(python(code)).status == 1
    with pytest.raises(LauncherError, match="failed: exit status 3"):
        run_tool(python("raise SystemExit(3)"))


def test_one_that_is_not_installed_is_named():
    with pytest.raises(LauncherError, match="no-such-tool does not start"):
        run_tool(["no-such-tool"])


def test_one_that_answers_too_much_or_never_is_given_up(monkeypatch):
    too_much = engine_tool.MAX_TOOL_ANSWER_BYTES + 1
    with pytest.raises(LauncherError, match=f"more than {too_much - 1} bytes"):
        ask_tool(python(f"print('x' * {too_much})"))
    monkeypatch.setattr(engine_tool, "TOOL_TIMEOUT_S", 0.05)
    with pytest.raises(LauncherError, match="did not answer"):
        ask_tool(python("import signal; signal.pause()"))


def test_what_it_complains_of_is_made_safe_and_short():
    code = "import sys; sys.stderr.write('x' * 9999 + '\\x1b[31m'); sys.exit(1)"
    answer = ask_tool(python(code))

    assert len(answer.error) == engine_tool.MAX_TOOL_ERROR
    assert "\x1b" not in answer.error
