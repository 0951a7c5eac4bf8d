"""Cases of one test: what is not worth a service of its own for each."""

from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def case(**values: object) -> Generator[None]:
    """Name a case's values beneath whatever fails in it."""
    try:
        yield
    except BaseException as error:
        error.add_note("in the case of " + ", ".join(f"{k}={v!r}" for k, v in values.items()))
        raise
