"""Every error says to its caller what went wrong as the tree in errors.py draws it."""

import re

import pytest

from perfledger_service import errors
from perfledger_service.errors import GitHubError, PerfledgerError, RefusedError, UsageError

LINE = re.compile(r"^([│├└─ ]*)(\w+Error) .*→ (\d{3})(?: or (\d{3}))?, exit (\d)$", re.MULTILINE)
DRAWN = {
    name: (len(indent), {int(status) for status in statuses if status}, int(exit_code))
    for indent, name, *statuses, exit_code in LINE.findall(errors.__doc__ or "")
}
DEFINED = {
    name: value
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, PerfledgerError)
}


def test_the_tree_draws_every_error():
    assert set(DRAWN) == set(DEFINED)


@pytest.mark.parametrize("name", DRAWN)
def test_an_error_has_the_status_and_the_exit_code_that_are_drawn(name):
    _, statuses, exit_code = DRAWN[name]

    error = DEFINED[name]("what, which, what to do")

    assert error.status in statuses
    assert error.exit_code == exit_code
    assert str(error) == "what, which, what to do"


def test_an_error_stands_below_its_parent():
    depths = {name: depth for name, (depth, _, _) in DRAWN.items()}

    for name, value in DEFINED.items():
        for parent in value.__bases__:
            assert parent is Exception or depths[parent.__name__] < depths[name]
    assert issubclass(errors.NotFoundError, UsageError)


def test_a_refusal_is_of_who_asks_or_of_what_is_asked():
    assert RefusedError("no token", status=401).status == 401
    assert RefusedError("another project").status == 403
    assert RefusedError.status == 403


def test_githubs_error_says_whether_asking_again_may_help():
    lost = GitHubError("no answer", is_transient=True)
    refused = GitHubError("forbidden", github_status=403)

    assert (lost.github_status, lost.is_transient) == (None, True)
    assert (refused.github_status, refused.is_transient) == (403, False)
    assert refused.status == 502
