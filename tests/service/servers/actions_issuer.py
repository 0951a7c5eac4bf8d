"""An issuer of GitHub Actions tokens: its keys over real HTTP, and the tokens that it signs."""

import json
import threading
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

AUDIENCE = "https://ledger.example"


def new_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@cache
def first_key():
    """Return the key that every issuer begins with: making one takes a tenth of a second."""
    return new_key()


class Issuer:
    """Keys by their names, as GitHub publishes them, and tokens of runs of octo/models."""

    def __init__(self, now):
        self.now = now
        self.url = ""
        self.keys = {"first": first_key()}
        self.requests: list[str] = []
        self.answer: tuple[int, bytes] | None = None  # in place of the keys

    def document(self):
        public = [
            jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
            | {"kid": name, "use": "sig", "alg": "RS256"}
            for name, key in self.keys.items()
        ]
        return json.dumps({"keys": public}).encode()

    def claims(self, **values):
        """Return the claims of a run of the default branch by a push, valid for five minutes."""
        seconds = int(self.now.timestamp())
        fields = {
            "iss": self.url,
            "aud": AUDIENCE,
            "iat": seconds,
            "nbf": seconds,
            "exp": seconds + int(timedelta(minutes=5).total_seconds()),
            "jti": "token-1",
            "sub": "repo:octo@583231/models@1296269:ref:refs/heads/main",
            "repository": "octo/models",
            "repository_id": "1296269",
            "repository_owner_id": "583231",
            "event_name": "push",
            "ref": "refs/heads/main",
            "sha": "b" * 40,
            "run_id": "77",
        }
        return {name: one for name, one in (fields | values).items() if one is not None}

    def token(self, *, key="first", kid=None, algorithm="RS256", headers=None, **values):
        """Return a signed token with these claims; None leaves one of the usual ones out."""
        secret = self.keys[key] if isinstance(key, str) and key in self.keys else key
        return jwt.encode(
            self.claims(**values),
            secret,
            algorithm=algorithm,
            headers={"kid": kid or "first"} | (headers or {}),
        )


@contextmanager
def serving_issuer(issuer):
    """Serve an issuer's keys on a free loopback port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            issuer.requests.append(self.path)
            status, body = issuer.answer or (200, issuer.document())
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    issuer.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
