# SPDX-License-Identifier: GPL-2.0-or-later
"""The numbers of a chart of matplotlib, in the shape that E2B's packages have types for."""

import datetime
import math
import re
import sys

POINTS_MAX = 100_000
ELEMENTS_MAX = 10_000
BOXES = "_sandlot_boxes"


def keep_boxes(module):
    """Box plots draw lines and forget what they stand for: keep the numbers with the axes."""
    draw = module.Axes.bxp

    def draw_and_keep(axes, bxpstats, positions=None, *rest, **named):
        stats = list(bxpstats)
        places = positions if positions is not None else range(1, len(stats) + 1)
        drawn = draw(axes, stats, positions, *rest, **named)
        boxes = [*getattr(axes, BOXES, []), *zip(places, stats)]
        setattr(axes, BOXES, boxes)
        return drawn

    module.Axes.bxp = draw_and_keep


def number(value):
    value = float(value)
    return value if math.isfinite(value) else None


def text(value):
    return str(value) if value else None


def label_of(artist):
    """The name that was given to something; matplotlib's own begin with an underscore."""
    label = str(artist.get_label())
    return "" if label.startswith("_") else label


def unit_of(label):
    found = re.search(r"\(([^()]*)\)", label)
    return text(found.group(1)) if found else None


class Scale:
    """One axis: its kind, and its values as JSON has them."""

    def __init__(self, axis):
        dates, category = (sys.modules.get(f"matplotlib.{name}") for name in ("dates", "category"))
        self.axis = axis
        self.names = None
        self.kind = axis.get_scale()
        if category and isinstance(axis.units, category.UnitData):
            self.kind = "categorical"
            # pylint: disable=protected-access
            self.names = {place: str(name) for name, place in axis.units._mapping.items()}
        elif dates and isinstance(axis.get_major_locator(), dates.DateLocator):
            self.kind = "datetime"
            self._moment = dates.num2date

    def value(self, value):
        if self.kind == "datetime":
            return self._date(value)
        if self.names is not None and float(value) in self.names:
            return self.names[float(value)]
        return number(value)

    def _date(self, value):
        try:
            return self._moment(value).astimezone(datetime.timezone.utc).isoformat()
        except (ValueError, OverflowError):
            return None

    def ticks(self):
        """Places and names of the ticks that are on show."""
        labels = [label.get_text() for label in self.axis.get_ticklabels()]
        low, high = sorted(self.axis.get_view_interval())
        return [(float(place), label) for place, label in zip(self.axis.get_ticklocs(), labels) if low <= place <= high]

    def name_at(self, place, width):
        """What stands below a place: the name of the nearest tick that has one."""
        if self.names is not None and float(place) in self.names:
            return self.names[float(place)]
        near = [(abs(tick - place), label) for tick, label in self.ticks() if label and abs(tick - place) <= width]
        return min(near)[1] if near else str(self.value(place))

    def members(self, letter):
        ticks = self.ticks()
        return {f"{letter}_ticks": [self.value(place) for place, _ in ticks],
                f"{letter}_tick_labels": [label for _, label in ticks], f"{letter}_scale": self.kind}


def with_labels(axes, kind, elements):
    x_label, y_label = axes.get_xlabel(), axes.get_ylabel()
    return {"type": kind, "title": text(axes.get_title()), "elements": elements, "x_label": text(x_label),
            "y_label": text(y_label), "x_unit": unit_of(x_label), "y_unit": unit_of(y_label)}


def with_scales(axes, kind, series):
    x_scale, y_scale = Scale(axes.xaxis), Scale(axes.yaxis)
    elements = [{"label": label, "points": [[x_scale.value(x), y_scale.value(y)] for x, y in points]}
                for label, points in series]
    return {**with_labels(axes, kind, elements), **x_scale.members("x"), **y_scale.members("y")}


def pie(axes, wedges):
    elements = [{"label": label_of(wedge), "angle": round(abs(float(wedge.theta2 - wedge.theta1)), 3),
                 "radius": number(wedge.r)} for wedge in wedges]
    return {"type": "pie", "title": text(axes.get_title()), "elements": elements}


def boxes(axes):
    elements = []
    scale = Scale(axes.xaxis)
    for place, box in getattr(axes, BOXES):
        elements.append({
            "label": str(box.get("label") or scale.name_at(float(place), 0.5)), "min": number(box["whislo"]),
            "first_quartile": number(box["q1"]), "median": number(box["med"]), "third_quartile": number(box["q3"]),
            "max": number(box["whishi"]), "outliers": [number(value) for value in box.get("fliers", ())]})
    return with_labels(axes, "box_and_whisker", elements)


def bars(axes, containers):
    elements = []
    for container in containers:
        lying = getattr(container, "orientation", "vertical") == "horizontal"
        scale = Scale(axes.yaxis if lying else axes.xaxis)
        for bar in container.patches:
            start, width = (bar.get_y(), bar.get_height()) if lying else (bar.get_x(), bar.get_width())
            value = bar.get_width() if lying else bar.get_height()
            elements.append({"label": scale.name_at(start + width / 2, abs(width)), "group": label_of(container),
                             "value": number(value)})
    return with_labels(axes, "bar", elements)


def lines_of(axes):
    """Lines of the data, and not those across the whole chart."""
    return [line for line in axes.lines if line.get_transform().contains_branch(axes.transData) and len(line.get_xdata()) > 0
            and line.get_transform() == axes.transData]


def read_axes(axes):
    from matplotlib import collections, container, patches  # pylint: disable=import-outside-toplevel

    wedges = [patch for patch in axes.patches if isinstance(patch, patches.Wedge)]
    columns = [one for one in axes.containers if isinstance(one, container.BarContainer)]
    lines = lines_of(axes)
    clouds = [one for one in axes.collections if isinstance(one, collections.PathCollection)]
    count = sum(len(line.get_xdata()) for line in lines) + sum(len(one.get_offsets()) for one in clouds)
    if count > POINTS_MAX or sum(len(one.patches) for one in columns) + len(wedges) > ELEMENTS_MAX:
        return None
    if wedges:
        return pie(axes, wedges)
    if getattr(axes, BOXES, None):
        return boxes(axes)
    if columns:
        return bars(axes, columns)
    if lines:
        return with_scales(axes, "line", [(label_of(one), zip(one.get_xdata(orig=False), one.get_ydata(orig=False)))
                                          for one in lines])
    if clouds:
        return with_scales(axes, "scatter", [(label_of(one), one.get_offsets()) for one in clouds])
    if axes.patches or axes.collections or axes.images or axes.artists or axes.texts or axes.lines or axes.tables:
        return {"type": "unknown", "title": text(axes.get_title()), "elements": []}
    return None


def read(figure):
    """The chart of a figure, or None if it has none or one that is too large."""
    charts = [chart for chart in (read_axes(axes) for axes in figure.axes) if chart]
    heading = getattr(figure, "_suptitle", None)
    title = text(heading.get_text()) if heading else None
    if len(charts) > 1:
        return {"type": "superchart", "title": title, "elements": charts}
    if charts and not charts[0]["title"]:
        charts[0]["title"] = title
    return charts[0] if charts else None
