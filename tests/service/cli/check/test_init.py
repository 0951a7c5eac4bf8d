import pytest

FILES = ["perfledger.toml", "benchmarks/example.py", ".github/workflows/perfledger.yml"]


def test_a_new_repository_gets_three_files_and_a_next_step(run, tmp_path):
    shown = run("init", tmp_path)

    lines = shown.splitlines()
    assert lines[0].startswith("found plain Python, no package, ")
    assert lines[1:4] == [f"wrote {name}" for name in FILES]
    assert lines[4].startswith("There is no .venv here")
    assert lines[5:] == [
        "Commit these files, change something and run: perfledger check",
    ]
    assert all((tmp_path / name).is_file() for name in FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_there_is_kept(run, tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# mine\n")

    assert f"kept the existing {name}" in run("init", tmp_path) or name == "perfledger.toml"
    assert path.read_text() == "# mine\n"
