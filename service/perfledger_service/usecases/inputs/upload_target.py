"""Chooses the service that bundles are uploaded to, and how a command authenticates."""

from dataclasses import dataclass, field

from perfledger_runners.bundles.actions_identity import ActionsIdentity
from perfledger_runners.bundles.upload import TOKEN, UploadError, check_url
from perfledger_service.errors import SettingsError, UsageError
from perfledger_service.settings.service import ActionsSettings, UploadSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadTarget:
    """A service that bundles are uploaded to, and the project's token for it.

    Without it, `identity` obtains a token from GitHub for each request.
    """

    url: str
    token: str = field(default="", repr=False)
    identity: ActionsIdentity | None = None

    def credential(self) -> str:
        """Return a token for the next request; raise ServiceRequestError without one."""
        return self.token if self.identity is None else self.identity.token_for(self.url)


def upload_target(
    url: str | None, settings: UploadSettings, actions: ActionsSettings
) -> UploadTarget | None:
    """Return where to upload: `url`, else the setting; None without a service.

    A GitHub Actions job with `id-token: write` needs no project token. Raises UsageError for an
    address to which a token must not be sent, and SettingsError without a valid token, so that a
    check fails before it measures.
    """
    address = url or settings.upload_url
    if not address:
        return None
    try:
        check_url(address)
    except UploadError as error:
        raise UsageError(str(error)) from error
    token = settings.upload_token.get_secret_value() if settings.upload_token else ""
    secret = actions.id_token_request_token
    if not token and secret is not None and actions.id_token_request_url:
        identity = ActionsIdentity(actions.id_token_request_url, secret.get_secret_value())
        return UploadTarget(url=address, identity=identity)
    if not TOKEN.fullmatch(token):
        state = "has characters that no token has" if token else "is not set"
        msg = (
            f"PERFLEDGER_UPLOAD_TOKEN {state}: perfledger server project add prints a token; a job "
            "of GitHub Actions with `permissions: id-token: write` needs none"
        )
        raise SettingsError(msg)
    return UploadTarget(url=address, token=token)
