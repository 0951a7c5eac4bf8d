"""Servers on this machine that take notices: a webhook over https, and mail over TLS."""

import base64
import datetime as dates
import ipaddress
import socketserver
import ssl
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

USER, PASSWORD = "ledger", "s3cret-canary"
SMTP_GREETING, SMTP_READY = b"220 mail.example ESMTP\r\n", b"220 go ahead\r\n"


class Certificates:
    """A certificate of localhost, and what servers and their clients need of it."""

    def __init__(self, folder):
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        names = (x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
        day = dates.datetime(2020, 1, 1, tzinfo=dates.UTC)
        certificate = (
            x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
            .not_valid_before(day)
            .not_valid_after(day.replace(year=2099))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        file = folder / "localhost.pem"
        file.write_bytes(
            pem
            + key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.load_cert_chain(file)
        self.client = ssl.create_default_context(cadata=pem.decode())


class Webhook(ThreadingHTTPServer):
    """Takes notices, or answers as it is told; `received` has path, headers and body of each."""

    daemon_threads = True

    def __init__(self, tls):
        super().__init__(("127.0.0.1", 0), _WebhookHandler)
        self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.url = f"https://localhost:{self.server_port}/services/T0/canary"
        self.received, self.answers = [], []

    def handle_error(self, request, client_address):
        """Ignore clients that do not trust the certificate, or hang up."""


class _WebhookHandler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, dict(self.headers), body))
        status, headers, answer = (
            self.server.answers.pop(0) if self.server.answers else (200, {}, b"ok")
        )
        if callable(answer):
            answer(self)
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        """Log nothing."""


class MailServerStandIn(socketserver.ThreadingTCPServer):
    """Takes mail of one user; `received` has sender, recipients and text of each.

    `refusals` are replies by the command that they answer instead.
    """

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, tls, *, is_encrypted_at_once, has_starttls=True):
        super().__init__(("127.0.0.1", 0), _MailHandler)
        self.tls, self.is_encrypted_at_once, self.has_starttls = (
            tls,
            is_encrypted_at_once,
            has_starttls,
        )
        self.scheme = "smtps" if is_encrypted_at_once else "smtp"
        self.port = self.server_address[1]
        self.received, self.refusals, self.commands = [], {}, []

    def handle_error(self, request, client_address):
        """Ignore clients that hang up."""


class _MailHandler(socketserver.BaseRequestHandler):
    server: MailServerStandIn

    def handle(self):
        self.is_encrypted = self.server.is_encrypted_at_once
        if self.is_encrypted:
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        self.file = self.request.makefile("rb")
        self.recipients = []
        self.request.sendall(SMTP_GREETING)
        while line := self.file.readline():
            command = line.split(maxsplit=1)[0].upper().decode()
            self.server.commands.append((command, self.is_encrypted))
            if command in self.server.refusals:
                self.request.sendall(self.server.refusals[command])
                continue
            if not getattr(self, f"on_{command.lower()}")(line):
                return

    def finish(self):
        self.file.close()
        self.request.close()

    def reply(self, text):
        self.request.sendall(f"{text}\r\n".encode())
        return True

    def on_ehlo(self, _):
        lines = ["mail.example", "AUTH PLAIN"]
        if self.server.has_starttls and not self.is_encrypted:
            lines.append("STARTTLS")
        parts = [f"250-{line}" for line in lines[:-1]] + [f"250 {lines[-1]}"]
        return self.reply("\r\n".join(parts))

    def on_starttls(self, _):
        self.request.sendall(SMTP_READY)
        self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        self.file, self.is_encrypted = self.request.makefile("rb"), True
        return True

    def on_auth(self, line):
        given_text = base64.b64decode(line.split()[2]).decode()
        is_user = self.is_encrypted and given_text == f"\0{USER}\0{PASSWORD}"
        return self.reply("235 welcome" if is_user else "535 who are you")

    def on_mail(self, line):
        self.sender = line.decode().strip()
        return self.reply("250 ok")

    def on_rcpt(self, line):
        self.recipients.append(line.decode().strip())
        return self.reply("250 ok")

    def on_data(self, _):
        self.reply("354 go on")
        lines = []
        while (line := self.file.readline()) not in {b".\r\n", b""}:
            lines.append(line)
        self.server.received.append((self.sender, tuple(self.recipients), b"".join(lines)))
        return self.reply("250 taken")

    def on_rset(self, _):
        return self.reply("250 ok")

    def on_quit(self, _):
        self.reply("221 bye")
        return False


@contextmanager
def running_server(server):
    """Serve until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
