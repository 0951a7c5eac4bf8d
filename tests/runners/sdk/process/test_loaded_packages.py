import hashlib
import os
import tempfile
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from perfledger.package_code import SourcePackage
from perfledger.process import loaded_packages
from perfledger.process.loaded_packages import PackageRecorder, cache_folders
from perfledger.protocol import Command
from perfledger.records import FailureReason

WORKLOAD = """
import perfledger

@perfledger.workload(device="cpu")
def late():
    import mypkg

    def step():
        import mypkg.late
    return step
"""

WITHOUT_FILES = """
import resource
import perfledger

@perfledger.workload(device="cpu")
def few():
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    return lambda: sum(range(1_000))
"""


def modules(**files):
    loaded = {}
    for name, path in files.items():
        module = ModuleType(name.replace("__", "."))
        module.__file__ = str(path)
        loaded[module.__name__] = module
    return loaded


@pytest.fixture
def recorder(tmp_path):
    """Return a function that makes a recorder of mypkg, whose memory maps these files."""

    def make(*mapped, names=("mypkg",), own=("checkout",), caches=()):
        maps = tmp_path / "maps"
        maps.write_text("".join(f"7f00-7f01 r-xp 0000 08:01 1 {path}\n" for path in mapped))
        packages = [SourcePackage(name, "src") for name in names]
        return PackageRecorder(
            packages,
            own_folders=[tmp_path / each for each in own],
            repository=tmp_path / "repository",
            caches=[tmp_path / each for each in caches],
            prefixes=[str(tmp_path / "repository" / "conda")],
            mapped_files=maps,
        )

    return make


def test_a_package_of_the_checkout_is_own_and_its_folder_is_relative(recorder, write):
    root = write({"checkout/src/mypkg/__init__.py": "", "checkout/src/mypkg/a.py": "A = 1"})
    package = root / "checkout" / "src" / "mypkg"
    loaded = modules(mypkg=package / "__init__.py", mypkg__a=package / "a.py", os="/usr/lib/os.py")

    (recorded,) = recorder().record(loaded)

    assert (recorded.name, recorded.folder, recorded.is_own) == ("mypkg", "src/mypkg", True)
    assert recorded.modules == 2


def test_a_package_with_one_module_from_elsewhere_is_not_own(recorder, write):
    root = write({"checkout/mypkg/__init__.py": "", "site-packages/mypkg/a.py": ""})
    loaded = modules(
        mypkg=root / "checkout/mypkg/__init__.py", mypkg__a=root / "site-packages/mypkg/a.py"
    )

    (recorded,) = recorder().record(loaded)

    assert not recorded.is_own
    assert recorded.folder == str(root / "site-packages" / "mypkg")


def test_an_environment_of_the_side_is_own_as_well(recorder, write):
    root = write({"environment/site-packages/mypkg/__init__.py": ""})
    loaded = modules(mypkg=root / "environment/site-packages/mypkg/__init__.py")

    (recorded,) = recorder(own=("checkout", "environment")).record(loaded)

    assert recorded.is_own
    assert recorded.folder == str(root / "environment/site-packages/mypkg")


def test_the_digest_follows_the_contents_and_not_the_place(recorder, write):
    texts = {"one/mypkg.py": "A = 1", "two/mypkg.py": "A = 1", "three/mypkg.py": "A = 2"}
    root = write(texts)

    first, second, third = (
        recorder().record(modules(mypkg=root / path))[0].digest for path in texts
    )

    assert first == second != third


def test_compiled_modules_are_recorded_however_they_were_loaded(recorder, write):
    names = ("__init__.py", "_C.so", "kernels.so")
    root = write({f"site-packages/mypkg/{name}": name for name in names} | {"other/x.so": ""})
    init, imported, mapped = (root / "site-packages" / "mypkg" / name for name in names)
    loaded = modules(mypkg=init, mypkg___C=imported)

    (recorded,) = recorder(imported, mapped, root / "other/x.so").record(loaded)

    assert [(each.path, each.size_bytes, each.digest) for each in recorded.compiled] == [
        (str(path), len(path.name), hashlib.sha256(path.name.encode()).hexdigest())
        for path in (imported, mapped)
    ]


@pytest.mark.parametrize(
    ("path", "is_own"),
    [
        ("checkout/lib/fast.so", True),
        ("environment/fast/fast.so.1.2", True),
        ("repository/build/fast.so", False),
    ],
)
def test_a_library_of_a_checkout_is_recorded_however_it_was_loaded(recorder, write, path, is_own):
    library = write({path: "code"}) / path

    (recorded,) = recorder(library, own=("checkout", "environment")).record({})

    assert (recorded.name, recorded.is_own, recorded.modules) == ("fast", is_own, 1)
    assert recorded.digest == recorded.compiled[0].digest == hashlib.sha256(b"code").hexdigest()


@pytest.mark.parametrize(
    "path",
    [
        "elsewhere/fast.so",
        "repository/.venv/lib/python3/site-packages/numpy/core.so",
        "environment/lib/python3/site-packages/numpy/core.so",
        "repository/conda/lib/libmkl.so",
    ],
)
def test_an_installed_library_and_one_of_the_system_are_not_recorded(recorder, write, path):
    library = write({path: "code"}) / path

    assert recorder(library, own=("checkout", "environment")).record({}) == ()


