"""Sends notices by mail, through an SMTP server that encrypts (TLS or STARTTLS)."""

import re
import smtplib
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import format_datetime
from hashlib import sha256
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import SecretStr

from perfledger_service.errors import NoticeServiceError, SettingsError
from perfledger_service.values.notices.notice import MAX_ADDRESS, NoticeMessage

URL_SETTING, SENDER_SETTING = "PERFLEDGER_SMTP_URL", "PERFLEDGER_SMTP_SENDER"
TIMEOUT_S = 15.0  # for each reply
PORTS = {"smtps": 465, "smtp": 587}
# No quoted names, comments or lists: one address that cannot break a header or a command.
ADDRESS = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?"
)
_PERMANENT = 500  # SMTP replies from this code on are permanent refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """The mail server and the sender's address."""

    is_encrypted_at_once: bool  # otherwise STARTTLS
    host: str
    port: int
    user: str
    password: SecretStr
    sender: str


def read_mail_server(url: SecretStr | None, sender: str) -> MailServer | None:
    """Return the mail server that the settings name, None if they name none.

    Raises SettingsError, which never quotes the URL: it holds a password.
    """
    if url is None:
        return None
    parts = _split(url.get_secret_value())
    if parts is None:
        msg = f"{URL_SETTING} is not smtps://USER:PASSWORD@HOST:PORT, or smtp:// for STARTTLS"
        raise SettingsError(msg)
    if not is_address(sender):
        msg = f"{SENDER_SETTING} is not an email address: set it to one such as perf@example.com"
        raise SettingsError(msg)
    return MailServer(
        is_encrypted_at_once=parts.scheme == "smtps",
        host=parts.hostname or "",
        port=parts.port or PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=SecretStr(unquote(parts.password or "")),
        sender=sender,
    )


def is_address(text: str) -> bool:
    """Return whether a text is one plain email address."""
    return len(text) <= MAX_ADDRESS and ADDRESS.fullmatch(text) is not None


class MailSender:
    """Client of a mail server; without a server it sends no mail."""

    def __init__(self, server: MailServer | None, *, tls: ssl.SSLContext | None = None) -> None:
        self._server = server
        self._tls = tls or ssl.create_default_context()

    def send(self, address: str, message: NoticeMessage) -> None:
        """Send a message to an address; raise NoticeServiceError if it is not accepted.

        A message sent again because the reply was lost keeps its Message-ID.
        """
        server = self._server
        if server is None:
            msg = f"no mail is sent without {URL_SETTING}: set it, or remove the target"
            raise NoticeServiceError(msg, is_transient=True)
        mail = _mail(server.sender, address, message)
        try:
            with self._connection(server) as smtp:
                smtp.send_message(mail)
        except smtplib.SMTPRecipientsRefused as error:
            [(code, _)] = error.recipients.values()
            msg = f"the mail server rejected the recipient {address} ({code})"
            raise NoticeServiceError(msg, is_transient=code < _PERMANENT) from None
        except smtplib.SMTPAuthenticationError as error:
            msg = f"the mail server rejected the user of {URL_SETTING} ({error.smtp_code})"
            raise NoticeServiceError(msg, is_transient=True) from None
        except smtplib.SMTPResponseException as error:
            msg = f"the mail server refused a message ({error.smtp_code})"
            raise NoticeServiceError(msg, is_transient=error.smtp_code < _PERMANENT) from None
        except (OSError, smtplib.SMTPException) as error:
            msg = f"the mail server did not accept the mail ({type(error).__name__})"
            raise NoticeServiceError(msg, is_transient=True) from None

    @contextmanager
    def _connection(self, server: MailServer) -> Generator[smtplib.SMTP]:
        if server.is_encrypted_at_once:
            smtp: smtplib.SMTP = smtplib.SMTP_SSL(
                server.host, server.port, timeout=TIMEOUT_S, context=self._tls
            )
        else:
            smtp = smtplib.SMTP(server.host, server.port, timeout=TIMEOUT_S)
        with smtp:
            if not server.is_encrypted_at_once:
                smtp.starttls(context=self._tls)  # raises if the server does not support it
            if server.user:
                smtp.login(server.user, server.password.get_secret_value())
            yield smtp


def _mail(sender: str, address: str, message: NoticeMessage) -> EmailMessage:
    domain = sender.rpartition("@")[2]
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = sender, address, _subject(message.title)
    mail["Date"] = format_datetime(message.written_at)
    mail["Auto-Submitted"] = "auto-generated"
    mail["Message-ID"] = _message_id(address, message.key, domain)
    if message.is_reply:
        thread = _message_id(address, message.thread, domain)
        mail["In-Reply-To"], mail["References"] = thread, thread
    mail.set_content(message.text)
    return mail


def _subject(text: str) -> str:
    """Return a subject without encoded words, which Python would decode, perhaps to line breaks."""
    return text.replace("=?", "= ?")


def _message_id(address: str, key: str, domain: str) -> str:
    digest = sha256(f"{address}\n{key}".encode()).hexdigest()[:32]
    return f"<{digest}@{domain}>"


def _split(url: str) -> SplitResult | None:
    """Return the parts of a mail server's URL, None for any other text.

    User and password must be ASCII: smtplib sends nothing else.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    is_fine = parts.scheme in PORTS and parts.hostname and port != 0
    is_plain = url.isascii() and unquote(url).isascii() and unquote(url).isprintable()
    return parts if is_fine and is_plain else None
