# SPDX-License-Identifier: GPL-2.0-or-later
"""Shapes of results beside those that IPython knows: a table's columns, a chart's numbers, lists and objects."""

import importlib.abc
import importlib.util
import json
import math
import sys

import charts

DATA = "application/vnd.sandlot.data+json"
CHART = "application/vnd.sandlot.chart+json"
CELLS_MAX = 1_000_000
JSON_MAX = 4 << 20
PNG_MODES = ("1", "I", "I;16", "L", "LA", "P", "RGB", "RGBA")


class After(importlib.abc.MetaPathFinder):
    """Do something to a module once it is imported."""

    def __init__(self, deeds):
        self._deeds = deeds

    def find_spec(self, name, path, target=None):
        deed = self._deeds.pop(name, None)
        spec = importlib.util.find_spec(name) if deed else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_then(module):
            execute(module)
            deed(module)

        spec.loader.exec_module = execute_then
        return spec


def extra(read):
    """A reader of a shape. IPython would show its failure as that of the cell, so it finds nothing instead."""
    def quiet(value):
        try:
            return read(value)
        except Exception:  # pylint: disable=broad-exception-caught # a library may have objects in any state
            return None

    return quiet


def plain(value):
    """A value of a table as JSON has it."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):  # an array of a table stays
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def table(frame):
    if frame.size > CELLS_MAX:
        return None
    return {str(name): [plain(value) for value in column] for name, column in frame.items()}


def tree(value):
    """A list or an object, if it is of JSON and not too large."""
    try:
        return value if len(json.dumps(value, allow_nan=False)) <= JSON_MAX else None
    except (TypeError, ValueError, RecursionError):
        return None


def show_saved_pictures(module):
    """A picture that a cell saves is also shown, and so is one that a cell wants to see."""
    from IPython.display import display  # pylint: disable=import-outside-toplevel

    save = module.Image.save

    def show(image):
        display(image if image.mode in PNG_MODES else image.convert("RGB"))

    def save_and_show(image, fp, format=None, **options):  # pylint: disable=redefined-builtin
        save(image, fp, format, **options)
        if isinstance(fp, str):
            show(image)

    module.Image.save = save_and_show
    module.Image.show = lambda image, *_, **__: show(image)


def show_charts(module):
    """By a method: the formatters lose what they know of figures when matplotlib begins to draw for cells."""
    module.Figure._repr_sandlot_chart_ = extra(charts.read)  # pylint: disable=protected-access


def install(shell):
    from IPython.core.formatters import DisplayFormatter, JSONFormatter  # pylint: disable=import-outside-toplevel
    from traitlets import ObjectName, Unicode  # pylint: disable=import-outside-toplevel

    class DataFormatter(JSONFormatter):
        format_type = Unicode(DATA)
        print_method = ObjectName("_repr_sandlot_data_")

    class ChartFormatter(JSONFormatter):
        format_type = Unicode(CHART)
        print_method = ObjectName("_repr_sandlot_chart_")

    display: DisplayFormatter = shell.display_formatter
    data, chart = DataFormatter(parent=display), ChartFormatter(parent=display)
    data.for_type_by_name("pandas.core.frame", "DataFrame", extra(table))
    display.formatters[DATA] = data
    display.formatters[CHART] = chart
    for kind in (list, dict):
        display.formatters["application/json"].for_type(kind, tree)
    sys.meta_path.insert(0, After({"PIL.Image": show_saved_pictures, "matplotlib.axes._axes": charts.keep_boxes,
                                  "matplotlib.figure": show_charts}))
