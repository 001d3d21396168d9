# SPDX-License-Identifier: GPL-2.0-or-later
"""Draw the pictures of the documentation; scripts/check-style compares them.

    /usr/bin/python3 scripts/lib/pictures.py

The pictures are SVG with the colours of the reader's theme. Their programs and worker pools must be those of
doc/reference/programs.md, and the figures are those of tests/bench/results/."""

import csv
import html
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = "doc/images"
FIGURES = "tests/bench/results/2026-11.csv"
PROGRAMS = "doc/reference/programs.md"

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .small { font-size: 11px; fill: #59636e }
  .title { font-weight: 600 }
  .box { fill: #f6f8fa; stroke: #8c959f }
  .area { fill: none; stroke: #8c959f; stroke-dasharray: 5 4 }
  .line { fill: none; stroke: #59636e; stroke-width: 1.4 }
  .main { stroke: #0969da; stroke-width: 2.4 }
  .head { fill: #59636e }
  .bar { fill: #0969da }
  .grid { stroke: #d1d9e0 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9198a1 }
    .box { fill: #161b22; stroke: #6e7681 } .area { stroke: #6e7681 }
    .line { stroke: #9198a1 } .head { fill: #9198a1 } .main { stroke: #4493f8 }
    .bar { fill: #4493f8 } .grid { stroke: #3d444d }
  }
"""


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class Picture:
    def __init__(self, width, height, title):
        self.width, self.height, self.title = width, height, title
        self.parts = []

    def text(self, x, y, words, kind="", anchor="start"):
        self.parts.append(f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}">{html.escape(words)}</text>')

    def box(self, x, y, width, height, *lines, kind="box"):
        """A box with a title and smaller lines below it."""
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" class="{kind}"/>')
        top = y + 18 if kind == "area" else y + height / 2 + 5 - 8 * (len(lines) - 1)
        for number, line in enumerate(lines):
            self.text(x + (10 if kind == "area" else width / 2), round(top + 16 * number),
                      line, "small" if number else "title", "start" if kind == "area" else "middle")

    def arrow(self, points, kind="", words="", at=None, anchor="middle"):
        """A line through points with a head at its end, and words above `at`."""
        path = " ".join(f"{'L' if number else 'M'}{x} {y}" for number, (x, y) in enumerate(points))
        self.parts.append(f'<path d="{path}" class="line {kind}" marker-end="url(#head)"/>')
        if words:
            x, y = at or ((points[0][0] + points[-1][0]) / 2, points[0][1] - 5)
            self.text(x, y, words, "small", anchor)

    def svg(self):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img">',
            "<!-- SPDX-License-Identifier: GPL-2.0-or-later. Drawn by scripts/lib/pictures.py; do not edit. -->",
            f"<title>{html.escape(self.title)}</title>", f"<style>{STYLE}</style>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" class="head"/></marker></defs>',
            *self.parts, "</svg>", ""])


def architecture():
    picture = Picture(900, 470, "The programs of sandlot and their connections")
    picture.box(10, 20, 120, 60, "your program", "API: /v1/…")
    picture.box(10, 300, 120, 60, "your program", "data plane")
    picture.box(10, 380, 120, 60, "a browser", "preview of a port")
    picture.box(190, 20, 90, 420, "nginx", "TLS")
    picture.box(370, 20, 190, 60, "sandlot-api", "records, api, pauses,", "copies, files")
    picture.box(370, 100, 190, 46, "sandlot-events", "requests that wait")
    picture.box(370, 166, 190, 46, "sandlot-gate", "gate, wake")
    picture.box(370, 232, 190, 40, "sandlot-dispatcher", "background jobs")
    picture.box(700, 20, 180, 60, "MySQL or MariaDB", "all state")
    picture.box(320, 294, 570, 166, "host node", kind="area")
    picture.box(700, 306, 180, 40, "Incus, CRIU", "starts and pauses")
    picture.box(540, 306, 130, 40, "sandlot-firewall", "network policies")
    picture.box(370, 360, 300, 90, "sandbox", kind="area")
    picture.box(382, 390, 130, 46, "sandlot-agent", "files, processes")
    picture.box(526, 390, 130, 46, "your server", "port 3000")
    picture.box(700, 390, 180, 46, "sandlot-keeper", "files of volumes")
    picture.arrow([(130, 50), (186, 50)])
    picture.arrow([(130, 330), (186, 330)])
    picture.arrow([(130, 410), (186, 410)])
    picture.arrow([(280, 50), (366, 50)], words="calls")
    picture.arrow([(280, 123), (366, 123)], words="waiting")
    picture.arrow([(280, 189), (366, 189)], words="allowed?")
    picture.arrow([(280, 413), (378, 413)], "main", "bytes", (344, 406))
    picture.arrow([(560, 50), (696, 50)], words="SQL")
    for y in (123, 189, 252):
        picture.arrow([(560, y), (640, y), (640, 62), (696, 62)])
    picture.arrow([(560, 74), (680, 74), (680, 326), (696, 326)], words="orders", at=(686, 200), anchor="start")
    picture.arrow([(680, 326), (680, 413), (696, 413)])
    picture.arrow([(560, 262), (605, 262), (605, 302)], words="policies", at=(612, 285), anchor="start")
    return picture


def sequence(title, actors, steps):
    """A sequence of messages: (from, to, words), or a note over the whole width."""
    left, top, step = 80, 66, 40
    gap = (900 - 2 * left) / (len(actors) - 1)
    place = {name: round(left + gap * number) for number, name in enumerate(actors)}
    picture = Picture(900, top + step * len(steps) + 16, title)
    for name, x in place.items():
        picture.parts.append(f'<path d="M{x} 46V{top + step * len(steps)}" class="grid"/>')
        picture.box(x - 68, 10, 136, 36, name)
    for number, row in enumerate(steps):
        y = top + step * number + 14
        if isinstance(row, str):
            picture.box(14, y - 16, 872, 26, row)
            continue
        start, end, words = row
        direction = 1 if place[end] > place[start] else -1
        picture.arrow([(place[start], y), (place[end] - 2 * direction, y)],
                      "main" if number in (0, len(steps) - 1) else "", f"{number + 1}. {words}")
    return picture


def create():
    api = "sandlot-api"
    return sequence("A create with a warm instance", ("client", "nginx", api, "database", "sandlot-firewall", "sandlot-agent"), [
        ("client", "nginx", "POST /v1/sandboxes"),
        ("nginx", api, "pass to a worker"),
        (api, "database", "key, quota, row"),
        (api, "sandlot-firewall", "network policy, size, volumes"),
        (api, "sandlot-agent", "secret, environment"),
        (api, "database", "state: ready"),
        (api, "client", "201 with address and session token"),
    ])


def pause():
    api = "sandlot-api"
    return sequence("A pause that keeps the memory", ("client", "nginx", api, "database", "sandlot-agent", "Incus, CRIU"), [
        ("client", "nginx", "POST …/pause"),
        ("nginx", api, "worker pool pauses"),
        (api, "database", "stopping, lease"),
        (api, "sandlot-agent", "flush the disk"),
        (api, "Incus, CRIU", "stop, with the memory in the storage pool"),
        (api, "database", "state: stopped"),
        (api, "client", "200 with the paused sandbox"),
    ])


def figures():
    rows = list(csv.DictReader(read(FIGURES).splitlines()))
    scale_ms, left, width = 700, 270, 560
    picture = Picture(900, 70 + 26 * len(rows), "Durations in milliseconds, from " + FIGURES)
    bottom = 34 + 26 * len(rows)
    for ms in range(0, scale_ms + 1, 100):
        x = left + width * ms / scale_ms
        picture.parts.append(f'<path d="M{x} 24V{bottom}" class="grid"/>')
        picture.text(x, bottom + 16, f"{ms} ms", "small", "middle")
    for number, row in enumerate(rows):
        y, low, high = 30 + 26 * number, float(row["low_ms"]), float(row["high_ms"])
        middle = (low + high) / 2
        picture.text(left - 8, y + 13, row["figure"], "", "end")
        picture.parts.append(f'<rect x="{left}" y="{y}" width="{width * middle / scale_ms:.1f}" height="16" class="bar"/>')
        if high > low:
            picture.parts.append(f'<path d="M{left + width * low / scale_ms:.1f} {y + 8}H{left + width * high / scale_ms:.1f}" '
                                 'class="line"/>')
        spread = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        picture.text(left + width * high / scale_ms + 6, y + 13, spread, "small")
    return picture


PICTURES = {"architecture.svg": architecture, "create.svg": create, "pause.svg": pause, "durations.svg": figures}


def drawn():
    """Each picture as (path, text)."""
    for name, draw in PICTURES.items():
        yield f"{FOLDER}/{name}", draw().svg()


def unknown_names():
    """Programs and worker pools of the architecture that the page of programs does not list."""
    listed = set(re.findall(r"`([\w-]+)`", read(PROGRAMS)))
    shown = architecture().svg()
    pools = re.findall(r'class="small"[^>]*>((?:\w+, )+\w+,?|copies, files)<', shown)
    names = set(re.findall(r"sandlot-\w+", shown)) | {
        word for pool in pools if not pool.startswith("files, processes") for word in re.findall(r"\w+", pool)}
    return sorted(names - listed)


def main():
    os.makedirs(os.path.join(ROOT, FOLDER), exist_ok=True)
    for path, text in drawn():
        with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
