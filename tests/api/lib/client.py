# SPDX-License-Identifier: GPL-2.0-or-later
"""A plain HTTPS client of the control plane: no redirects followed, nothing tried twice unasked."""

import http.client
import json
import socket
import ssl
import time
import urllib.parse

import contract


def altered(secret):
    """Never the same: of the last letters some bits may not count."""
    return secret[:-8] + ("A" if secret[-8] != "A" else "B") + secret[-7:]


def address_of(host):
    """*.localhost is this machine, whatever the resolver thinks of it."""
    return "127.0.0.1" if host == "localhost" or host.endswith(".localhost") else host


class Connection(http.client.HTTPSConnection):
    def connect(self):
        here = "::1" if self.source_address and ":" in self.source_address[0] else address_of(self.host)
        plain = socket.create_connection((here, self.port), self.timeout, self.source_address)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = self._context.wrap_socket(plain, server_hostname=self.host)


class Response:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = response.headers
        self.body = body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.body[:400]!r}>"


class Origin:
    """One https address, such as https://api.sandbox.localhost:8443."""

    def __init__(self, ca_file, url):
        parts = urllib.parse.urlsplit(url)
        assert parts.scheme == "https", url
        self.host = parts.hostname
        self.port = parts.port or 443
        self.url = url
        self.context = ssl.create_default_context(cafile=ca_file)

    def connect(self, timeout_s=180, source=None):
        """source: one of the addresses of this machine. Some things are counted by address."""
        return Connection(self.host, self.port, timeout=timeout_s, source_address=source and (source, 0), context=self.context)

    def tls_socket(self, timeout_s=180):
        """A connected socket, for what http.client cannot speak."""
        connection = self.connect(timeout_s)
        connection.connect()
        return connection.sock

    def open(self, method, path, body=None, headers=None, timeout_s=180):
        """Send a request; the connection and its response, of which only the head is read. An
        iterable body without a Content-Length goes out chunked."""
        connection = self.connect(timeout_s)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            return connection, connection.getresponse()
        except BaseException:
            connection.close()
            raise

    def request(self, method, path, body=None, headers=None, timeout_s=180):
        connection, response = self.open(method, path, body, headers, timeout_s)
        try:
            return Response(response, response.read())
        finally:
            connection.close()


class Api:
    """The control plane as one API key sees it."""

    def __init__(self, stack, key):
        self.stack = stack
        self.key = key
        self.origin = Origin(stack.ca_file, stack.base_url)

    def request(self, method, path, body=None, headers=None, timeout_s=180):
        sent = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        if body is not None and not isinstance(body, bytes) and not hasattr(body, "__next__"):
            body = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        sent.update(headers or {})
        response = self.origin.request(method, path, body, sent, timeout_s)
        contract.check(method, path, response)
        return response

    def get(self, path):
        return self.request("GET", path)

    def post(self, path, body=None, **options):
        return self.request("POST", path, body, **options)

    def delete(self, path):
        return self.request("DELETE", path)

    def create(self, **fields):
        """A sandbox, or the test fails."""
        response = self.post("/v1/sandboxes", fields)
        assert response.status == 201, response
        return response.json()

    def show(self, sandbox_id):
        response = self.get(f"/v1/sandboxes/{sandbox_id}")
        assert response.status == 200, response
        return response.json()

    def create_volume(self, **fields):
        response = self.post("/v1/volumes", fields)
        assert response.status == 201, response
        return response.json()

    def list(self, query=""):
        response = self.get("/v1/sandboxes" + query)
        assert response.status == 200, response
        return response.json()["sandboxes"]

    def pause(self, sandbox_id):
        response = self.post(f"/v1/sandboxes/{sandbox_id}/pause")
        assert response.status == 200, response
        return response.json()

    def resume(self, sandbox_id, **fields):
        # A restore that does not end is ended after a minute, and the start from the disk comes after it.
        response = self.post(f"/v1/sandboxes/{sandbox_id}/resume", fields or None, timeout_s=200)
        assert response.status == 200, response
        return response.json()

    def destroy(self, sandbox_id):
        response = self.delete(f"/v1/sandboxes/{sandbox_id}")
        assert response.status == 204, response


def assert_error(response, status, code, field=None):
    """The one shape of every error; its body is given back."""
    assert response.status == status, response
    assert response.headers.get_content_type() == "application/json", response.headers.items()
    body = response.json()
    assert body["error"] == code, body
    assert body["message"] and isinstance(body["message"], str), body
    assert body["request_id"], body
    assert response.headers["X-Request-Id"] == body["request_id"], body
    if field is not None:
        assert body.get("field") == field, body
    return body


def when_served(call, *arguments, **options):
    """What a client does that is asked to wait, as long as that lasts: the answer to the call that
    was let in. Of many calls at once by one team, no more run than its share of a pool has workers."""
    end = time.monotonic() + 300
    while True:
        answer = call(*arguments, **options)
        if answer.status != 429 or time.monotonic() > end:
            return answer
        time.sleep(int(answer.headers["Retry-After"]))
