import pytest

from perfledger.process.asv_configuration import benchmark_folders


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ('{"benchmark_dir": "speed"}', "speed"),
        ("{\n  benchmark_dir: 'speed',\n}", "speed"),
        ('{\n  // "benchmark_dir": "old",\n  "benchmark_dir": "speed"}', "speed"),
        ('{\n  // "benchmark_dir": "old",\n}', "benchmarks"),
        ("{}", "benchmarks"),
    ],
)
def test_asvs_own_file_names_the_folder(text, folder, tmp_path):
    (tmp_path / "asv.conf.json").write_text(text)
    (tmp_path / folder).mkdir()

    assert benchmark_folders(tmp_path, ()) == ((tmp_path / folder,), [])


def test_a_folder_that_two_files_name_is_one_folder(tmp_path):
    (tmp_path / "asv.conf.json").write_text('{"benchmark_dir": "speed"}')
    (tmp_path / "speed").mkdir()
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "asv.conf.json").write_text('{"benchmark_dir": "../speed"}')

    assert benchmark_folders(tmp_path, ()) == ((tmp_path / "speed",), [])


def test_paths_of_the_configuration_come_first(tmp_path):
    (tmp_path / "asv.conf.json").write_text('{"benchmark_dir": "speed"}')
    (tmp_path / "other").mkdir()

    assert benchmark_folders(tmp_path, ("other",)) == ((tmp_path / "other",), [])


@pytest.mark.parametrize("path", ["gone", "../outside"])
def test_a_path_that_is_not_in_the_checkout_is_a_failure(path, tmp_path):
    folders, (failure,) = benchmark_folders(tmp_path, (path,))

    assert folders == ()
    assert "no folder of asv benchmarks" in failure.detail
