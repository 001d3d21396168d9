# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds every answer of the API that any test gets against its OpenAPI document."""

import json
import re
import urllib.parse

import openapi_parts

# The closed table of errors. What nginx refuses before a worker sees it has a status of its own.
CODES = {
    400: {"authorization_pending", "slow_down", "access_denied", "expired_token", "invalid_json", "invalid_request"},
    401: {"unauthorized", "invalid_credentials", "second_factor_required"},
    403: {"insufficient_scope", "team_forbidden"},
    404: {"not_found"},
    405: {"method_not_allowed"},
    408: {"invalid_request"},
    409: {"sandbox_not_running", "sandbox_not_startable", "hook_failed", "memory_not_kept", "sandbox_busy", "volume_attached",
          "name_taken", "request_in_progress", "template_in_use", "last_owner"},
    412: {"precondition_failed"},
    413: {"body_too_large"},
    414: {"invalid_request"},
    415: {"unsupported_media_type"},
    422: {"invalid_request", "sandbox_quota_exceeded", "plan_restricts_resources",
          "stopped_quota_exceeded", "volume_quota_exceeded", "checkpoint_quota_exceeded", "build_quota_exceeded",
          "template_not_found", "volume_not_found", "idempotency_key_reused",
          "invalid_next_token"},
    429: {"rate_limited"},
    431: {"invalid_request"},
    500: {"internal"},
    501: {"not_served"},
    502: {"runtime_unavailable"},
    503: {"runtime_unavailable", "no_capacity"},
    504: {"runtime_unavailable"},
    507: {"insufficient_storage"},
}

DESCRIPTION = openapi_parts.Description("openapi")
DOCUMENT = DESCRIPTION.document
operations, resolve = DESCRIPTION.operations, DESCRIPTION.resolve
validate, validate_text = DESCRIPTION.validate, DESCRIPTION.validate_text


def pattern_of(path):
    return re.compile("".join("[^/]+" if part.startswith("{") else re.escape(part)
                              for part in re.split(r"(\{[^}]*\})", path)))


PATTERNS = [(method, pattern_of(path), operation) for method, path, operation in operations()]


def operation_of(method, target):
    path = urllib.parse.urlsplit(target).path
    for known, pattern, operation in PATTERNS:
        if known == method and pattern.fullmatch(path):
            return operation
    return None


def check_error(response):
    """The one shape of errors, its code one of its status, its request id that of the head."""
    body = response.json()
    validate({"$ref": "#/components/schemas/Error"}, body)
    assert body["error"] in CODES[response.status], response
    assert body["request_id"] == response.headers["X-Request-Id"], response
    assert ("quota" in body) == (body["error"] == "sandbox_quota_exceeded"), body
    others = body["error"].endswith("_quota_exceeded") and "quota" not in body
    assert ("limit" in body and "used" in body) == others, body
    if response.status in (429, 503, 507) or body["error"] in ("request_in_progress", "sandbox_busy"):
        assert int(response.headers["Retry-After"]) > 0, response.headers.items()
    if response.status == 405:
        assert response.headers["Allow"], response.headers.items()


def check_headers(described, response):
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", response.headers["X-Request-Id"] or ""), response
    for name in described.get("headers", {}):
        if name != "Idempotent-Replayed":
            assert response.headers[name], f"{name} is missing: {response}"


def check(method, target, response):
    """Fail unless the answer is one that the document describes for this call."""
    operation = operation_of("GET" if method == "HEAD" else method, target)
    if method == "HEAD":
        assert response.body == b"", response
    elif response.status >= 400:
        check_error(response)
    if operation is None:
        return
    described = operation["responses"].get(str(response.status))
    assert described, f"{operation['operationId']} answers {response.status}, which is not described"
    described = resolve(described)
    check_headers(described, response)
    if response.headers.get_content_type() == "application/octet-stream":
        assert "application/octet-stream" in described["content"], response
        return
    content = described.get("content", {}).get("application/json")
    if content is None:
        assert response.body == b"", response
    elif method != "HEAD":
        assert response.headers.get_content_type() == "application/json", response
        validate_text(json.dumps(content["schema"]), response.body)
