# SPDX-License-Identifier: GPL-2.0-or-later
"""Count the habits that make prose hard to read; see doc/dev/style.md. scripts/check-style calls this.

`/usr/bin/python3 scripts/lib/check_words.py FILE…` prints the figures of some pages, for a writer."""

import os
import re
import sys

PARAGRAPH_WORDS_MAX = 90
SENTENCE_WORDS_MEAN_MAX = 18
# A page with fewer sentences than this has no meaningful mean.
SENTENCES_MIN = 5
# Readers of these folders are addressed directly: "you" and "your" per 10,000 words.
ADDRESSED = ("doc/tutorial/", "doc/howto/")
ADDRESS_MIN = 40
# A rate over fewer words says nothing.
RATE_WORDS_MIN = 1000

# The pages that have to keep to this.
PAGES = re.compile(r".*\.md|NEWS")

# Habits with the most that 10,000 words may have. Questions do not count.
RATES = {
    "a clause with what, who or whoever as its subject": (
        re.compile(r"\bwhat\b(?! to\b)|(?:^|[.:;] )who\b", re.IGNORECASE | re.MULTILINE), 2),
    "of it, of them, of that, of those": (re.compile(r"\bof (?:it|them|that|those)\b(?!['’])", re.IGNORECASE), 6),
    "nobody, whoever, whatever, whichever": (
        re.compile(r"\b(?:nobody|whoever|whatever|whichever)\b", re.IGNORECASE), 2),
}
# Habits that no page has.
NEVER = re.compile(r"\b(?:goes on|go on|is none|are none|anew|of before|tells|is told|are told)\b", re.IGNORECASE)
ADDRESS = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)

# A number, a name or an option counts as one word.
WORD = re.compile(r"[\w'’./:+*=<>&@#%~-]*\w[\w'’./:+*=<>&@#%~-]*")
SENTENCE_END = re.compile(r"(?<=[.?!:])[\"”)*]*\s+(?=[\"“(*]*[A-Z0-9`_])")
LIST_ITEM = re.compile(r"\s*(?:[-*]|\d+[.)]|\(\d+\))\s+")


class Prose:
    """The prose of one page: paragraphs with their lines, and the text of tables apart."""

    def __init__(self, path, text):
        self.path = path
        self.paragraphs = []  # (line, text)
        self.cells = []
        self._read(text)

    def _read(self, text):
        current, first, fenced, in_list = [], 0, False, False

        def end():
            if current:
                self.paragraphs.append((first, plain(" ".join(current))))
                current.clear()

        for number, line in enumerate(text.split("\n"), 1):
            if line.lstrip().startswith("```"):
                end()
                fenced = not fenced
            elif fenced:
                continue
            elif not line.strip():
                end()
            elif line.startswith("       " if in_list else "    ") and not current:
                continue
            elif line.startswith("\t") and not current:
                continue
            elif line.startswith("|"):
                end()
                if not re.fullmatch(r"[|\s:-]+", line):
                    self.cells.append((number, plain(line.replace("|", " . "))))
            elif line.startswith("#"):
                end()
                in_list = False
                self.cells.append((number, plain(line.lstrip("# "))))
            else:
                if LIST_ITEM.match(line):
                    end()
                    in_list = True
                    line = LIST_ITEM.sub("", line, count=1)
                elif not line.startswith(" "):
                    in_list = False
                if not current:
                    first = number
                current.append(line.strip())
        end()

    def sentences(self):
        for line, text in self.paragraphs:
            for sentence in SENTENCE_END.split(text):
                if count(sentence) > 0:
                    yield line, sentence

    def all(self):
        return self.paragraphs + self.cells


def plain(text):
    """Text without code, addresses and quotations, each of which becomes one word."""
    text = re.sub(r"`[^`]*`", "X", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\"[^\"]*\"|“[^”]*”", "X", text)
    return re.sub(r"https?://\S+", "X", text)


def count(text):
    return len(WORD.findall(text))


