"""Writes log records as lines of JSON, with secrets redacted."""

import logging
import re
from collections.abc import Mapping
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

REDACTED = "[redacted]"
_SECRET_KEY = re.compile(r"authorization|token|secret|password|private_key|cookie", re.IGNORECASE)
_SECRET_TEXT = re.compile(
    r"""
    gh[pousr]_\w+                                            # GitHub's tokens
    | github_pat_\w+
    | pl_[0-9a-f]{8}_[\w-]+                                  # ours
    | eyJ[\w-]+(?:\.[\w-]+)*                                 # JWT
    | (?<=Bearer\ )\S+ | (?<=bearer\ )\S+ | (?<=Basic\ )\S+
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    | (?<=://)[^\s/@:]*:[^\s/@]+(?=@)                        # user:password of a URL
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
# Their own handlers would log a second time.
_LIBRARIES = ("dbos", "uvicorn", "uvicorn.access", "uvicorn.error", "alembic")


def redact(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Redact secrets in a log event, by field name and by pattern."""
    return {key: _redact(key, value) for key, value in event.items()}


def configure_logging(stream: TextIO) -> None:
    """Write all log records of the process to `stream` as JSON, including those of libraries.

    Call it before the application starts, and run uvicorn with `log_config=None`.
    """
    shared: list[Processor] = [
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                redact,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    for name in _LIBRARIES:
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
    logging.getLogger("alembic").setLevel(logging.WARNING)  # every /readyz would log
    # The engine adds its own handler to a logger without one.
    logging.getLogger("dbos").handlers = [handler]
    logging.getLogger("dbos").propagate = False


def _redact(key: str, value: object) -> object:
    if _SECRET_KEY.search(key):
        return REDACTED
    match value:
        case str():
            return _SECRET_TEXT.sub(REDACTED, value)
        case Mapping():
            items = cast("Mapping[object, object]", value).items()
            return {str(inner): _redact(str(inner), part) for inner, part in items}
        case list() | tuple():
            return [_redact("", part) for part in cast("list[object]", value)]
        case bool() | int() | float() | None:
            return value
        case _:
            return _SECRET_TEXT.sub(REDACTED, str(value))
