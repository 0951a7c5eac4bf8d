import json

import pytest

FILES = ["perfledger.toml", "benchmarks/example.py", ".github/workflows/perfledger.yml"]


def test_a_new_repository_gets_three_files_and_a_next_step(run, tmp_path):
    output = run("init", tmp_path)

    assert output.startswith("Found plain Python, no package, ")
    assert [line.split() for line in output.splitlines() if line.endswith("new  ")] == [
        [name, "new"] for name in FILES
    ]
    assert "No .venv here" in output
    last = "Commit these files, change something and run: perfledger check\n"
    assert output.endswith(last)
    assert all((tmp_path / name).is_file() for name in FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_there_is_kept(run, tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# mine\n")

    files = json.loads(run("init", tmp_path, "--json"))["files"]

    assert {file["path"]: file["is_new"] for file in files}[name] is False
    assert path.read_text() == "# mine\n"
