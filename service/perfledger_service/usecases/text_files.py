"""A file that somebody named in, its text out."""

from pathlib import Path

from perfledger_service.errors import NotFoundError, TooLargeError, UsageError


def read_text(path: Path, *, most_bytes: int) -> str:
    """Read a file of UTF-8; raises NotFoundError, TooLargeError and UsageError."""
    try:
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
        if len(data) > most_bytes:
            msg = f"{path} is larger than {most_bytes} bytes: split it"
            raise TooLargeError(msg)
        return data.decode("utf-8")
    except FileNotFoundError as error:
        msg = f"no file {path}"
        raise NotFoundError(msg) from error
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path} cannot be read as text: {error}"
        raise UsageError(msg) from error