def test_what_torch_compiled_in_this_process_is_recorded_wherever_it_lies(recorder, write):
    root = write({"cache/scan/scan.so": "one", "cache/scan/scan_v2.so": "two"})
    versions = SimpleNamespace(entries={"scan": SimpleNamespace(version=2)})
    extensions = SimpleNamespace(JIT_EXTENSION_VERSIONER=versions)
    libraries = [root / "cache" / "scan" / name for name in ("scan.so", "scan_v2.so")]

    recorded = recorder(*libraries).record({"torch.utils.cpp_extension": extensions})

    assert [(each.name, each.is_own) for each in recorded] == [("scan", False), ("scan_v2", False)]


def test_a_package_within_a_namespace_is_told_from_its_neighbours(recorder):
    loaded = modules(org__mine="/a/org/mine/__init__.py", org__other="/b/org/other/__init__.py")

    recorded = recorder(names=("org.mine",)).record(loaded)

    assert [each.name for each in recorded] == ["org.mine"]


def test_modules_of_any_kind_do_not_disturb(recorder):
    class Hostile:
        __slots__ = ()

        def __getattr__(self, name):
            raise SystemExit

    gone, impossible = ModuleType("mypkg"), ModuleType("mypkg.c")
    gone.__file__, impossible.__file__ = "/no/such/file.py", "/no/such\0file.py"
    loaded = {"mypkg": gone, "mypkg.a": Hostile(), 3: gone, "mypkg.b": ModuleType("mypkg.b")}
    loaded["mypkg.c"] = impossible

    (recorded,) = recorder().record(loaded)

    assert (recorded.modules, recorded.is_own) == (1, False)


def test_a_child_records_what_its_step_imported_too(write, run_child):
    root = write(
        {
            "bench.py": WORKLOAD,
            "src/mypkg/__init__.py": "",
            "src/mypkg/late.py": "LATE = True",
        }
    )

    answer = run_child(
        root,
        Command.MEASURE,
        paths=("bench.py",),
        packages=(SourcePackage("mypkg", "src"),),
        workloads=("bench:late",),
    )

    (recorded,) = answer.about("bench:late")["packages"]
    assert (recorded["name"], recorded["folder"]) == ("mypkg", "src/mypkg")
    assert (recorded["modules"], recorded["is_own"]) == (2, True)


def test_a_child_that_can_open_no_files_cannot_say_what_ran(write, run_child):
    root = write({"bench.py": WITHOUT_FILES})

    answer = run_child(root, Command.MEASURE, paths=("bench.py",), workloads=("bench:few",))

    failed = answer.about("bench:few")
    assert failed["reason"] == FailureReason.RAISED
    assert "its limit is 3), so that it is unknown which code ran" in failed["detail"]


@pytest.mark.parametrize(
    ("path", "is_recorded"),
    [
        ("cache/mypkg/fast.so", True),
        ("cache/uv/archive-v0/k/numpy/core.so", False),
        ("cache/.triton/cache/launcher.so", False),
        ("cache/torchinductor_me/ab/cd.so", False),
        ("cache/venv/lib/site-packages/numpy/core.so", False),
        ("elsewhere/fast.so", False),
    ],
)
def test_a_library_that_a_package_compiled_into_a_cache_is_recorded(
    recorder, write, path, is_recorded
):
    library = write({path: "code"}) / path

    recorded = recorder(library, caches=("cache",)).record({})

    assert [each.folder for each in recorded] == [str(library.parent)] * is_recorded
    assert not any(each.is_own for each in recorded)


def test_a_huge_library_in_a_cache_is_another_projects(recorder, write, monkeypatch):
    monkeypatch.setattr(loaded_packages, "MAX_CACHED_BYTES", 3)
    library = write({"cache/fast.so": "code"}) / "cache/fast.so"

    assert recorder(library, caches=("cache",)).record({}) == ()


@pytest.mark.parametrize(
    ("path", "is_recorded"),
    [
        ("cache/mypkg/kernels.py", True),
        ("cache/huggingface/modules/kernels.py", True),
        ("cache/torchinductor_me/kernels.py", False),
        ("cache/archive-v0/kernels.py", False),
        ("elsewhere/kernels.py", False),
        ("cache/checkout/kernels.py", False),
    ],
)
def test_code_that_was_copied_into_a_cache_is_recorded_by_its_file(
    recorder, write, path, is_recorded
):
    file = write({path: "ROUNDS = 1"}) / path
    make = recorder(caches=("cache",), own=("cache/checkout",))

    recorded = make.record(modules(copies__kernels=file, again=file))

    assert [(each.name, each.folder) for each in recorded] == [
        ("kernels.py", str(file.parent))
    ] * is_recorded
    assert not any(each.is_own or each.compiled for each in recorded)


@pytest.mark.parametrize(
    ("variables", "cache"),
    [
        ({"HOME": "/home/u"}, "/home/u/.cache"),
        ({"HOME": "/home/u", "XDG_CACHE_HOME": "/c"}, "/c"),
    ],
)
def test_caches_are_the_users_and_the_temporary_folder(variables, cache, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    assert cache_folders(variables) == (Path(cache), tmp_path)


def test_a_user_without_a_home_has_the_temporary_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as for an unknown user

    assert cache_folders({}) == (tmp_path,)


def test_without_a_folder_to_write_to_there_is_the_users_cache(monkeypatch):
    def refuse():
        raise FileNotFoundError

    monkeypatch.setattr(tempfile, "gettempdir", refuse)

    assert cache_folders({"HOME": "/home/u"}) == (Path("/home/u/.cache"),)
