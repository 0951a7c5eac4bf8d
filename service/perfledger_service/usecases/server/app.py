"""Registers the service's GitHub App, and writes its settings into a file."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from perfledger_service.errors import SettingsError, UsageError
from perfledger_service.github.app.manifest import MAX_NAME, AppSecrets, exchange_code
from perfledger_service.settings.network_addresses import is_loopback
from perfledger_service.settings.service import ServiceSettings
from perfledger_service.values.service_views.registered_app import RegisteredApp


def app_name(settings: ServiceSettings, name: str = "") -> str:
    """Return the name of the App; by default it has the service's host, as names are unique.

    Raises UsageError for a name that GitHub refuses, and SettingsError for a service address to
    which GitHub cannot send webhooks.
    """
    url = urlsplit(settings.public_url)
    if url.scheme not in {"http", "https"} or not url.hostname or is_loopback(url.hostname):
        msg = (
            f"PERFLEDGER_PUBLIC_URL is {settings.public_url}, where GitHub cannot send webhooks: "
            "set it to the address at which people and GitHub reach the service"
        )
        raise SettingsError(msg)
    if len(name) > MAX_NAME:
        msg = f"--name has {len(name)} characters: GitHub allows {MAX_NAME}"
        raise UsageError(msg)
    return name.strip() or f"perfledger {url.hostname}"[:MAX_NAME].rstrip(" .-")


def register_app(
    settings: ServiceSettings, path: Path, *, wait_for_code: Callable[[], str]
) -> RegisteredApp:
    """Register the App and write its settings into a new file that only its owner may read.

    The file is opened before the browser is asked, because GitHub sends the secrets once. Raises
    UsageError for a file that exists or cannot be written, and GitHubError if GitHub fails.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        msg = f"{path} exists: name a new file"
        raise UsageError(msg) from None
    except OSError as error:
        msg = f"cannot write {path}: {error.strerror}"
        raise UsageError(msg) from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            app, app_secrets = exchange_code(settings.github_api_url, wait_for_code())
            file.write(settings_text(settings, app, app_secrets))
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    return app


def settings_text(settings: ServiceSettings, app: RegisteredApp, app_secrets: AppSecrets) -> str:
    """Return lines that sh and systemd read the same way: both keep a quoted value's newlines."""
    values = {
        "PUBLIC_URL": settings.public_url,
        "GITHUB_API_URL": settings.github_api_url,
        "GITHUB_APP_ID": str(app.id),
        "GITHUB_PRIVATE_KEY": app_secrets.private_key.get_secret_value().strip(),
        "GITHUB_CLIENT_ID": app.client_id,
        "GITHUB_CLIENT_SECRET": app_secrets.client_secret.get_secret_value(),
    }
    if app_secrets.webhook_secret is not None:
        values["WEBHOOK_SECRET"] = app_secrets.webhook_secret.get_secret_value()
    return "".join(f"PERFLEDGER_{name}={_quoted_value(value)}\n" for name, value in values.items())


def _quoted_value(text: str) -> str:
    """Return a value in double quotes, where sh and systemd escape the same characters."""
    for character in '\\"$`':
        text = text.replace(character, f"\\{character}")
    return f'"{text}"'
