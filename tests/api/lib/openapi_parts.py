# SPDX-License-Identifier: GPL-2.0-or-later
"""The OpenAPI documents, made from their parts by the build's own program."""

import functools
import importlib.util
import json
import pathlib
import re

import jsonschema

PROGRAM = pathlib.Path(__file__).parents[3] / "scripts" / "lib" / "openapi.py"


def _load():
    spec = importlib.util.spec_from_file_location("sandlot_openapi", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_MAKER = _load()
documents = _MAKER.documents

FORMATS = jsonschema.FormatChecker(formats=())


@FORMATS.checks("date-time")
def is_time(value):
    """Null is left to the schema's type."""
    return value is None or re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value) is not None


class Description:
    """One of the documents."""

    def __init__(self, name):
        self.document = documents()[name]

    def operations(self):
        """(method, path template, operation) of the document."""
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                yield method.upper(), path, operation

    def resolve(self, node):
        while "$ref" in node:
            target = self.document
            for name in node["$ref"].removeprefix("#/").split("/"):
                target = target[name]
            node = target
        return node

    @functools.cache
    def _validator(self, schema_text):
        # The whole document is the root, so that references inside the schema are found.
        return jsonschema.Draft202012Validator(
            json.loads(schema_text), resolver=jsonschema.RefResolver("", self.document), format_checker=FORMATS)

    def validate(self, schema, value):
        self._validator(json.dumps(schema)).validate(value)

    @functools.lru_cache(maxsize=64)
    def validate_text(self, schema_text, text):
        """The same for a body. A test that polls gets the same body many times, and a check costs more than the request."""
        self._validator(schema_text).validate(json.loads(text))
