import sys

import pytest

from perfledger.process.distributions import MAX_DISTRIBUTIONS, loaded_distributions


@pytest.fixture
def installed(write):
    """Return a function that lays out a site-packages folder and returns it."""

    def lay_out(files):
        return str(write({f"site-packages/{name}": text for name, text in files.items()})) + (
            "/site-packages"
        )

    return lay_out


def test_only_distributions_with_loaded_modules_are_listed(installed):
    site = installed({"torch-2.13.0+cpu.dist-info/METADATA": "", "jax-0.8.dist-info/METADATA": ""})

    assert loaded_distributions({"torch.nn", "sys"}, [site]) == {"torch": "2.13.0+cpu"}


@pytest.mark.parametrize(
    "files",
    [
        {"top_level.txt": "yaml\n_yaml\n"},
        {"RECORD": "yaml/__init__.py,sha256=x,1\n"},
        {"RECORD": "bin/tool,,\nyaml.py,sha256=x,1\n"},
    ],
)
def test_a_distribution_is_known_by_its_modules_too(installed, files):
    site = installed({f"PyYAML-6.0.dist-info/{name}": text for name, text in files.items()})

    assert loaded_distributions({"yaml"}, [site]) == {"PyYAML": "6.0"}
    assert loaded_distributions({"numpy"}, [site]) == {}


def test_the_first_of_two_on_the_path_is_the_one_that_is_imported(installed, tmp_path):
    site = installed({"torch-2.13.dist-info/METADATA": ""})
    (tmp_path / "own" / "torch-2.14.dist-info").mkdir(parents=True)

    found_loaded_distributions = loaded_distributions(
        {"torch"}, ["", "/no/such", "\0", str(tmp_path / "own"), site]
    )

    assert found_loaded_distributions == {"torch": "2.14"}


def test_the_list_has_an_end(installed):
    site = installed({f"a{n}-1.dist-info/METADATA": "" for n in range(MAX_DISTRIBUTIONS + 5)})
    names = {f"a{n}" for n in range(MAX_DISTRIBUTIONS + 5)}

    assert len(loaded_distributions(names, [site])) == MAX_DISTRIBUTIONS


def test_this_process_has_loaded_pytest():
    assert loaded_distributions(sys.modules, sys.path)["pytest"] == pytest.__version__
