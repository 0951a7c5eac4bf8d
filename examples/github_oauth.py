"""The stand-in's web flow: a browser is sent to GitHub, comes back with a code, and that is used.

POST /_stand_in/browser {"login": "alice"} is who is signed in at GitHub in the browser, or
{"login": "alice", "is_denied": true} for somebody who does not let the App know.
"""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from typing import Protocol
from urllib.parse import urlencode

from github_state import Document, Reply, State, refuse

CLIENT_ID = "Iv1.standin"
CLIENT_SECRET = "stand-in client secret"


class Request(Protocol):
    """The parts of a request that are read, and headers for the answer."""

    query: dict[str, list[str]]
    document: Document
    credential: str
    reply_headers: dict[str, str]


def set_browser(state: State, request: Request) -> Reply:
    state.browser = dict(request.document)
    return 201, {"id": state.account_id(state.browser["login"])} | state.browser


def authorize(state: State, request: Request) -> Reply:
    query = {name: values[0] for name, values in request.query.items()}
    if query.get("client_id") != CLIENT_ID or query.get("code_challenge_method") != "S256":
        refuse(404, "Not Found")
    reply = {"state": query["state"]}
    if state.browser.get("is_denied"):
        reply |= {"error": "access_denied"}
    else:
        reply |= {"code": secrets.token_hex(10)}
        state.codes[reply["code"]] = {
            "login": state.browser["login"],
            "challenge": query["code_challenge"],
            "redirect_uri": query["redirect_uri"],
        }
    request.reply_headers["Location"] = f"{query['redirect_uri']}?{urlencode(reply)}"
    return 302, None


def exchange(state: State, request: Request) -> Reply:
    """Answer every faulty request with status 200, as GitHub does; a code works once."""
    document = request.document
    secret = (document.get("client_id"), document.get("client_secret"))
    if secret != (CLIENT_ID, CLIENT_SECRET):
        return 200, {"error": "incorrect_client_credentials"}
    code = state.codes.pop(document.get("code", ""), None)
    if code is None:
        return 200, {"error": "bad_verification_code"}
    digest = hashlib.sha256(document.get("code_verifier", "").encode()).digest()
    is_verified = urlsafe_b64encode(digest).decode().rstrip("=") == code["challenge"]
    if not is_verified or document.get("redirect_uri") != code["redirect_uri"]:
        return 200, {"error": "bad_verification_code"}
    token = f"ghu_{secrets.token_hex(18)}"
    state.user_tokens[token] = code["login"]
    return 200, {"access_token": token, "token_type": "bearer", "scope": ""}


def get_user(state: State, request: Request, own_login: str) -> Reply:
    login = state.user_tokens.get(request.credential)
    if login is None:
        return 200, {"login": own_login, "id": state.account_id(own_login), "type": "Bot"}
    return 200, {"login": login, "id": state.account_id(login), "type": "User"}
