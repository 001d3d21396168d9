# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of OCI registries: manifests, and blobs that are checked against their digests.

A registry may answer anything, at any speed. Each answer has a largest size and each silence a longest time;
the caller ends everything together after some time.
"""

import base64
import errno
import hashlib
import http.client
import io
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request

import aws
from failure import Failure

SILENCE_S = 30
ATTEMPTS = 4
DOCUMENT_MAX = 4 << 20
TOKEN_MAX = 1 << 20
CHUNK = 1 << 18
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
BACKOFF_MAX_S = 20
BUSY = (429, 500, 502, 503, 504)
PROGRAM = "sandlot"  # some servers refuse the name that urllib sends
SIGN_INS = 3  # of one request: each address to which it is redirected may want one
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
USUAL_VARIANTS = (None, "", "v1", "v8")  # of processors: each one of its kind runs them
# A sign-in that a server offers, and its parameters. A header may have several.
CHALLENGE = re.compile(r'(?:^|[\s,])(bearer|basic)\b((?:[\s,]*[\w-]+\s*=\s*(?:"[^"]*"|[^\s,"]+))*)', re.IGNORECASE)
PARAMETER = re.compile(r'([\w-]+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))')
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)


class Redirects(urllib.request.HTTPRedirectHandler):
    """Authorization is not sent to another address: urllib copies no unredirected header."""

    max_redirections = 5

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if req.type == "https" and not newurl.startswith("https:"):
            raise Failure("the registry sends the client from HTTPS to an address without it")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Registry:
    """kept: documents of an earlier call, by their digests. The methods add each document that they fetch."""

    def __init__(self, order, kept=None):
        self.kept = kept if kept is not None else {}
        self.host, self.repository = order["registry"], order["repository"]
        self.scheme = "http" if order.get("plain_http") else "https"
        self.user, self.password = order.get("user"), order.get("password")
        self.aws_region = order.get("aws_region")  # the user is an access key
        self.authorizations = {}  # by server
        self.opener = urllib.request.build_opener(Redirects)
        self.opener.addheaders = [("User-Agent", PROGRAM)]

    # --- requests ---

    def _open(self, url, headers, authorization):
        request = urllib.request.Request(url, headers=headers)
        if authorization:
            request.add_unredirected_header("Authorization", authorization)
        return self.opener.open(request, timeout=SILENCE_S)

    def _ask(self, url, headers, what):
        """An answer of the registry, with a token where it wants one. Tokens end, those of Docker Hub after five minutes.
        An address to which the registry redirects may want a sign-in of its own."""
        asked = []
        while True:
            try:
                return self._open(url, headers, self.authorizations.get(server_of(url)))
            except urllib.error.HTTPError as error:
                url = error.url
                if error.code != 401 or url in asked or len(asked) == SIGN_INS:
                    raise
                asked.append(url)
                self._authenticate(error.headers, url, what)

    def request(self, path, headers, what):
        """An answer of the registry; busy and broken ones are asked again. what: for the error."""
        url = f"{self.scheme}://{self.host}/v2/{self.repository}/{path}"
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._ask(url, headers, what)
            except urllib.error.HTTPError as error:
                if error.code not in BUSY or attempt == ATTEMPTS:
                    raise self._refusal(error, what) from None
                wait = error.headers.get("Retry-After", "")
            except (OSError, http.client.HTTPException) as error:
                if attempt == ATTEMPTS or self._is_certificate(error):
                    raise Failure(f"{what}: cannot ask the registry {self.host}: {reason(error)}") from None
                wait = ""
            time.sleep(min(int(wait) if wait.isdecimal() else attempt, BACKOFF_MAX_S))
        raise AssertionError

    @staticmethod
    def _is_certificate(error):
        return "CERTIFICATE" in str(error) or "SSL" in str(error)

    def _refusal(self, error, what):
        if error.code in (401, 403):
            given = f"the user {self.user}" if self.user else "a client without a user and a password"
            return Failure(f"{what}: the registry {self.host} refuses {given} (HTTP {error.code}), or does not have the image")
        if error.code == 404:
            return Failure(f"{what}: the registry {self.host} does not have it")
        if error.code == 429:
            return Failure(f"{what}: the registry {self.host} has had too many requests (HTTP 429): try again later"
                           f"{'' if self.user else ', or with a user and a password'}")
        return Failure(f"{what}: the registry {self.host} answers with HTTP {error.code}")

    def document(self, path, accept, what):
        """The bytes of a small answer."""
        with self.request(path, {"Accept": accept}, what) as answer:
            return read_all(answer, DOCUMENT_MAX, what)

    # --- tokens ---

    def _login(self, url, what):
        """The Authorization with the password, or None. Only the registry itself may see it, and its server of tokens."""
        if not self.user or server_of(url) != (self.scheme, self.host):
            return None
        if self.aws_region:
            return "Basic " + aws.login((self.user, self.password), self.aws_region, what)
        pair = f"{self.user}:{self.password or ''}".encode()
        return "Basic " + base64.b64encode(pair).decode()

    def _authenticate(self, headers, url, what):
        """Sign in at the server of an address that has answered 401."""
        offered = challenges(headers)
        if "realm" in offered.get("bearer", {}):
            authorization = "Bearer " + self._token(offered["bearer"], url, what)
        elif "basic" in offered:
            authorization = self._login(url, what)
            if not authorization:
                raise Failure(f"{what}: the registry {self.host} wants a user and a password")
        else:
            raise Failure(f"{what}: the registry {self.host} wants a sign-in of an unknown kind")
        self.authorizations[server_of(url)] = authorization

    def _token(self, words, url, what):
        realm = words["realm"]
        if not realm.startswith("https:") and self.scheme == "https":
            raise Failure(f"{what}: the registry {self.host} wants the sign-in sent without encryption")
        query = {"scope": words.get("scope") or f"repository:{self.repository}:pull"}
        if "service" in words:
            query["service"] = words["service"]
        realm += ("&" if "?" in realm else "?") + urllib.parse.urlencode(query)
        try:
            with self._open(realm, {}, self._login(url, what)) as answer:
                said = json.loads(read_all(answer, TOKEN_MAX, what))
        except urllib.error.HTTPError as error:
            if error.code in BUSY:
                raise
            raise self._refusal(error, what) from None
        except ValueError:
            said = None
        token = (said.get("token") or said.get("access_token")) if isinstance(said, dict) else None
        if not isinstance(token, str) or not token.isprintable():
            raise Failure(f"{what}: the registry {self.host} gives no token")
        return token

    # --- manifests and blobs ---

    def manifest(self, reference, what):
        """A manifest or an index, with its digest. One that is named by a digest must have it."""
        text = self.kept.get(reference) or self.document(f"manifests/{reference}", ", ".join(MANIFESTS), what)
        digest = "sha256:" + hashlib.sha256(text).hexdigest()
        self.kept[digest] = text
        if reference.startswith("sha256:") and reference != digest:
            raise Failure(f"{what}: the registry's answer has the digest {digest}")
        return parse(text, what), digest

    def config(self, digest, size, what):
        file = io.BytesIO()
        if size > DOCUMENT_MAX:
            raise Failure(f"{what}: it is larger than {DOCUMENT_MAX >> 20} MiB")
        if digest not in self.kept:
            self.blob(digest, size, file, what)
            self.kept[digest] = file.getvalue()
        return parse(self.kept[digest], what)

    def blob(self, digest, size, file, what):
        """Write a blob into the empty file. After a broken transfer, ask for the rest."""
        seen, hasher, broken = 0, hashlib.sha256(), ""
        for attempt in range(1, ATTEMPTS + 1):
            headers = {"Range": f"bytes={seen}-"} if seen else {}
            with self.request(f"blobs/{digest}", headers, what) as answer:
                if seen and answer.status != 206:
                    seen, hasher = 0, hashlib.sha256()
                    file.seek(0)
                    file.truncate()
                try:
                    while chunk := answer.read1(CHUNK):
                        seen += len(chunk)
                        if seen > size:
                            raise Failure(f"{what}: it is larger than the {size} bytes of the manifest")
                        hasher.update(chunk)
                        file.write(chunk)
                    broken = f"it ends after {seen} of {size} bytes"
                except (OSError, http.client.HTTPException) as error:
                    if getattr(error, "errno", None) in DISK_FULL:
                        raise
                    broken = reason(error)
            if seen == size:
                break
            if attempt < ATTEMPTS:
                time.sleep(attempt)
        if seen < size:
            raise Failure(f"{what}: the registry {self.host} broke off {ATTEMPTS} times: {broken}")
        if "sha256:" + hasher.hexdigest() != digest:
            raise Failure(f"{what}: its contents have another digest than the manifest's")


def choose(manifests, machine, what):
    """The digest of the manifest for this machine, in an index. Of several variants of a processor, a usual one. An entry
    without a platform may be for any machine: the image's configuration says it, as of an image that has no index."""
    found, fitting, unknown = [], [], []
    for one in manifests:
        if not isinstance(one, dict) or not DIGEST.fullmatch(str(one.get("digest"))):
            continue
        place = one.get("platform")
        if place is None:
            unknown.append(one["digest"])
        elif isinstance(place, dict):
            found.append(f"{place.get('os')}/{place.get('architecture')}")
            if found[-1] == f"linux/{machine}":
                fitting.append((place.get("variant") not in USUAL_VARIANTS, one["digest"]))
    if fitting:
        return min(fitting, key=lambda pair: pair[0])[1]
    if unknown:
        return unknown[0]
    there = ", ".join(sorted(set(found))[:10])
    raise Failure(f"{what}: it is not there for linux/{machine}, only for: {there or 'nothing'}")


def server_of(url):
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.netloc


def challenges(headers):
    """The parameters of each sign-in that a server offers, by its kind."""
    offered = CHALLENGE.findall(", ".join(headers.get_all("WWW-Authenticate") or ()))
    return {kind.lower(): {name.lower(): quoted or plain for name, quoted, plain in PARAMETER.findall(words)}
            for kind, words in offered}


def read_all(answer, most, what):
    try:
        text = answer.read(most + 1)
    except (OSError, http.client.HTTPException) as error:
        raise Failure(f"{what}: the answer broke off: {reason(error)}") from None
    if len(text) > most:
        raise Failure(f"{what}: the answer is larger than {most >> 20} MiB")
    return text


def parse(text, what):
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise Failure(f"{what}: the registry's answer is not an object of JSON")
    return parsed


def reason(error):
    inner = getattr(error, "reason", None)
    return str(inner or error or type(error).__name__)[:200]
