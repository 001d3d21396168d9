# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds answers of a data plane against their OpenAPI document."""

import urllib.parse

import openapi_parts

DESCRIPTION = openapi_parts.Description("dataplane-openapi")
DOCUMENT = DESCRIPTION.document
operations, validate = DESCRIPTION.operations, DESCRIPTION.validate


def described_answer(method, target, status):
    """What the document says of the answer: None when it does not have the call."""
    operation = DOCUMENT["paths"].get(urllib.parse.urlsplit(target).path, {}).get(method.lower())
    if operation is None:
        return None
    described = operation["responses"].get(str(status))
    assert described or status >= 400, f"{method} {target} answers {status}, which is not described"
    return described or operation["responses"]["default"]


def check_message(path, message):
    """A message of a stream."""
    content = described_answer("POST", path, 200)["content"]["application/connect+json"]
    validate(content["schema"], message)


def check(method, target, response):
    """Fail unless the answer is one that the document describes, where it describes the call."""
    described = described_answer(method, target, response.status)
    if described is None:
        return
    content = described.get("content", {})
    if not content:
        assert response.body == b"", response
    elif "*/*" not in content:
        media_type = response.headers.get_content_type()
        assert media_type in content, response
        if media_type == "application/json":
            validate(content["application/json"]["schema"], response.json())
