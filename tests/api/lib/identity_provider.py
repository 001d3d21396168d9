# SPDX-License-Identifier: GPL-2.0-or-later
"""A real identity provider (the npm package oidc-provider) beside the stack, and a browser at it."""

import http.cookies
import json
import re
import secrets
import socket
import subprocess
import urllib.parse

from client import Origin


class IdentityProvider:
    def __init__(self, stack, folder):
        self.stack = stack
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        domain = stack.data_plane_host.partition(":")[0]
        self.issuer = f"https://idp.{domain}:{self.port}"
        self.client_id, self.client_secret = "sandlot & co", secrets.token_hex(16) + "/+ &"
        self.process = None

    def settings(self, **more):
        # Where the workers can read it.
        secret_file = self.stack.root / "etc" / "oidc-client-secret"
        secret_file.write_text(self.client_secret + "\n", encoding="utf-8")
        secret_file.chmod(0o644)
        return {"oidc_issuer": self.issuer, "oidc_client_id": self.client_id, "oidc_client_secret_file": secret_file,
                "oidc_ca_file": self.stack.ca_file, "oidc_name": "The works", **more}

    def start(self, algorithm="RS256", auth_method="client_secret_basic"):
        self.process = subprocess.Popen(["node", "provider.mjs"], cwd=self.folder, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        tls = self.stack.root / "tls"
        json.dump({"issuer": self.issuer, "port": self.port, "client_id": self.client_id, "algorithm": algorithm,
                   "client_secret": self.client_secret, "auth_method": auth_method,
                   "redirect_uri": self.stack.console_url + "/v1/login/oidc/callback",
                   "key_file": str(tls / "server.key"), "certificate_file": str(tls / "server.pem")},
                  self.process.stdin)
        self.process.stdin.close()
        while line := self.process.stdout.readline():
            if line == "ready\n":
                return
        raise AssertionError("the identity provider did not start")

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
            self.process = None

    def restart(self, **options):
        """With fresh keys."""
        self.stop()
        self.start(**options)


class Visitor:
    """A browser at the provider: keeps its cookies, follows its redirects and fills in its forms."""

    def __init__(self, provider):
        self.origin = Origin(provider.stack.ca_file, provider.issuer)
        self.cookies = http.cookies.SimpleCookie()

    def _open(self, method, url, form=None):
        parts = urllib.parse.urlsplit(url)
        headers = {"Cookie": "; ".join(f"{one.key}={one.value}" for one in self.cookies.values() if one.value)}
        if form:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        response = self.origin.request(method, target, urllib.parse.urlencode(form) if form else None, headers)
        for value in response.headers.get_all("Set-Cookie") or []:
            self.cookies.load(value)
        return response

    def sign_in(self, location, name):
        """From where the console sends a browser to where the provider sends it back."""
        method, form = "GET", None
        for _ in range(12):
            response = self._open(method, location, form)
            method, form = "GET", None
            if response.status in (302, 303):
                location = urllib.parse.urljoin(location, response.headers["Location"])
                if urllib.parse.urlsplit(location).hostname != self.origin.host:
                    return location
                continue
            assert response.status == 200, response
            page = response.body.decode()
            prompt = re.search(r'name="prompt" value="(\w+)"', page)[1]
            location = urllib.parse.urljoin(location, re.search(r'action="([^"]+)"', page)[1])
            method, form = "POST", {"prompt": prompt, "login": name, "password": "any"}
        raise AssertionError("the provider does not come to an end")