def declarative(text):
    """A text without its questions."""
    return " ".join(part for part in SENTENCE_END.split(text) if not part.rstrip().endswith("?"))


def page_findings(prose):
    """The faults of one page alone: (line, sentence)."""
    for line, text in prose.all():
        for found in NEVER.finditer(text):
            yield line, f'"{found.group()}": name the actor and the act'
    for line, text in prose.paragraphs:
        if count(text) > PARAGRAPH_WORDS_MAX:
            yield line, f"paragraph of {count(text)} words; {PARAGRAPH_WORDS_MAX} at most"
    lengths = [count(sentence) for _, sentence in prose.sentences()]
    if len(lengths) >= SENTENCES_MIN and sum(lengths) / len(lengths) > SENTENCE_WORDS_MEAN_MAX:
        yield 1, (f"sentences have {sum(lengths) / len(lengths):.1f} words on average; "
                  f"{SENTENCE_WORDS_MEAN_MAX} at most")


def rate(pages, habit):
    """How often a habit is in 10,000 words of some pages, and where: (rate, places)."""
    words = sum(count(text) for page in pages for _, text in page.all())
    places = [(page.path, line, found.group().strip(" .:;")) for page in pages for line, text in page.all()
              for found in habit.finditer(declarative(text))]
    return (10000 * len(places) / words if words else 0), places, words


def findings(texts, rate_words_min=RATE_WORDS_MIN):
    """All that is wrong with some pages, from {path: text}: (path, line, sentence)."""
    pages = [Prose(path, text) for path, text in sorted(texts.items())]
    for page in pages:
        for line, sentence in page_findings(page):
            yield page.path, line, sentence
    for name, (habit, most) in RATES.items():
        found, places, words = rate(pages, habit)
        if found > most and words >= rate_words_min:
            for path, line, word in places:
                yield path, line, f'"{word}" ({name}): {found:.1f} in 10,000 words; {most} at most'
    for folder in ADDRESSED:
        inside = [page for page in pages if page.path.startswith(folder)]
        found, _, words = rate(inside, ADDRESS)
        if words >= rate_words_min and words and found < ADDRESS_MIN:
            yield folder, 1, f'"you" and "your": {found:.1f} in 10,000 words; {ADDRESS_MIN} at least'


def is_page(path):
    return PAGES.fullmatch(path) is not None


def wrong_examples(examples):
    """The examples (path, text, begin of the expected message or None) that are judged wrongly: sentences."""
    for path, text, expected in examples:
        found = [message for _, _, message in findings({path: text}, rate_words_min=0)]
        if expected is None and found:
            yield f"must pass: {text[:60]!r}, but: {found[0]}"
        elif expected is not None and not any(message.startswith(expected) for message in found):
            yield f"must fail with {expected!r}: {text[:60]!r}, but: {found}"


def print_figures(paths):
    pages = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            pages.append(Prose(os.path.relpath(path), file.read()))
    habits = {name: habit for name, (habit, _) in RATES.items()}
    habits |= {"never": NEVER, "you, your": ADDRESS,
               "for example, such as": re.compile(r"\bfor example\b|\bsuch as\b|\be\.g\.", re.IGNORECASE)}
    for name, habit in habits.items():
        found, places, words = rate(pages, habit)
        print(f"{name}: {found:.1f} in 10,000 ({len(places)} in {words} words)")
    print("longest paragraph:", max((count(text) for page in pages for _, text in page.paragraphs), default=0))
    lengths = [count(sentence) for page in pages for _, sentence in page.sentences()]
    print(f"sentence: {sum(lengths) / max(1, len(lengths)):.1f} words on average, {max(lengths, default=0)} at most, "
          f"{sum(length > 25 for length in lengths)} of {len(lengths)} over 25")
    print(f"paragraphs over 60 words: {sum(count(text) > 60 for page in pages for _, text in page.paragraphs)}")


if __name__ == "__main__":
    print_figures(sys.argv[1:])
