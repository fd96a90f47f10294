"""Requests with typed errors, retries, idempotency keys and pages."""
import json
import random
import time
import uuid
from typing import Any, Callable, Dict, Iterator, Mapping, Optional
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from .operations import Operations
from .version import version


class SluiceError(Exception):
    """An answer that is an error. Its subclasses are its statuses."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str], body: Any) -> None:
        super().__init__(message)
        self.status = status
        #: One of the platform's codes, such as ``not_found``.
        self.code = code
        self.message = message
        #: Quote it when you report a fault.
        self.request_id = headers.get("X-Request-Id")
        #: When a repeat makes sense, in seconds; None where the answer does not say.
        self.retry_after = _seconds(headers)
        self.body = body


class InvalidRequest(SluiceError):
    """400: something in the request is missing or malformed."""


class Unauthorized(SluiceError):
    """401: the key is not known."""


class Forbidden(SluiceError):
    """403: the key may not do this, a sender is not verified, or sending is paused."""


class NotFound(SluiceError):
    """404: nothing has the id."""


class Conflict(SluiceError):
    """409: it does not fit the present state."""


class LimitReached(SluiceError):
    """429: a limit is used up; ``retry_after`` says when waiting helps."""


class Unavailable(SluiceError):
    """503: the platform cannot do it now."""


_by_status = {
    400: (InvalidRequest, "invalid_request"),
    401: (Unauthorized, "unauthorized"),
    403: (Forbidden, "forbidden"),
    404: (NotFound, "not_found"),
    409: (Conflict, "conflict"),
    429: (LimitReached, "rate_limited"),
    500: (SluiceError, "internal_error"),
    503: (Unavailable, "unavailable"),
}

_repeatable = {429, 502, 503, 504}

_first_wait = 0.5


def _seconds(headers: Mapping[str, str]) -> Optional[int]:
    text = headers.get("Retry-After")
    return int(text) if text is not None and text.isdecimal() else None


def _error(status: int, headers: Mapping[str, str], body: Any) -> SluiceError:
    """Reads the four shapes of an error's body."""
    kind, code = _by_status.get(status, (SluiceError, "unknown"))
    message = f"The platform answers {status}"
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        code, message = error.get("code", code), error.get("message", message)
    elif isinstance(error, str) and "message" in body:
        code, message = error, body["message"]
    elif isinstance(error, str):
        message = error
    return kind(status, code, message, headers, body)


class Sluice(Operations):
    """A platform, asked with an API key.

    ``retries`` is the number of repeats after the first attempt, ``maximum_wait`` the longest wait before a repeat in
    seconds: a platform that asks for more gets none. ``timeout`` is the longest silence of the platform in seconds.
    """

    def __init__(
        self, base_url: str, api_key: str, retries: int = 3, maximum_wait: float = 30, timeout: float = 60
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._api_key = api_key
        self._retries = retries
        self._maximum_wait = maximum_wait
        self._timeout = timeout

    def request(
        self,
        method: str,
        path: str,
        query: Optional[Mapping[str, Any]] = None,
        body: Any = None,
        idempotency_key: Optional[str] = None,
    ) -> Any:
        """Asks, and repeats what may be repeated. Every POST has an idempotency key, so it is carried out once."""
        url = self._base_url + path
        given = {name: value for name, value in (query or {}).items() if value is not None}
        if given:
            url += "?" + urlencode(given, doseq=True)
        headers = {"Authorization": f"Bearer {self._api_key}", "User-Agent": f"sluice-python/{version}"}
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        if method == "POST":
            headers["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        for attempt in range(self._retries + 1):
            failure: Exception
            try:
                return self._once(Request(url, data, headers, method=method))
            except SluiceError as error:
                failure, wait = error, self._wait(error, attempt)
            except OSError as error:
                failure, wait = error, self._growing(attempt)
            if wait is None or attempt == self._retries:
                raise failure
            time.sleep(wait)
        raise AssertionError("unreachable")

    def _once(self, request: Request) -> Any:
        try:
            with urlopen(request, timeout=self._timeout) as answer:
                return _content(answer.headers, answer.read())
        except HTTPError as error:
            with error:
                raise _error(error.code, error.headers, _content(error.headers, error.read())) from None

    def _growing(self, attempt: int) -> float:
        return min(self._maximum_wait, _first_wait * 2**attempt) * (1 + random.random() / 5)

    def _wait(self, error: SluiceError, attempt: int) -> Optional[float]:
        if error.status not in _repeatable:
            return None
        if error.retry_after is None:
            # A limit of a month does not end by waiting, and its answer names no time.
            return None if error.status == 429 else self._growing(attempt)
        return error.retry_after if error.retry_after <= self._maximum_wait else None

    @staticmethod
    def every_item(operation: Callable[..., Any], *places: str, **query: Any) -> Iterator[Dict[str, Any]]:
        """Every item of a list with cursors, page by page: ``sluice.every_item(sluice.events_list, type="telco.*")``."""
        cursor = None
        while True:
            page = operation(*places, **query, **({} if cursor is None else {"cursor": cursor}))
            yield from page["data"]
            cursor = page["pagination"].get("nextCursor")
            if not page["pagination"]["hasMore"] or cursor is None:
                return


def _content(headers: Mapping[str, str], body: bytes) -> Any:
    """JSON as what it is, other texts and audio as bytes."""
    if not headers.get("Content-Type", "").startswith("application/json"):
        return body
    try:
        return json.loads(body) if body else None
    except ValueError:
        return body
