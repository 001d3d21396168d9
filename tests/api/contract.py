# SPDX-License-Identifier: GPL-2.0-or-later
"""Holds every answer of the API that any test gets against conf/openapi.json."""

import functools
import json
import pathlib
import re
import urllib.parse

import jsonschema

DOCUMENT = json.loads(
    (pathlib.Path(__file__).parents[2] / "conf" / "openapi.json").read_text(encoding="utf-8"))


def resolve(node):
    while "$ref" in node:
        target = DOCUMENT
        for name in node["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        node = target
    return node


@functools.cache
def validator(schema_text):
    # The whole document is the root, so that references inside the schema are found.
    return jsonschema.Draft202012Validator(
        json.loads(schema_text), resolver=jsonschema.RefResolver("", DOCUMENT))


def validate(schema, value):
    validator(json.dumps(schema)).validate(value)


def operations():
    """(method, path template, operation) of the document."""
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            yield method.upper(), path, operation


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


def check(method, target, response):
    """Fail unless the answer is one that the document describes for this call."""
    operation = operation_of(method, target)
    if operation is None:
        if response.body and method != "HEAD" and response.status >= 400:
            validate({"$ref": "#/components/schemas/Error"}, response.json())
        return
    if response.status in (502, 504) or "400" not in operation["responses"] and response.status == 400:
        # nginx's own: a worker that died or hangs, an address that is none.
        validate({"$ref": "#/components/schemas/Error"}, response.json())
        return
    described = operation["responses"].get(str(response.status))
    assert described, f"{operation['operationId']} answers {response.status}, which is not described"
    described = resolve(described)
    content = described.get("content", {}).get("application/json")
    if content is None:
        assert response.body == b"", response
    else:
        assert response.headers.get_content_type() == "application/json", response
        validate(content["schema"], response.json())
    for name in described.get("headers", {}):
        if name in ("X-Request-Id", "Retry-After", "WWW-Authenticate", "Allow"):
            assert response.headers[name], f"{name} is missing: {response}"
