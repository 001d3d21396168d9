# SPDX-License-Identifier: GPL-2.0-or-later
"""Volumes and their files as a client has them."""

import base64
import secrets
import urllib.parse

OCTETS = "application/octet-stream"


def quoted(path):
    return urllib.parse.quote(path if isinstance(path, bytes) else path.encode(), safe="/")


class Volume:
    """A volume; each call gives the response."""

    def __init__(self, api, name=None, document=None, **fields):
        self.api = api
        self.document = document or api.create_volume(name=name or "v" + secrets.token_hex(4), **fields)
        self.id = self.document["id"]
        self.name = self.document["name"]
        self.address = f"/v1/volumes/{self.id}"

    def mounts(self, path="/data"):
        return {path: self.name}

    def call(self, method, what, path=None, body=None, headers=None, **query):
        if path is not None:
            query["path"] = path
        text = "&".join(f"{name}={quoted(value)}" for name, value in query.items())
        return self.api.request(method, f"{self.address}/{what}{'?' * bool(text)}{text}", body, headers)

    def put(self, path, content=b"", **fields):
        body = {"path": path, "content_b64": base64.b64encode(content).decode(), **fields}
        return self.call("PUT", "files", body=body)

    def put_octets(self, path, content, headers=None, **query):
        return self.call("PUT", "files", path, content, {"Content-Type": OCTETS, **(headers or {})}, **query)

    def get(self, path):
        return self.call("GET", "files", path)

    def get_octets(self, path):
        return self.call("GET", "files", path, headers={"Accept": OCTETS})

    def read(self, path):
        response = self.get(path)
        assert response.status == 200, response
        return base64.b64decode(response.json()["content_b64"], validate=True)

    def write(self, path, content=b"", **fields):
        response = self.put(path, content, **fields)
        assert response.status in (200, 201), response
        return response.json()

    def make(self, path, **fields):
        return self.call("PUT", "directories", body={"path": path, **fields})

    def list(self, path="/", **query):
        return self.call("GET", "directories", path, **query)

    def names(self, path="/"):
        response = self.list(path)
        assert response.status == 200 and "next_token" not in response.json(), response
        return [entry["name"] for entry in response.json()["entries"]]

    def stat(self, path):
        return self.call("GET", "path", path)

    def change(self, path, **fields):
        return self.call("PATCH", "path", body={"path": path, **fields})

    def remove(self, path, **query):
        return self.call("DELETE", "path", path, **query)

    def move(self, start, end):
        return self.call("POST", "path", body={"from": start, "to": end})
