"""Downloads archives and logs, for which GitHub redirects to other servers."""

from requests import PreparedRequest, Response, Session
from requests.auth import AuthBase
from requests.exceptions import RequestException

from perfledger_service.errors import GitHubError
from perfledger_service.github.api import REDIRECT, GitHubApi
from perfledger_service.github.session import CONNECT_TIMEOUT_S, READ_TIMEOUT_S

_CHUNK_BYTES = 2**16
_OK = 200


def download(api: GitHubApi, path: str, *, auth: AuthBase, max_bytes: int) -> bytes:
    """Return the content at a path; raise GitHubError if it is too large or cannot be fetched.

    The other server gets no token: its address already grants the right to read.
    """
    answer = api.request("GET", path, auth=auth, is_download=True)
    target = answer.headers.get("Location", "")
    if answer.status_code != REDIRECT or not api.may_lead_to(target):
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
    except (RequestException, ValueError) as error:  # requests reads even an invalid Location
        # Only the error's type: its text may quote the address, with which anybody can read the
        # content.
        msg = f"the download of /{path} from GitHub failed: {type(error).__name__}"
        raise GitHubError(msg, is_transient=True) from None


def _content(response: Response, path: str, max_bytes: int) -> bytes:
    if response.status_code != _OK:
        msg = f"the server to which GitHub redirects /{path} answered {response.status_code}"
        raise GitHubError(msg, is_transient=True)
    content = bytearray()
    for chunk in response.iter_content(_CHUNK_BYTES):
        content += chunk
        if len(content) > max_bytes:
            msg = f"the download of /{path} from GitHub has more than {max_bytes} bytes"
            raise GitHubError(msg)
    return bytes(content)


def _no_authentication(request: PreparedRequest) -> PreparedRequest:
    """Leave a request as it is; without an authentication, requests would read ~/.netrc."""
    return request
