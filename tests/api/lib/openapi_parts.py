# SPDX-License-Identifier: GPL-2.0-or-later
"""The OpenAPI documents, made from their parts by the build's own program."""

import importlib.util
import pathlib

PROGRAM = pathlib.Path(__file__).parents[3] / "scripts" / "lib" / "openapi.py"


def _load():
    spec = importlib.util.spec_from_file_location("sandlot_openapi", PROGRAM)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_MAKER = _load()
documents = _MAKER.documents
