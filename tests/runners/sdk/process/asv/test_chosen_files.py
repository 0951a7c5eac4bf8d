"""Files of asv benchmarks are chosen by their text; nothing here is imported."""

import pytest

from perfledger.process.asv.chosen_files import benchmark_files, chosen_files
from perfledger.protocol import BenchmarkSuite, ChildRequest, Command

SUMS = "class Sums:\n    def time_sum(self):\n        pass\n"


def has(word):
    return lambda module, text: word in module or word in text


@pytest.fixture
def write_benchmarks(write):
    """Return a function that writes benchmarks/NAME.py files into a folder; it returns a request.

    The request is for asv's benchmarks.
    """

    def make(folder="checkout", suite=BenchmarkSuite.ASV, **sources):
        files = {f"{folder}/benchmarks/{name}.py": text for name, text in sources.items()}
        root = str(write(files) / folder)
        return ChildRequest(command=Command.LIST, root=root, repository=root, paths=(), suite=suite)

    return make


@pytest.fixture
def files_of(write_benchmarks):
    """Return a function that returns the texts of written files by their stems."""

    def texts(**sources):
        files = benchmark_files(write_benchmarks(**sources))
        return {each.module.rpartition(".")[2]: each.text for each in files.values()}

    return texts


def test_the_files_that_name_what_is_chosen_are_told_from_the_others(write_benchmarks):
    request = write_benchmarks(sums=SUMS, raises="raise RuntimeError\n")

    assert chosen_files([request], has("time_sum")) == (
        ("benchmarks/sums.py",),
        ("benchmarks/raises.py",),
    )
    assert chosen_files([request], has("benchmarks.sums"))[0] == ("benchmarks/sums.py",)
    assert chosen_files([request], has("nowhere"))[0] == ()


def test_a_file_that_names_it_on_one_side_alone_is_chosen_for_both(write_benchmarks):
    renamed = SUMS.replace("time_sum", "time_total")
    requests = (
        write_benchmarks("base", sums=SUMS, other="pass\n"),
        write_benchmarks("head", sums=renamed, other="pass\n"),
    )

    assert chosen_files(requests, has("time_sum")) == (
        ("benchmarks/sums.py",),
        ("benchmarks/other.py",),
    )


@pytest.mark.parametrize("suite", [BenchmarkSuite.PERFLEDGER, BenchmarkSuite.PYTEST])
def test_files_of_other_suites_are_never_left_out(suite, write_benchmarks):
    request = write_benchmarks(suite=suite, sums=SUMS)

    assert chosen_files([request], has("nowhere")) == ((), ())


def test_a_file_without_a_module_name_may_hold_anything(write_benchmarks):
    request = write_benchmarks(**{"two.dots": SUMS, "sums": SUMS})

    assert chosen_files([request], has("nowhere")) == (
        ("benchmarks/two.dots.py",),
        ("benchmarks/sums.py",),
    )


@pytest.mark.parametrize(
    "source",
    [
        "from .sums import Sums\nclass More(Sums):\n    pass\n",
        "from benchmarks.sums import *\n",
        "from benchmarks import sums\nclass More(sums.Sums):\n    pass\n",
        "import benchmarks.sums as s\nclass More(s.Sums):\n    pass\n",
    ],
)
def test_what_a_file_takes_from_another_one_counts_as_its_own(source, files_of):
    assert "time_sum" in files_of(sums=SUMS, more=source)["more"]


@pytest.mark.parametrize(
    "source",
    [
        "class Broken(:\n",
        "from product.bench import *\n",
        "from product import Base\nclass More(Base):\n    pass\n",
        "class More(make_base()):\n    pass\n",
        "setattr(More, 'time_' + name, function)\n",
        "More = type('More', (), methods)\n",
        "globals().update(made)\n",
    ],
)
def test_a_file_whose_names_its_text_may_lack_has_no_text(source, files_of):
    assert files_of(more=source) == {"more": None}


@pytest.mark.parametrize(
    "source",
    [
        "import product\nclass More(object):\n    kind = type(3)\n",
        "from product import G\nclass Base:\n    graph = G()\nclass More(Base):\n    n = 1\n",
    ],
)
def test_a_file_that_uses_the_product_has_its_own_text(source, files_of):
    assert str(files_of(more=source)["more"]).endswith(source)


def test_two_files_that_import_each_other_have_both_texts(files_of):
    texts = files_of(one="from benchmarks import two\n", two="from benchmarks import one\n")

    assert all("import one" in text and "import two" in text for text in texts.values())
