"""Finds the service that a command uses."""

from typing import TYPE_CHECKING, Annotated

from perfledger_service.cli.option_groups import how, out
from perfledger_service.errors import UsageError

if TYPE_CHECKING:  # this would make every help slow
    from perfledger_service.usecases.inputs.upload_target import UploadTarget

UploadUrl = Annotated[
    str | None, out("the service's root URL (or PERFLEDGER_UPLOAD_URL)", metavar="URL")
]
# For a command whose result does not depend on uploading.
ServiceUrl = Annotated[
    str | None, how("root URL of the service to ask (or PERFLEDGER_UPLOAD_URL)", metavar="URL")
]


def service_at(upload_url: str | None) -> "UploadTarget":
    """Return the service of the option, else of the environment; raises UsageError without one."""
    from perfledger_service.settings.service import actions_settings, upload_settings
    from perfledger_service.usecases.inputs.upload_target import upload_target

    target = upload_target(upload_url, upload_settings(), actions_settings())
    if target is None:
        msg = "no service given: pass --upload-url or set PERFLEDGER_UPLOAD_URL"
        raise UsageError(msg)
    return target
