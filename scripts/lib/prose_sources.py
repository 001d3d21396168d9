# SPDX-License-Identifier: GPL-2.0-or-later
"""Find the English text in every kind of file that has some, for check_words.py.

Each reader takes the text of a file and returns pieces: (line, text, is_paragraph). A paragraph counts for the
lengths of sentences; a heading, a cell, a label or a message alone does not."""

import json
import re

LIST_ITEM = re.compile(r"^\s*(?:[-*]|\d+[.)]|\(\d+\))\s+")
# A row of names and meanings in a comment.
ROW = re.compile(r"\s{2,}\S.*?\S {2,}\S")
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
LITERALS = re.compile(r'"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*')
STATEMENT = re.compile(r"\b(?:SELECT|INSERT|UPDATE|DELETE|FROM|WHERE|JOIN|ORDER BY|GROUP BY|VALUES|COALESCE|GREATEST|CREATE TABLE)\b")
FORMAT = re.compile(r"%[-+ #0]*(?:\d+\$)?[\d*]*(?:\.[\d*]+)?(?:hh|h|ll|l|z|j|t)?[a-zA-Z]")
DESCRIPTION = re.compile(r'"(?:description|summary)":\s*("(?:\\.|[^"\\\n])*")')
# A message has words, and not only names and formats.
MESSAGE_WORDS = 3


def paragraphs(lines):
    """Pieces of text lines (number, line): an empty line, a list item or a row of two columns ends a paragraph."""
    current, first = [], 0
    for number, line in [*lines, (0, "")]:
        if (not line.strip() or LIST_ITEM.match(line) or ROW.match(line)) and current:
            yield first, " ".join(current), True
            current = []
        if line.strip():
            first = first if current else number
            current.append(LIST_ITEM.sub("", line, count=1).strip() if not current else line.strip())


def markdown(text):
    """A page: fenced and indented blocks are code."""
    block, fenced, in_list = [], False, False

    def end():
        yield from paragraphs(block)
        block.clear()

    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            yield from end()
            fenced = not fenced
        elif fenced:
            continue
        elif line.startswith(("       " if in_list else "    ", "\t")) and (not block or not block[-1][1].strip()):
            continue
        elif line.lstrip().startswith("|"):
            yield from end()
            if not re.fullmatch(r"[|\s:-]+", line):
                yield number, line.replace("|", " . "), False
        elif line.startswith("#"):
            yield from end()
            in_list = False
            yield number, line.lstrip("# "), False
        else:
            in_list = bool(LIST_ITEM.match(line)) or (in_list and (line.startswith(" ") or not line.strip()))
            block.append((number, line))
    yield from end()


def manual(text):
    """A manual page: a macro ends a paragraph, except those that only mark words; literal displays are code."""
    block, literal = [], False
    for number, line in enumerate(text.split("\n"), 1):
        macro = re.match(r"\.\s*(\w\w)\b ?(.*)", line)
        if literal or line.startswith('.\\"'):
            literal = literal and line.strip() != ".Ed"
        elif not macro:
            block.append((number, line.replace("\\&", "")))
        elif macro[1] in ("Nm", "Pa", "Cm", "Ar", "Fl", "Li", "Va", "Xr", "Ql", "Sq", "Ic", "Ev", "Pq", "Dv"):
            # The macro's words are names; punctuation at its end belongs to the sentence.
            block.append((number, "`X`" + (macro[2][-1] if re.search(r" [.,;:)]$", macro[2]) else "")))
        else:
            yield from paragraphs(block)
            block = []
            literal = macro[1] == "Bd"
            if macro[1] in ("Nd", "Sh", "Ss"):
                yield number, macro[2], False
    yield from paragraphs(block)


def comments(text):
    """The comments of a C file, without its licence line."""
    for found in TOKEN.finditer(text):
        token = found.group()
        if token[0] != "/" or "SPDX-License-Identifier" in token:
            continue
        first = text.count("\n", 0, found.start()) + 1
        body = token[2:] if token[1] == "/" else re.sub(r"(?m)^\s*\*(?!/)|^/\*+|\*/\Z", "", token)
        yield from paragraphs(list(enumerate(body.split("\n"), first)))


def literals(text):
    """The string literals of a C file, neighbours joined: (offset, text)."""
    shown = TOKEN.sub(lambda found: found.group() if found.group()[0] in "\"'" else re.sub(r"[^\n]", " ", found.group()),
                      text)
    for found in LITERALS.finditer(shown):
        yield found.start(), "".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', found.group()))


def messages(text):
    """The string literals of a C file that people read: no SQL, no names, no patterns."""
    for offset, literal in literals(text):
        line = text.count("\n", 0, offset) + 1
        plain = re.sub(r"\\n(?=\.[A-Z])", " . ", literal)
        plain = FORMAT.sub("X", plain.replace("\\n", " ").replace('\\"', '"'))
        if " " in literal and len(re.findall(r"[a-z]{2,}", plain)) >= MESSAGE_WORDS and not STATEMENT.search(literal):
            yield line, plain, "\\n" not in literal


def settings(text):
    """The prose of the table of settings: the last literal of each row."""
    for offset, literal in literals(text):
        if " " in literal and "|" not in literal:
            yield text.count("\n", 0, offset) + 1, literal, True


def console(text):
    """The texts of a page of the console: literals with words, and text between tags."""
    code = re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found.group()), text, flags=re.DOTALL)
    for found in re.finditer(r"'((?:\\.|[^'\\\n])*)'|\"((?:\\.|[^\"\\\n])*)\"|`([^`]*)`|>([^<>{}=;]*[a-z]{2} [^<>{}=;]*)<",
                             code):
        words = next(part for part in found.groups() if part is not None)
        if len(re.findall(r"[A-Za-z]{2,}", words)) >= MESSAGE_WORDS and not re.search(r"[{}]|=>|^[\w-]+(?: [\w-]+)*$(?<![a-z. ])",
                                                                                     words):
            yield code.count("\n", 0, found.start()) + 1, " ".join(words.split()), False


def descriptions(text):
    """The descriptions and summaries of an OpenAPI document, or of a part of one; each text once."""
    lines = {}
    for found in DESCRIPTION.finditer(text):
        lines.setdefault(json.loads(found[1]), text.count("\n", 0, found.start()) + 1)
    for words, number in lines.items():
        for paragraph in words.split("\n\n"):
            yield number, paragraph, True
