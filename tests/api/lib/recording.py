# SPDX-License-Identifier: GPL-2.0-or-later
"""What a terminal showed, line by line with its times, as an SVG that plays once."""

import html
import re

# What a shell writes besides its text: its title, modes and colours.
CONTROL = re.compile(r"\x1b\][^\x07]*\x07|\x1b\[[0-9;?]*[A-Za-z]|\r")
TYPING_S = 0.05  # of one letter; what is typed here is there at once
READING_S = 0.8  # after each answer
WIDTH, HEIGHT, MARGIN = 8.4, 20, 16
STYLE = """text { font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d7dae0; white-space: pre;
    opacity: 0; animation: show 0s forwards }
  .typed { fill: #fff; font-weight: 600 }
  @keyframes show { to { opacity: 1 } }
  @media (prefers-reduced-motion: reduce) { text { animation: none; opacity: 1 } }"""


class Recording:
    def __init__(self, title):
        self.title = title
        self.lines = []  # (seconds, is typed, text)
        self.now_s = 0.5

    def typed(self, prompt, text):
        self.now_s += TYPING_S * len(text)
        self.lines.append((self.now_s, True, prompt + text))

    def answered(self, text, took_s):
        """Lines that came so many seconds after the last typed one."""
        self.now_s += took_s
        for line in CONTROL.sub("", text).split("\n"):
            if line.strip():
                self.lines.append((self.now_s, False, line))
        self.now_s += READING_S

    def text(self):
        return "\n".join(line for _, _, line in self.lines)

    def svg(self):
        columns = max(len(line) for _, _, line in self.lines)
        width, height = round(columns * WIDTH + 2 * MARGIN), len(self.lines) * HEIGHT + 2 * MARGIN
        rows = [
            f'  <text{" class=" + chr(34) + "typed" + chr(34) if typed else ""} x="{MARGIN}"'
            f' y="{MARGIN + (number + 0.75) * HEIGHT:g}" style="animation-delay: {at:.1f}s">{html.escape(line)}</text>'
            for number, (at, typed, line) in enumerate(self.lines)]
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
            f"  <title>{html.escape(self.title)}</title>", f"  <style>{STYLE}</style>",
            f'  <rect width="{width}" height="{height}" rx="8" fill="#15181e"/>', *rows, "</svg>", ""])
