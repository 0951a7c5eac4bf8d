"""Defines the settings of the service, of uploads and of prices."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from perfledger.time_units import HOURS_PER_DAY
from perfledger_service.settings.check import ENV_PREFIX
from perfledger_service.settings.quotas import QuotaSettings
from perfledger_service.settings.retention import RetentionSettings
from perfledger_service.settings.review import ReviewSettings
from perfledger_service.settings.validation import validate_settings

DEFAULT_PORTS = {"http": 80, "https": 443}


def browser_url(text: str) -> str:
    """Return a URL as browsers write it: the host in lower case, without the usual port."""
    url = urlsplit(text)
    try:
        port = url.port
    except ValueError:
        return text  # refused where it is used
    host = f"[{url.hostname}]" if ":" in (url.hostname or "") else url.hostname or ""
    if port is not None and port != DEFAULT_PORTS.get(url.scheme):
        host = f"{host}:{port}"
    return url._replace(netloc=host).geturl() if url.hostname and "@" not in url.netloc else text


class ServiceSettings(RetentionSettings, ReviewSettings, QuotaSettings):
    """The settings of a service's operator; secrets have no default."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore", frozen=True)

    database_url: str = Field(
        default="sqlite:///perfledger.db",
        description="SQLite file or PostgreSQL, as a SQLAlchemy URL",
    )
    public_url: Annotated[str, AfterValidator(browser_url)] = Field(
        default="http://127.0.0.1:8765",
        description="the URL of the pages, used in links of comments",
    )
    github_api_url: str = Field(
        default="https://api.github.com",
        description="the exact root of GitHub's API; nothing is added to it",
    )
    github_app_id: str = Field(
        default="", description="the GitHub App that comments and adds the check"
    )
    github_private_key: SecretStr | None = Field(
        default=None, description="its private key; the App may write checks and pull requests"
    )
    github_token: SecretStr | None = Field(
        default=None,
        description=(
            "a token instead of an App, see below; or that of [a runner](../how-to/github-jobs.md)"
        ),
    )
    actions_issuer: str = Field(
        default="https://token.actions.githubusercontent.com",
        description="issuer of [tokens of runs](uploads.md)",
    )
    github_client_id: str = Field(
        default="",
        description=("the App's client id: people [sign in](../how-to/sign-in.md) with GitHub"),
    )
    github_client_secret: SecretStr | None = Field(
        default=None, description="the App's client secret"
    )
    proxy_header: str = Field(
        default="",
        description=(
            "the header in which a proxy names [who signed in there](../how-to/sign-in.md)"
        ),
    )
    proxy_addresses: str = Field(
        default="", description="addresses or networks of proxies, separated by commas"
    )
    session_idle_hours: float = Field(
        default=12.0,
        gt=0,
        le=366 * HOURS_PER_DAY,
        description="a session ends after this long without use",
    )
    session_days: float = Field(
        default=7.0, gt=0, le=366, description="every session ends after this long"
    )
    webhook_secret: SecretStr | None = Field(
        default=None, description="the secret with which GitHub signs its webhooks, see below"
    )
    previous_webhook_secret: SecretStr | None = Field(
        default=None,
        description=("the previous secret, also accepted while GitHub switches to a new one"),
    )
    public_read: bool = Field(
        default=False,
        description=("anyone who can reach the service may read all pages without signing in"),
    )
    notice_webhooks: SecretStr | None = Field(
        default=None,
        description=(
            "where [notices](../how-to/notices.md) go: `NAME=URL` of webhooks, with spaces"
        ),
    )
    notice_private_hosts: bool = Field(
        default=False, description="webhooks may have private addresses"
    )
    notice_stale_prices: bool = Field(
        default=True,
        description=("readers of the weekly report are notified once when prices are outdated"),
    )
    smtp_url: SecretStr | None = Field(
        default=None,
        description=("mail server: `smtps://USER:PASSWORD@HOST:PORT`, or `smtp://…` for STARTTLS"),
    )
    smtp_sender: str = Field(default="", description="the sender's address of mail")
    metrics_token: SecretStr | None = Field(
        default=None,
        description=(
            "for [`/metrics`](../how-to/operating.md); without it only this machine can read them"
        ),
    )


class UploadSettings(BaseSettings):
    """Destination of the bundles of `perfledger upload` and `check --upload-url`."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore", frozen=True)

    upload_url: str = Field(
        default="",
        description=("the service's root, for `upload`, `check --upload-url` and `history`"),
    )
    upload_token: SecretStr | None = Field(
        default=None,
        description=("the project's token; a job with `id-token: write` [needs none](uploads.md)"),
    )


class ActionsSettings(BaseSettings):
    """Address and credential with which a GitHub Actions job requests its token.

    GitHub sets both if the job may have a token.
    """

    model_config = SettingsConfigDict(env_prefix="ACTIONS_", extra="ignore", frozen=True)

    id_token_request_url: str = ""
    id_token_request_token: SecretStr | None = None


class PriceSettings(BaseSettings):
    """Prices and inputs that replace the packaged ones; flags override them."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore", frozen=True)

    prices: str = Field(default="", description="the sheet written by `perfledger prices update`")
    overrides: str = Field(default="", description="your own prices and inputs, TOML or CSV")
    contract: str = Field(default="", description="a contract's prices, TOML or CSV")
    exchange_rates: str = Field(
        default="",
        description=("the ECB's table of exchange rates, CSV, for prices in other currencies"),
    )
    show_own_prices: bool = Field(
        default=False,
        description="pages show own and contract prices to every viewer, not only to maintainers",
    )
    google_api_key: SecretStr | None = Field(
        default=None, description="an API key for Google's Cloud Billing Catalog"
    )


def service_settings() -> ServiceSettings:
    """Read the service's settings from the environment."""
    return validate_settings(ServiceSettings, {})


def upload_settings() -> UploadSettings:
    """Read the upload's settings from the environment."""
    return validate_settings(UploadSettings, {})


def actions_settings() -> ActionsSettings:
    """Read from the environment how a GitHub Actions job gets its token."""
    return validate_settings(ActionsSettings, {})


def price_settings() -> PriceSettings:
    """Read the price settings from the environment."""
    return validate_settings(PriceSettings, {})
