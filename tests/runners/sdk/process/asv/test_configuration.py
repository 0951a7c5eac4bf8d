import pytest

from perfledger.process.asv.configuration import asv_configurations, benchmark_folders


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


def test_a_file_on_one_line_names_its_folder(tmp_path):
    (tmp_path / "asv.conf.json").write_text('{"version": 1, "benchmark_dir": "speed"} // "x"')
    (tmp_path / "speed").mkdir()

    assert benchmark_folders(tmp_path, ()) == ((tmp_path / "speed",), [])


def test_a_comment_that_names_a_folder_names_none(tmp_path):
    text = '{"url": "http://a", /* "benchmark_dir": "old",\n */ "benchmark_dir": "speed"}'
    (tmp_path / "asv.conf.json").write_text(text)
    (tmp_path / "speed").mkdir()

    assert benchmark_folders(tmp_path, ()) == ((tmp_path / "speed",), [])


@pytest.mark.parametrize("name", ["ci/speed/asv.conf.json", "a/b/c/asv.conf.jsonc"])
def test_asvs_file_may_lie_in_a_folder_of_a_folder(name, tmp_path):
    file = tmp_path / name
    (file.parent / "benchmarks").mkdir(parents=True)
    file.write_text("{}")

    assert benchmark_folders(tmp_path, ()) == ((file.parent / "benchmarks",), [])


def test_asvs_files_are_those_of_its_names_and_the_upper_ones_come_first():
    paths = ("b/asv.conf.json", "asv.conf.json", "a/b/asv.conf.jsonc", ".asv/asv.conf.json")
    others = ("asv.conf.json.orig", "a/b/c/d/asv.conf.json", "asv.py")

    assert asv_configurations((*paths, *others)) == (
        *("asv.conf.json", "b/asv.conf.json", "a/b/asv.conf.jsonc"),
    )
