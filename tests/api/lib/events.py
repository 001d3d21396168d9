# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of the API: lists, waits, streams."""

import json

from client import Response
from stack import wait_until


def page(api, query="", **options):
    answer = api.request("GET", "/v1/events" + (f"?{query}" if query else ""), **options)
    assert answer.status == 200, answer
    return answer.json()


def kinds(api, query=""):
    return [event["kind"] for event in page(api, query)["events"]]


def until(api, kind, query="", timeout_s=60):
    """The first event of a kind, as soon as it is there."""
    def look():
        return next((event for event in page(api, f"limit=1000&{query}")["events"] if event["kind"] == kind), None)
    return wait_until(look, timeout_s, kind, 0.1)


class Stream:
    """A stream of server-sent events."""

    def __init__(self, api, query="", last_id=None, timeout_s=60):
        headers = {"Authorization": f"Bearer {api.key}", "Accept": "text/event-stream"}
        if last_id:
            headers["Last-Event-ID"] = last_id
        path = "/v1/events" + (f"?{query}" if query else "")
        self.connection, self.response = api.origin.open("GET", path, headers=headers, timeout_s=timeout_s)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def answer(self):
        """Of a stream that was refused."""
        return Response(self.response, self.response.read())

    def message(self):
        """The fields of the next message; None at the end of the stream."""
        fields = {}
        while True:
            line = self.response.readline().decode()
            if not line:
                return None
            line = line.rstrip("\n")
            if line.startswith(":"):
                continue
            if not line and fields:
                return fields
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value

    def event(self):
        while True:
            fields = self.message()
            if fields is None:
                return None
            if "data" in fields:
                event = json.loads(fields["data"])
                assert fields["id"] == event["id"] and fields["event"] == event["kind"], fields
                return event
