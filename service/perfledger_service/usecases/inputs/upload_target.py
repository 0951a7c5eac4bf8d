"""Chooses the service that bundles are uploaded to."""

from dataclasses import dataclass, field

from perfledger_runners.bundles.upload import TOKEN, UploadError, check_url
from perfledger_service.errors import SettingsError, UsageError
from perfledger_service.settings.service import UploadSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadTarget:
    """A service that bundles are uploaded to, and the project's token for it."""

    url: str
    token: str = field(repr=False)


def upload_target(url: str | None, settings: UploadSettings) -> UploadTarget | None:
    """Return where to upload: `url`, else the setting; None without a service.

    Raises UsageError for an address that a token must not be sent to, and SettingsError without a
    valid token: a check fails on both before it measures.
    """
    address = url or settings.upload_url
    if not address:
        return None
    try:
        check_url(address)
    except UploadError as error:
        raise UsageError(str(error)) from error
    token = settings.upload_token.get_secret_value() if settings.upload_token else ""
    if not TOKEN.fullmatch(token):
        state = "has characters that no token has" if token else "is not set"
        msg = f"PERFLEDGER_UPLOAD_TOKEN {state}: perfledger server project add prints a token"
        raise SettingsError(msg)
    return UploadTarget(url=address, token=token)
