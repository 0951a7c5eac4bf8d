from perfledger_service.usecases.check.init import write_setup
from perfledger_service.usecases.inputs.repository_config import configured_table


def test_an_empty_repository_gets_a_configuration_a_workload_and_a_workflow(tmp_path):
    written = write_setup(tmp_path)

    assert [(one.path, one.is_new) for one in written] == [
        ("perfledger.toml", True),
        ("benchmarks/example.py", True),
        (".github/workflows/perfledger.yml", True),
    ]
    found = configured_table(tmp_path)
    assert found is not None
    assert (found[0], found[1]["paths"]) == ("perfledger.toml", ["benchmarks"])


def test_what_is_there_is_left_alone(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.perfledger]\nmargin = 0.05\n")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "mine.py").write_text("")

    written = {one.path: one.is_new for one in write_setup(tmp_path)}

    assert written["perfledger.toml"] is False
    assert written["benchmarks/example.py"] is False
    assert not (tmp_path / "perfledger.toml").exists()


def test_the_workflow_gives_the_token_only_to_steps_that_run_no_code_of_the_change(tmp_path):
    write_setup(tmp_path)
    text = (tmp_path / ".github" / "workflows" / "perfledger.yml").read_text()

    steps = text.split("\n      - ")
    holders = [step for step in steps if "secrets.PERFLEDGER_UPLOAD_TOKEN" in step]

    assert len(holders) == 2
    assert "perfledger history spreads" in holders[0]
    assert "perfledger upload" in holders[1]
    assert not any("perfledger check" in step for step in holders)


def test_init_twice_changes_nothing(tmp_path):
    write_setup(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    assert not any(one.is_new for one in write_setup(tmp_path))
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
