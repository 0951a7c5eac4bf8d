"""Downloads archives and logs, which GitHub keeps on other servers and answers with a redirect."""

from requests import PreparedRequest, Response, Session
from requests.auth import AuthBase
from requests.exceptions import RequestException

from perfledger_service.errors import GitHubError
from perfledger_service.github.api import FOUND, GitHubApi
from perfledger_service.github.session import CONNECT_TIMEOUT_S, READ_TIMEOUT_S

_CHUNK_BYTES = 2**16
_OK = 200


def download(api: GitHubApi, path: str, *, auth: AuthBase, max_bytes: int) -> bytes:
    """Return what GitHub keeps at a path; raise GitHubError where it is too large or away.

    The other server gets no token: its address says who may read there.
    """
    answer = api.request("GET", path, auth=auth, is_download=True)
    target = answer.headers.get("Location", "")
    if answer.status_code != FOUND or not api.may_lead_to(target):
        msg = f"GitHub answered GET /{path} without an address of the form https://host/path"
        raise GitHubError(msg, is_transient=True)
    try:
        with (
            Session() as session,
            session.get(
                target,
                auth=_no_authentication,
                timeout=(CONNECT_TIMEOUT_S, READ_TIMEOUT_S),
                allow_redirects=False,
                stream=True,
            ) as response,
        ):
            return _content(response, path, max_bytes)
    except (RequestException, ValueError) as error:  # requests reads even a bad Location
        # Only the error's type: its text may quote the address, which lets anybody read there.
        msg = f"what GitHub keeps at /{path} did not arrive: {type(error).__name__}"
        raise GitHubError(msg, is_transient=True) from None


def _content(response: Response, path: str, max_bytes: int) -> bytes:
    if response.status_code != _OK:
        msg = f"the server to which GitHub leads from /{path} answered {response.status_code}"
        raise GitHubError(msg, is_transient=True)
    content = bytearray()
    for chunk in response.iter_content(_CHUNK_BYTES):
        content += chunk
        if len(content) > max_bytes:
            msg = f"what GitHub keeps at /{path} has more than {max_bytes} bytes"
            raise GitHubError(msg)
    return bytes(content)


def _no_authentication(request: PreparedRequest) -> PreparedRequest:
    """Leave a request as it is: without this, requests looks into ~/.netrc."""
    return request
