"""The Python client against a running platform. Prints a line for each check that holds; a failure ends it."""
import json
import os
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(root / "python"))

from sluice import LimitReached, NotFound, SignatureInvalid, Sluice, SluiceError, verify_webhook  # noqa: E402

sluice = Sluice(os.environ["API"], os.environ["KEY"])


def sends() -> None:
    body = {"from": os.environ["FROM"], "to": "bob@example.com", "subject": "Hello", "text": "Hi Bob"}
    assert sluice.emails_create(body=body)["state"] == "queued"


def reads() -> None:
    assert len(sluice.directory_get_area_code("212", limit=1)["exchanges"]) == 1


def fails() -> None:
    try:
        sluice.directory_get_carrier("ZZZ9")
    except NotFound as error:
        assert (error.status, error.code) == (404, "not_found") and error.request_id
        return
    raise AssertionError("no error")


def lists() -> None:
    for tn in ("2125550103", "2125550104", "2125550105"):
        sluice.telco_lookup(tn)
    for _ in range(50):
        found = {event["eventId"] for event in sluice.every_item(sluice.events_list, type="telco.*", limit=1)}
        if len(found) >= 3:
            return
    raise AssertionError("too few events")


def waits() -> None:
    limit = LimitReached(429, "rate_limited", "", {"Retry-After": "3600"}, None)
    assert limit.retry_after == 3600 and isinstance(limit, SluiceError)
    assert sluice._wait(limit, 0) is None


def verifies() -> None:
    for vector in json.loads((root / "vectors.json").read_text("utf8")):
        valid = True
        try:
            event = verify_webhook(vector["headers"], vector["body"], vector["secrets"], now=vector["now"])
            assert event["eventId"] == "evt_00040000-0001-8000-8000-0000d0000000"
        except SignatureInvalid:
            valid = False
        assert valid == vector["valid"], vector["name"]


for name, check in {
    "sends an email, repeated under one key": sends,
    "reads an area code": reads,
    "raises an error with a type": fails,
    "goes through every page of a list": lists,
    "waits no longer than it may": waits,
    "verifies every vector": verifies,
}.items():
    check()
    print(name)
