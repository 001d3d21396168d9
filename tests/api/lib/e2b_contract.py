# SPDX-License-Identifier: GPL-2.0-or-later
"""The OpenAPI document of E2B's paths, and answers held against it."""

import functools
import json
import re
import urllib.parse

import jsonschema

import openapi_parts

DESCRIPTION = openapi_parts.Description("e2b-openapi")
DOCUMENT = DESCRIPTION.document
operations, resolve = DESCRIPTION.operations, DESCRIPTION.resolve


def template(pattern):
    return re.sub(r":(\w+)", r"{\1}", pattern)


def some_path(path):
    return re.sub(r"{\w+}", "none", path)


def query_names(operation):
    return {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}


def operation_of(method, path):
    path = urllib.parse.urlsplit(path).path
    found = [(known, operation) for verb, known, operation in operations()
             if verb == method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", known), path)]
    return min(found, key=lambda one: one[0].count("{"))[1] if found else None


@functools.cache
def validator(schema_text):
    schema = json.loads(schema_text)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver("", DOCUMENT))


@functools.lru_cache(maxsize=64)
def validate_text(schema_text, text):
    """Validate a body. A test that polls gets the same body many times."""
    validator(schema_text).validate(json.loads(text))


def check(method, path, answer):
    """Whether the description has this answer."""
    operation = operation_of(method, path)
    if not operation:
        return
    responses = operation["responses"]
    described = responses.get(str(answer.status), responses.get("default"))
    if answer.status >= 400 and set(responses) == {"501"}:
        described = responses["501"]
    assert described and (answer.status >= 400 or str(answer.status) in responses), (method, path, answer)
    schema = described.get("content", {}).get("application/json", {}).get("schema")
    if schema:
        validate_text(json.dumps(schema), answer.body)
