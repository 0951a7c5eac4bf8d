"""Signs and verifies JSON Web Tokens; no other module uses PyJWT.

The token does not influence what is accepted: one algorithm, and the caller's keys. Times are
checked here and not by PyJWT, which reads the clock itself.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NoReturn

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from perfledger_service.errors import RefusedError

ALGORITHM = "RS256"
CLOCK_SKEW = timedelta(seconds=60)
# GitHub's tokens have about 2 kB.
MAX_TOKEN = 16 * 1024
MAX_ID = 200  # characters of a token's or a key's id
PublicKey = jwt.PyJWK
_REQUIRED = ("exp", "iat", "nbf", "iss", "aud", "jti")


class _Times(msgspec.Struct):
    exp: float
    nbf: float
    iat: float


class _JsonWebKey(msgspec.Struct):
    kid: str
    kty: str
    use: str = "sig"


class _JsonWebKeys(msgspec.Struct):
    keys: tuple[msgspec.Raw, ...]


_JSON_WEB_KEYS_DECODER = msgspec.json.Decoder(_JsonWebKeys)
_JSON_WEB_KEY_DECODER = msgspec.json.Decoder(_JsonWebKey)


def sign_app_token(app_id: str, private_key: str, *, lifetime: timedelta, now: datetime) -> str:
    """Return a token with which a GitHub App identifies itself.

    GitHub refuses a token from the future, so it is dated back by the tolerated clock difference.
    """
    claims = {"iss": app_id, "iat": _seconds(now - CLOCK_SKEW), "exp": _seconds(now + lifetime)}
    return jwt.encode(claims, _rsa_key(private_key), algorithm=ALGORITHM)


@lru_cache(maxsize=1)
def _rsa_key(private_key: str) -> RSAPrivateKey:
    # Checking the key takes longer than many signatures, and each request as the App needs one.
    key = load_pem_private_key(private_key.encode(), password=None)
    if not isinstance(key, RSAPrivateKey):
        msg = "not an RSA key"
        raise TypeError(msg)
    return key


def public_keys(document: bytes) -> dict[str, PublicKey]:
    """Return the RSA keys of a JSON Web Key Set by id, without keys of other kinds.

    Raises ValueError for any other document.
    """
    try:
        key_set = _JSON_WEB_KEYS_DECODER.decode(document)
        heads = [(_JSON_WEB_KEY_DECODER.decode(raw), raw) for raw in key_set.keys]
        return {
            head.kid: PublicKey(
                msgspec.json.decode(raw, type=dict[str, object]), algorithm=ALGORITHM
            )
            for head, raw in heads
            if (head.kty, head.use) == ("RSA", "sig")
        }
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, jwt.PyJWTError) as error:
        msg = f"not a set of keys: {error}"
        raise ValueError(msg) from error


def key_id(token: str) -> str:
    """Return the id of the key that a token claims to be signed with; raise RefusedError."""
    if len(token) > MAX_TOKEN:
        refuse(f"it has more than {MAX_TOKEN} characters")
    try:
        name = jwt.get_unverified_header(token).get("kid")
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        refuse(str(error))
    if not isinstance(name, str) or not 0 < len(name) <= MAX_ID:
        refuse("it names no key")
    return name


def verified_claims(
    token: str, key: PublicKey, *, issuer: str, audience: str, now: datetime
) -> Mapping[str, object]:
    """Return the claims of a token signed by this key; raise RefusedError (401) for any other.

    Issuer and audience must match exactly; clocks may differ by CLOCK_SKEW.
    """
    try:
        claims: dict[str, object] = jwt.decode(
            token,
            key,
            algorithms=[ALGORITHM],
            issuer=issuer,
            audience=audience,
            options={
                "require": list(_REQUIRED),
                "strict_aud": True,
                "verify_exp": False,
                "verify_nbf": False,
                "verify_iat": False,
            },
        )
        times = msgspec.convert(claims, _Times)
    except (jwt.PyJWTError, msgspec.ValidationError, ValueError, RecursionError) as error:
        refuse(str(error))
    moment, skew = now.timestamp(), CLOCK_SKEW.total_seconds()
    if not moment < times.exp + skew:
        refuse("it has expired")
    if not (moment >= times.nbf - skew and moment >= times.iat - skew):
        refuse("it is not valid yet: compare the clocks")
    return claims


def _seconds(moment: datetime) -> int:
    return int(moment.timestamp())


def refuse(reason: str) -> NoReturn:
    """Raise RefusedError (401) for a token, without quoting it."""
    msg = f"the token of the GitHub Actions run is not valid: {reason}"
    raise RefusedError(msg, status=401) from None
