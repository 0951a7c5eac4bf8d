"""Real repositories whose workloads from elsewhere replace more than workloads."""

import pytest

from perfledger_service.errors import NotMeasuredError
from tests.service.usecases.check.revisions.checkout import WORKLOAD, Checkout


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


@pytest.fixture
def package(checkout):
    """A base whose workload is inside the package that it measures."""
    (checkout.root / "mine").mkdir()
    for name, text in (("core.py", "SIZE = 1\n"), ("speed.py", WORKLOAD)):
        (checkout.root / "mine" / name).write_text(text)
    checkout.commit(perfledger='paths = ["mine"]')
    return checkout


@pytest.fixture
def benchmarks(checkout):
    """A base whose workload has a helper in its own folder."""
    folder = checkout.root / "benchmarks"
    folder.mkdir()
    (folder / "data.py").write_text("SIZE = 1\n")
    (folder / "work.py").write_text(f"from data import SIZE\n{WORKLOAD}")
    checkout.commit()
    return checkout


def test_workloads_from_elsewhere_that_hide_the_whole_change_measure_nothing(benchmarks):
    (benchmarks.root / "benchmarks" / "data.py").write_text("SIZE = 2\n")
    (benchmarks.root / "README.md").write_text("words\n")
    head = benchmarks.commit(perfledger="margin = 0.2")

    words = r"nothing of .* benchmarks/data.py changed .* set `paths` \(now benchmarks\) to the"
    with pytest.raises(NotMeasuredError, match=words):
        benchmarks.configuration_from("HEAD", benchmarks.resolve(base="HEAD~1", head=head))


def test_workloads_from_elsewhere_that_hide_a_part_of_the_change_say_so(benchmarks):
    (benchmarks.root / "benchmarks" / "data.py").write_text("SIZE = 2\n")
    head = benchmarks.commit(other="1")
    sides = benchmarks.resolve(base="HEAD~1", head=head)

    configuration = benchmarks.configuration_from("HEAD", sides)

    assert "benchmarks/data.py changed and is no file of workloads" in configuration.notes[1]


@pytest.mark.parametrize(
    ("path", "text"), [("core.py", "SIZE = 2\n"), ("speed.py", f"SIZE = 2\n{WORKLOAD}")]
)
def test_workloads_from_elsewhere_that_hide_code_of_the_product_measure_nothing(
    package, path, text
):
    (package.root / "mine" / "use.py").write_text("from mine import core, speed\n")
    package.commit(perfledger='paths = ["mine/core.py", "mine/speed.py"]')
    (package.root / "mine" / path).write_text(text)
    head = package.commit(other="1")
    sides = package.resolve(base="HEAD~1", head=head)

    words = rf"code of mine/{path}, which mine/use.py imports, changed, but .* keep workloads in"
    with pytest.raises(NotMeasuredError, match=words):
        package.configuration_from("HEAD", sides)


def test_a_workload_beside_code_that_nothing_imports_is_beside_code_of_the_product(checkout):
    (checkout.root / "train.py").write_text(f"SIZE = 1\n{WORKLOAD}")
    checkout.commit(perfledger='paths = ["train.py"]')
    (checkout.root / "train.py").write_text(f"SIZE = 2\n{WORKLOAD}")
    head = checkout.commit(other="1")
    sides = checkout.resolve(base="HEAD~1", head=head)

    with pytest.raises(NotMeasuredError, match=r"code of train.py changed, but --workloads-from"):
        checkout.configuration_from("HEAD", sides)


def test_a_changed_workload_in_a_file_of_the_product_hides_nothing(checkout):
    (checkout.root / "train.py").write_text(f"SIZE = 1\n{WORKLOAD}")
    checkout.commit(perfledger='paths = ["train.py"]')
    (checkout.root / "train.py").write_text(f"SIZE = 1\n{WORKLOAD.replace('sum', 'max')}")
    head = checkout.commit(other="1")
    sides = checkout.resolve(base="HEAD~1", head=head)

    assert len(checkout.configuration_from("HEAD", sides).notes) == 1


@pytest.mark.parametrize(
    ("path", "suite"), [("speed.py", "perfledger"), ("conftest.py", "pytest"), ("core.py", "asv")]
)
def test_changed_workloads_are_what_an_overlay_is_for(package, path, suite):
    (package.root / "mine" / path).write_text(f"{WORKLOAD}# more\n")
    head = package.commit(perfledger=f'suite = "{suite}"\npaths = ["mine"]')

    configuration = package.configuration_from("HEAD", package.resolve(base="HEAD~1", head=head))

    assert len(configuration.notes) == 1
