import msgspec
import pytest

from perfledger.package_code import CompiledModule, LoadedPackage
from perfledger_runners.children.package_parser import PackageFiles

DIGEST = "a" * 64
FIELDS = {
    "name": "mypkg",
    "folder": "src/my\u200bpkg",
    "is_own": True,
    "modules": 3,
    "digest": DIGEST,
    "compiled": [{"path": "src/mypkg/fast.so", "size_bytes": 10, "digest": ""}],
}


def test_a_package_is_read_with_paths_that_can_be_shown():
    package = msgspec.convert(FIELDS, PackageFiles).package()

    assert package == LoadedPackage(
        name="mypkg",
        folder=package.folder,
        is_own=True,
        modules=3,
        digest=DIGEST,
        compiled=(CompiledModule(path="src/mypkg/fast.so", size_bytes=10, digest=""),),
    )
    assert package.folder.isprintable()


@pytest.mark.parametrize(
    "changes",
    [{"modules": 0}, {"digest": "x"}, {"name": ""}, {"folder": "a\nb"}, {"modules": 2**63}],
)
def test_an_impossible_package_is_refused(changes):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(FIELDS | changes, PackageFiles)
