"""Faults of changed dependencies: what a lock file or requirements install on one side."""

from functools import partial

from fault_cases.case import NOT_MEASURED, REGRESSED, FaultCase, replaced
from fault_cases.code import PACKAGE, SLOW_PACKAGE
from fault_cases.copies import archive_of, copied

CALLER = """
import perfledger
from dep import work
@perfledger.workload()
def steps():
    return work
"""


def wheel(version: str, source: str) -> bytes:
    """Return a wheel of the distribution `dep` with this source."""
    info = f"dep-{version}.dist-info"
    return archive_of(
        {
            "dep/__init__.py": source,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: dep\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: faults\nRoot-Is-Purelib: true\n"
            "Tag: py3-none-any\n",
            f"{info}/RECORD": f"dep/__init__.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n"
            f"{info}/RECORD,,\n",
        }
    )


REQUIREMENTS = "--no-index\n--find-links wheels\ndep==1.0\n"
WHEELS = {
    "wheels/dep-1.0-py3-none-any.whl": wheel("1.0", PACKAGE),
    "wheels/dep-2.0-py3-none-any.whl": wheel("2.0", SLOW_PACKAGE),
}
POETRY = '[[package]]\nname = "dep"\nversion = "1.0"\n'
DEPENDENCIES = (
    FaultCase(
        name="a slower version in requirements.txt",
        group="dependencies",
        base={"benchmarks/b.py": CALLER, "requirements.txt": REQUIREMENTS, **WHEELS},
        head={"requirements.txt": replaced(REQUIREMENTS, "1.0", "2.0")},
        expected=REGRESSED,
        words=r"installed packages differ on head: dep 1.0 (→|\\u2192) 2.0",
    ),
    FaultCase(
        name="a slower wheel of the same version",
        group="dependencies",
        base={
            "benchmarks/b.py": CALLER,
            "requirements.txt": "./wheels/dep-1.0-py3-none-any.whl\n",
            **WHEELS,
        },
        head={"wheels/dep-1.0-py3-none-any.whl": wheel("1.0", SLOW_PACKAGE)},
        prepare=partial(copied, files={"dep/__init__.py": PACKAGE}),
        expected=REGRESSED,
        words="dep-1.0-py3-none-any.whl",
    ),
    FaultCase(
        name="a lock file that nothing here installs",
        group="dependencies",
        base={
            "poetry.lock": POETRY,
            "benchmarks/b.py": replaced(CALLER, "from dep", "from mypkg"),
            "mypkg/__init__.py": PACKAGE,
        },
        head={"poetry.lock": replaced(POETRY, "1.0", "2.0")},
        prepare=lambda _root, _beside: {"PATH": "/usr/bin:/bin"},
        expected=NOT_MEASURED,
        words="poetry.lock",
    ),
    FaultCase(
        name="constraints that nothing here installs",
        group="dependencies",
        base={
            "benchmarks/b.py": replaced(CALLER, "from dep", "from mypkg"),
            "mypkg/__init__.py": PACKAGE,
            "constraints.txt": "dep==1.0\n",
        },
        head={"constraints.txt": "dep==2.0\n"},
        expected=NOT_MEASURED,
        words="constraints.txt",
    ),
)
