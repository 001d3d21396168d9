# SPDX-License-Identifier: GPL-2.0-or-later
"""Variables of the sandbox, which last, and those of one cell, which pass."""

import os
import random
import sys

saved = {}


def enter(lasting, passing, is_new):
    os.environ.update(lasting)
    for name, value in passing.items():
        saved.setdefault(name, os.environ.get(name))
        os.environ[name] = value
    if is_new:
        reseed()


def leave(*_):
    for name, value in saved.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    saved.clear()


def reseed():
    """Copies of a memory would go on with the same random numbers."""
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def warm():
    """Import what most cells import."""
    # pylint: disable=import-outside-toplevel,unused-import
    import matplotlib.pyplot
    import numpy
    import pandas
    import PIL.Image
    import requests
