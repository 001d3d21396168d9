# SPDX-License-Identifier: GPL-2.0-or-later
"""A registry that misbehaves. It answers from another one, whose images have their names behind one word
here, which says how: breaks/NAME ends each first answer with a blob in the middle, and so on.

usage: registry.py PORT ITS-PORT
"""

import base64
import collections
import http.server
import json
import re
import sys
import time
import urllib.error
import urllib.request

PORT, ORIGIN = int(sys.argv[1]), f"http://127.0.0.1:{sys.argv[2]}"
USER, PASSWORD, TOKEN = "robin", "open sesame", "a-token"
BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
seen = collections.Counter()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.startswith("/token"):
            self._token()
            return
        match = re.fullmatch(r"/v2/([a-z]+)/(.*)/(manifests|blobs)/([^/?]*)(?:[?]\d+)?", self.path)
        if not match:
            self._answer(404, b"{}")
            return
        way, name, kind, reference = match.groups()
        getattr(self, "_" + way)(f"{ORIGIN}/v2/{name}/{kind}/{reference}", kind)

    def _answer(self, status, body, **headers):
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _fetch(self, url):
        headers = {name: self.headers[name] for name in ("Accept", "Range") if name in self.headers}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
                return answer.status, answer.read(), answer.headers.get("Content-Type", "")
        except urllib.error.HTTPError as error:
            return error.code, b"{}", "application/json"

    def _pass(self, url):
        status, body, kind = self._fetch(url)
        self._answer(status, body, Content_Type=kind)

    # --- ways ---

    def _breaks(self, url, kind):
        """The first answers with a blob end in the middle."""
        seen[self.path] += 1
        if kind != "blobs" or seen[self.path] > 2:
            self._pass(url)
            return
        status, body, _ = self._fetch(url)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:len(body) // 2])
        self.close_connection = True

    def _cuts(self, url, kind):
        """All of them do."""
        seen[self.path] = 0
        self._breaks(url, kind)

    def _alters(self, url, kind):
        """A blob has another byte at its end."""
        status, body, form = self._fetch(url)
        self._answer(status, body[:-1] + bytes([body[-1] ^ 1]) if kind == "blobs" and form != "application/json" else body,
                     Content_Type=form)

    def _swaps(self, url, kind):
        """A manifest is another one than was asked for."""
        status, body, form = self._fetch(url)
        self._answer(status, body + b"\n" if kind == "manifests" else body, Content_Type=form)

    def _floods(self, url, kind):
        """A manifest does not end."""
        if kind != "manifests":
            self._pass(url)
            return
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        for _ in range(64):
            self.wfile.write(b" " * (1 << 20))

    def _pours(self, url, kind):
        """A blob is larger than its manifest says, without an end."""
        if kind != "blobs":
            self._pass(url)
            return
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        for _ in range(1024):
            self.wfile.write(b" " * (1 << 20))

    def _loops(self, url, kind):
        """A blob is always at another address."""
        if kind == "blobs":
            seen[url] += 1
            self._answer(307, b"", Location=f"{self.path.split('?')[0]}?{seen[url]}")
        else:
            self._pass(url)

    def _busy(self, url, kind):
        """The first answers ask for a moment."""
        seen[self.path] += 1
        if seen[self.path] > 2:
            self._pass(url)
        else:
            self._answer(429, b"{}", Retry_After="1")

    def _drips(self, url, kind):
        """A blob comes byte by byte, and does not end."""
        if kind != "blobs":
            self._pass(url)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(1 << 30))
        self.end_headers()
        for _ in range(600):
            self.wfile.write(b"x")
            time.sleep(1)

    def _moves(self, url, kind):
        """Blobs are at another address. What the client shows here must not be shown there."""
        if kind == "blobs" and not self._may("Bearer " + TOKEN):
            return
        if kind == "blobs":
            self._answer(307, b"", Location=self.path.replace("/v2/moves/", "/v2/elsewhere/"))
        elif self._may("Bearer " + TOKEN):
            self._pass(url)

    def _elsewhere(self, url, _kind):
        if self.headers.get("Authorization"):
            self._answer(400, b"{}")
        else:
            self._pass(url)

    def _private(self, url, _kind):
        """A token, which a user and a password get."""
        if self._may("Bearer " + TOKEN):
            self._pass(url)

    def _basic(self, url, _kind):
        if self._may(BASIC, 'Basic realm="here"'):
            self._pass(url)

    def _may(self, wanted, challenge=None):
        if self.headers.get("Authorization") == wanted:
            return True
        host = self.headers.get("Host")
        self._answer(401, b"{}", WWW_Authenticate=challenge or f'Bearer realm="http://{host}/token",service="here"')
        return False

    def _token(self):
        if self.headers.get("Authorization") in (BASIC, None) and (
                "moves" in self.path or self.headers.get("Authorization")):
            self._answer(200, json.dumps({"token": TOKEN}).encode())
        else:
            self._answer(401, b"{}")


http.server.ThreadingHTTPServer(("0.0.0.0", PORT), Handler).serve_forever()
