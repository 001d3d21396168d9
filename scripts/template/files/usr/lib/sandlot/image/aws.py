# SPDX-License-Identifier: GPL-2.0-or-later
"""The login at a registry of AWS (ECR): AWS gives it for an access key, for twelve hours.

The request is signed (Signature Version 4), so the secret key stays here.
"""

import datetime
import hashlib
import hmac
import json
import urllib.error
import urllib.request

from failure import Failure

TARGET = "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"
TYPE = "application/x-amz-json-1.1"
BODY = b"{}"
ANSWER_MAX = 1 << 20
SILENCE_S = 30


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def signed(key, region, service, headers, body, now):
    """The Authorization of a POST to the path /. key: id and secret; headers: all that are signed, in small letters."""
    at = now.strftime("%Y%m%dT%H%M%SZ")
    scope = f"{at[:8]}/{region}/{service}/aws4_request"
    headers = {**headers, "x-amz-date": at}
    names = ";".join(sorted(headers))
    canonical = "\n".join(["POST", "/", "", *(f"{name}:{headers[name]}" for name in sorted(headers)), "", names, sha256(body)])
    signature = b"AWS4" + key[1].encode()
    for part in (*scope.split("/"), f"AWS4-HMAC-SHA256\n{at}\n{scope}\n{sha256(canonical.encode())}"):
        signature = hmac.digest(signature, part.encode(), "sha256")
    return {**headers, "Authorization": f"AWS4-HMAC-SHA256 Credential={key[0]}/{scope}, SignedHeaders={names}, "
                                        f"Signature={signature.hex()}"}


def refusal(error, key, what):
    """The reason of a refused request: AWS names it in the body."""
    try:
        said = str(json.loads(error.read(ANSWER_MAX)).get("__type", ""))
    except (OSError, ValueError, AttributeError):
        said = ""
    why = "".join(letter for letter in said.rpartition("#")[2] if letter.isalnum())[:100] or f"HTTP {error.code}"
    return Failure(f"{what}: AWS refuses the access key {key[0]} ({why})")


def login(key, region, what):
    """The words behind "Basic " for the registries of a region. key: id and secret; what: for the error."""
    host = f"api.ecr.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"
    headers = signed(key, region, "ecr", {"content-type": TYPE, "host": host, "x-amz-target": TARGET}, BODY,
                     datetime.datetime.now(datetime.timezone.utc))
    try:
        with urllib.request.urlopen(urllib.request.Request(f"https://{host}/", BODY, headers), timeout=SILENCE_S) as answer:
            said = json.loads(answer.read(ANSWER_MAX))
        token = said["authorizationData"][0]["authorizationToken"]
    except urllib.error.HTTPError as error:
        raise refusal(error, key, what) from None
    except OSError as error:
        raise Failure(f"{what}: cannot ask {host} for the login: {str(getattr(error, 'reason', None) or error)[:200]}") from None
    except (ValueError, LookupError, TypeError):
        token = None
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise Failure(f"{what}: {host} gives no login")
    return token
