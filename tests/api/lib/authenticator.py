# SPDX-License-Identifier: GPL-2.0-or-later
"""An authenticator with one passkey (ES256), and the part of a browser that asks it."""

import base64
import hashlib
import json
import secrets
import struct
import subprocess
import urllib.parse

PRESENT, VERIFIED, HAS_KEY = 1, 4, 64


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*words, data=b""):
    return subprocess.run(["openssl", *words], input=data, capture_output=True, check=True).stdout


class Authenticator:
    def __init__(self, stack, folder):
        self.origin = stack.console_url
        self.file = folder / secrets.token_hex(4)
        self.file.write_bytes(openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"))
        self.point = openssl("pkey", "-in", self.file, "-pubout", "-outform", "DER")[-64:]
        self.id = secrets.token_bytes(16)
        self.handle = None
        self.count = 0

    def _head(self, flags):
        host = urllib.parse.urlsplit(self.origin).hostname
        return hashlib.sha256(host.encode()).digest() + struct.pack(">BI", flags, self.count)

    def _client_data(self, kind, challenge, origin=None):
        return json.dumps({"type": f"webauthn.{kind}", "challenge": challenge, "origin": origin or self.origin,
                           "crossOrigin": False}).encode()

    def create(self, options, name, **changes):
        """The body of POST /v1/me/passkeys."""
        self.handle = options["user_handle"]
        key = b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20" + self.point[:32] + b"\x22\x58\x20" + self.point[32:]
        data = self._head(PRESENT | VERIFIED | HAS_KEY) + bytes(16) + struct.pack(">H", 16) + self.id + key
        return {"name": name, "client_data": b64(self._client_data("create", options["challenge"], **changes)),
                "authenticator_data": b64(data)}

    def sign(self, options, flags=PRESENT | VERIFIED, **changes):
        """The body of POST /v1/login/passkey."""
        client_data, data = self._client_data("get", options["challenge"], **changes), self._head(flags)
        signature = openssl("dgst", "-sha256", "-sign", self.file, data=data + hashlib.sha256(client_data).digest())
        return {"credential_id": b64(self.id), "user_handle": self.handle, "client_data": b64(client_data),
                "authenticator_data": b64(data), "signature": b64(signature)}
