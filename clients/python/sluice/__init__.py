"""The client of a Sluice platform. It needs Python 3.9 and nothing beside its standard library."""
from .client import (
    Conflict,
    Forbidden,
    InvalidRequest,
    LimitReached,
    NotFound,
    Sluice,
    SluiceError,
    Unauthorized,
    Unavailable,
)
from .version import version as __version__
from .webhook import SignatureInvalid, verify_webhook

__all__ = [
    "Conflict",
    "Forbidden",
    "InvalidRequest",
    "LimitReached",
    "NotFound",
    "SignatureInvalid",
    "Sluice",
    "SluiceError",
    "Unauthorized",
    "Unavailable",
    "__version__",
    "verify_webhook",
]
