import io
import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from perfledger.process.error_report import MAX_CAUSES, print_error
from perfledger.records import Device

HERE = Path(__file__).parent


def printed(error, root=HERE):
    file = io.StringIO()
    print_error(error, root=root, file=file)
    return file.getvalue()


def caught(function, *arguments):
    try:
        function(*arguments)
    except Exception as error:
        return error
    raise AssertionError


def load(text):
    return json.loads(text)


def test_the_users_frames_come_first_with_paths_below_the_checkout():
    lines = printed(caught(load, "{")).splitlines()

    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].startswith('  File "test_error_report.py", line ')
    assert "    return json.loads(text)" in lines


def test_the_innermost_frame_is_shown_and_the_librarys_others_are_counted():
    lines = printed(caught(load, "{")).splitlines()

    assert next(line for line in lines if "json/" in line).endswith("in raw_decode")
    assert sum('  File "' in line for line in lines) == 3  # caught, load and raw_decode
    assert lines[-2].startswith("json.decoder.JSONDecodeError: ")
    assert lines[-1] == "(frames not shown: 2 of Python)"


def test_frames_of_installed_packages_are_counted_by_package(tmp_path):
    package = tmp_path / "site-packages" / "widgets"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "def call(function):\n    return inner(function)\ndef inner(f):\n    return f()\n"
    )
    spec = spec_from_file_location("widgets", package / "__init__.py")
    assert spec is not None
    widgets = module_from_spec(spec)
    spec.loader.exec_module(widgets)

    text = printed(caught(widgets.call, lambda: load("{")))

    assert "2 of widgets" in text.splitlines()[-1]


def test_a_frame_of_the_harness_is_never_shown_even_if_it_raised():
    text = printed(caught(Device, "abacus"))

    assert "records.py" not in text
    assert "'abacus' is not a valid Device" in text


def test_causes_are_folded_like_the_error():
    def fails():
        try:
            load("{")
        except ValueError as error:
            raise KeyError from error

    text = printed(caught(fails))

    assert "The above exception was the direct cause" in text
    assert text.count("scan_once") <= 1  # only the innermost frame of json
    assert text.splitlines()[-1] == "(frames not shown: 2 of Python)"


def test_a_chain_of_any_length_ends():
    error = ValueError("0")
    for number in range(1, MAX_CAUSES * 3):
        following = ValueError(str(number))
        following.__cause__ = error
        error = following

    assert printed(error).splitlines()[-1] == f"ValueError: {MAX_CAUSES * 3 - 1}"
