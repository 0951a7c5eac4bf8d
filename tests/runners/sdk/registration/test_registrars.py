"""The modules whose import registers something."""

import sys
from functools import wraps
from types import ModuleType

from perfledger.registration.registrars import (
    registrar_of,
    repeated_line,
    running_modules,
    second_registration,
)


def names_seen(code: str, name: str) -> tuple[str, ...]:
    """Run code as the body of a module and return what it keeps as SEEN."""
    module = ModuleType(name)
    vars(module)["running_modules"] = running_modules
    exec(compile(code, f"{name}.py", "exec"), vars(module))  # a module's body
    return tuple(vars(module)["SEEN"])


def test_the_module_being_imported_comes_before_the_one_that_imports_it():
    inner = "SEEN = running_modules()"
    vars(sys.modules[__name__])["_inner"] = lambda: names_seen(inner, "inner")
    outer = f"import sys\nSEEN = sys.modules[{__name__!r}]._inner()"

    assert names_seen(outer, "outer")[:2] == ("inner", "outer")


def test_functions_of_other_modules_do_not_register():
    called = "def of_library():\n    return running_modules()\nSEEN = of_library()"

    assert names_seen(called, "file")[0] == "file"


def of_this_module():
    return None


def test_a_global_function_registers_for_its_own_module_whoever_calls_the_decorator():
    def of_this_call():
        return None

    assert registrar_of(of_this_module, ["file"]) == __name__
    assert registrar_of(of_this_call, ["file"]) == "file"
    assert registrar_of(of_this_call, []) == ""


def test_a_second_registration_names_both():
    assert second_registration("benchmarks/a.py", "benchmarks/b.py") == (
        "benchmarks/a.py registers it already, and so does benchmarks/b.py: register it in one of "
        "them"
    )


def step(code):
    names = {}
    exec(code, names)
    return names["step"]


def test_a_line_may_register_again_what_is_imported_again():
    source = "def step():\n    return None\n"
    code = compile(source, "file.py", "exec")
    one, other = step(code), step(compile(source, "file.py", "exec"))

    assert repeated_line(["file"], ["file"], functions=(one, other)) == ""
    assert repeated_line(["file"], ["file"], functions=(one, one)) == ""
    assert "params" in repeated_line(["file"], ["file"], functions=(one, step(code)))
    assert repeated_line(["a"], ["b", "a"], functions=(one, one)) == second_registration("a", "b")
    assert repeated_line([], [], functions=(one, one)) == ""


def test_wrappers_that_a_decorator_makes_are_several_functions_unless_they_wrap():
    def decorated(function):
        @wraps(function)
        def wrapper():
            return function

        return wrapper

    one, other = decorated(len), decorated(sum)
    for each in (one, other):
        del each.__wrapped__

    assert "functools.wraps" in repeated_line([], [], functions=(one, other))
    assert repeated_line([], [], functions=(decorated(one), decorated(lambda: 1))) == ""
