"""Checks that a delivery is from the platform."""
import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union


class SignatureInvalid(Exception):
    """A delivery is not from the platform, or is too old."""


def _bytes(text: str) -> Optional[bytes]:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _without_prefix(secret: str) -> str:
    return secret[len("whsec_") :] if secret.startswith("whsec_") else secret


_Signed = Tuple[str, str, List[bytes], Callable[[str], Optional[bytes]]]


def _signed(headers: Mapping[str, str]) -> _Signed:
    """The platform's own header, else those of Standard Webhooks."""
    given = {name.lower(): value for name, value in headers.items()}
    own = given.get("x-platformwebhook-signature")
    if own is not None:
        parts = [part.partition("=") for part in own.split(",")]
        moment = next((value for name, _, value in parts if name == "t"), "")
        found = [bytes.fromhex(v) for n, _, v in parts if n == "v1" and re.fullmatch(r"(?:[0-9a-f]{2})+", v)]
        return moment, f"{moment}.", found, lambda secret: secret.encode()
    try:
        name, moment, signature = (given[f"webhook-{part}"] for part in ("id", "timestamp", "signature"))
    except KeyError:
        raise SignatureInvalid("The delivery has no signature") from None
    decoded = [_bytes(one[3:]) for one in signature.split(" ") if one.startswith("v1,")]
    found = [one for one in decoded if one is not None]
    return moment, f"{name}.{moment}.", found, lambda secret: _bytes(_without_prefix(secret))


def verify_webhook(
    headers: Mapping[str, str],
    body: Union[bytes, str],
    secrets: Union[str, Sequence[str]],
    tolerance: int = 300,
    now: Optional[float] = None,
) -> Dict[str, Any]:
    """The event of a delivery. ``body`` is exactly what was received; during a rotation there are two secrets."""
    moment, prefix, found, key_of = _signed(headers)
    if re.fullmatch(r"[0-9]{1,12}", moment) is None:
        raise SignatureInvalid("The delivery has no time")
    if abs(int(moment) - (time.time() if now is None else now)) > tolerance:
        raise SignatureInvalid("The delivery's time is too far from now")
    raw = body.encode() if isinstance(body, str) else body
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        key = key_of(secret)
        if key is None:
            continue
        digest = hmac.new(key, prefix.encode() + raw, hashlib.sha256).digest()
        if any(hmac.compare_digest(digest, one) for one in found):
            return json.loads(raw)
    raise SignatureInvalid("No signature of the delivery fits")
