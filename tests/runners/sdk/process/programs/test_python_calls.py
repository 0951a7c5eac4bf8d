"""What Python runs in commands; which copies that imports is in test_watch."""

import pytest

from perfledger.process.programs.python_calls import StartedProgram, python_calls


def calls(words, folder, **environment):
    return list(python_calls(StartedProgram(tuple(words), environment, folder)))


@pytest.mark.parametrize(
    ("words", "text", "is_isolated", "has_folder"),
    [
        (["python", "-m", "mine"], "mine", False, True),
        (["python3", "-Ic", "import mine"], "import mine", True, False),
        (["/usr/bin/python3.12", "-E", "-m", "mine"], "mine", True, True),
        (["python", "-P", "-m", "mine"], "mine", False, False),
        (["env", "-i", "python", "-m", "mine"], "mine", True, True),
        (["sh", "-c", "cd /; python -m mine"], "mine", False, True),
    ],
)
def test_a_command_says_what_its_interpreter_runs(tmp_path, words, text, is_isolated, has_folder):
    (call,) = calls(words, tmp_path)

    assert (call.text, call.is_isolated) == (text, is_isolated)
    assert call.folder == (tmp_path if has_folder else None)


@pytest.mark.parametrize("words", [["make"], ["git", "log"], ["sh", "-c", "echo python"], []])
def test_other_commands_run_no_python(tmp_path, words):
    assert [call.text for call in calls(words, tmp_path)] in ([], [""])


def test_a_script_is_read_and_its_folder_is_searched(tmp_path):
    script = tmp_path / "tools" / "run.py"
    script.parent.mkdir()
    script.write_text("import mine\n")

    (call,) = calls(["python", "tools/run.py"], tmp_path)

    assert (call.text, call.folder) == ("import mine\n", script.parent)


def test_the_search_path_has_no_empty_folders(tmp_path):
    program = StartedProgram(("python",), {"PYTHONPATH": ":src::lib"}, tmp_path)

    assert program.search_path == ("src", "lib")
    assert StartedProgram(("python",), {}, tmp_path).search_path == ()
