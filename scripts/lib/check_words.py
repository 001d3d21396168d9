# SPDX-License-Identifier: GPL-2.0-or-later
"""Count the habits that make prose hard to read; see doc/dev/style.md. scripts/check-style calls this.

`/usr/bin/python3 scripts/lib/check_words.py FILE…` prints the figures of some files, for a writer."""

import collections
import os
import re
import sys

import prose_sources

PARAGRAPH_WORDS_MAX = 90
SENTENCE_WORDS_MEAN_MAX = 18
# A page with fewer sentences than this has no meaningful mean.
SENTENCES_MIN = 5
# Readers of these folders are addressed directly: "you" and "your" per 10,000 words.
ADDRESSED = ("doc/tutorial/", "doc/howto/")
ADDRESS_MIN = 40
# A page over two screens shows a picture, a table or an example.
BARE_LINES_MAX = 90
SHOWN = re.compile(r"!\[|\||```|    \S")
# A rate over fewer words says nothing.
RATE_WORDS_MIN = 1000

# Habits that are counted. Questions do not count.
HABITS = {
    "a clause with what, who or whoever as its subject":
        re.compile(r"\bwhat\b(?! to\b)|(?:^|[.:;] )who\b", re.IGNORECASE),
    "of it, of them, of that, of those": re.compile(r"\bof (?:it|them|that|those)\b(?!['’])", re.IGNORECASE),
    "nobody, whoever, whatever, whichever": re.compile(r"\b(?:nobody|whoever|whatever|whichever)\b", re.IGNORECASE),
}
# The most that 10,000 words may have of each habit, in this order.
PROSE = (2, 6, 2)
COMMENTS = (3, 8, 2)
# Habits that no text has.
NEVER = re.compile(r"\b(?:goes on|go on|is none|are none|anew|of before|tells|is told|are told)\b", re.IGNORECASE)
ADDRESS = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)

# A declaration of a header with its comment, and first words of a comment that are no imperative.
DECLARATION = re.compile(r"^/\*((?:(?!\*/).)*)\*/\n(?!typedef|struct \w+ \{)[a-z][\w \n*]*\([^;{}]*\)[^;{}]*;", re.DOTALL | re.MULTILINE)
NO_IMPERATIVE = re.compile(r"(?:As|Whether|The|A|An|It|Its|All|Each|Every|One|How|NULL|This|Another|Likewise|Errors|GET|POST|[a-z_]+:"
                           r"|Returns|Gives|Takes|Makes|Checks|Calls|Reads|Writes|Runs|Connects)\b|[\"{`0-9]")

# A kind of text: the files that have it, how it is read, and the limits of its habits.
Kind = collections.namedtuple("Kind", "name files read limits")
# The parts of the programs whose comments keep to the limits.
KINDS = (
    Kind("page", r".*\.md|NEWS", prose_sources.markdown, PROSE),
    Kind("manual page", r"conf/man/.*", prose_sources.manual, PROSE),
    Kind("setting", r"fcgi/drivers/config/settings\.def", prose_sources.settings, PROSE),
    Kind("message", r"fcgi/(?!drivers/config/settings\.def).*\.(?:c|h|def)", prose_sources.messages, PROSE),
    Kind("text of the console", r"console/src/.*\.tsx?", prose_sources.console, PROSE),
    Kind("description", r"conf/openapi/.*\.json", prose_sources.descriptions, PROSE),
    Kind("comment", r"fcgi/.*\.(?:c|h|def)", prose_sources.comments, COMMENTS),
)

# A number, a name or an option counts as one word.
WORD = re.compile(r"[\w'’./:+*=<>&@#%~-]*\w[\w'’./:+*=<>&@#%~-]*")
SENTENCE_END = re.compile(r"(?<=[.?!:])[\"”)*]*\s+(?=[\"“(*]*[A-Z0-9`_])")


class Prose:
    """The prose of one kind in one file: paragraphs with their lines, and short texts apart."""

    def __init__(self, path, pieces):
        self.path = path
        self.paragraphs, self.cells = [], []
        for line, text, is_paragraph in pieces:
            (self.paragraphs if is_paragraph else self.cells).append((line, plain(text)))

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
    """How often a habit is in 10,000 words of some pages, and where: (rate, places, words)."""
    words = sum(count(text) for page in pages for _, text in page.all())
    places = [(page.path, line, found.group().strip(" .:;")) for page in pages for line, text in page.all()
              for found in habit.finditer(declarative(text))]
    return (10000 * len(places) / words if words else 0), places, words


def kinds_of(path):
    return [kind for kind in KINDS if re.fullmatch(kind.files, path)]


def has_prose(path):
    return bool(kinds_of(path))


def read(kind, texts):
    """The prose of one kind in some files, from {path: text}."""
    return [Prose(path, kind.read(text)) for path, text in sorted(texts.items()) if re.fullmatch(kind.files, path)]


def kind_findings(kind, pages, rate_words_min):
    for page in pages:
        for line, sentence in page_findings(page):
            yield page.path, line, sentence
    for (name, habit), most in zip(HABITS.items(), kind.limits):
        found, places, words = rate(pages, habit)
        if found > most and words >= rate_words_min:
            for path, line, word in places:
                yield path, line, f'"{word}" ({name}): {found:.1f} in 10,000 words of {kind.name}s; {most} at most'


def bare_pages(texts):
    """Long pages of the documentation that show nothing: (path, line, sentence)."""
    for path, text in sorted(texts.items()):
        lines = text.split("\n")
        if path.startswith("doc/") and len(lines) > BARE_LINES_MAX and not any(SHOWN.match(line) for line in lines):
            yield path, 1, f"over {BARE_LINES_MAX} lines without a picture, a table or an example"


def declarations(path, text):
    """The declarations of a header whose comment does not begin with an imperative: (path, line, sentence)."""
    for found in DECLARATION.finditer(text):
        comment = re.sub(r"\s*\n\s*\*\s*", " ", found[1]).strip()
        if NO_IMPERATIVE.match(comment):
            line = text.count("\n", 0, found.start()) + 1
            yield path, line, f'"{comment[:40]}": begin with an imperative, such as "Return"'


def findings(texts, rate_words_min=RATE_WORDS_MIN):
    """All that is wrong with some files, from {path: text}: (path, line, sentence)."""
    for kind in KINDS:
        yield from kind_findings(kind, read(kind, texts), rate_words_min)
    yield from bare_pages(texts)
    for path, text in sorted(texts.items()):
        if path.startswith("fcgi/") and path.endswith(".h"):
            yield from declarations(path, text)
    for folder in ADDRESSED:
        inside = read(KINDS[0], {path: text for path, text in texts.items() if path.startswith(folder)})
        found, _, words = rate(inside, ADDRESS)
        if words >= rate_words_min and words and found < ADDRESS_MIN:
            yield folder, 1, f'"you" and "your": {found:.1f} in 10,000 words; {ADDRESS_MIN} at least'


def wrong_examples(examples):
    """The examples (path, text, begin of the expected message or None) that are judged wrongly: sentences."""
    for path, text, expected in examples:
        found = [message for _, _, message in findings({path: text}, rate_words_min=0)]
        if expected is None and found:
            yield f"must pass: {text[:60]!r}, but: {found[0]}"
        elif expected is not None and not any(message.startswith(expected) for message in found):
            yield f"must fail with {expected!r}: {text[:60]!r}, but: {found}"


def print_figures(name, pages):
    habits = HABITS | {"never": NEVER, "you, your": ADDRESS,
                       "for example, such as": re.compile(r"\bfor example\b|\bsuch as\b|\be\.g\.", re.IGNORECASE)}
    print(f"{name}s:")
    for habit_name, habit in habits.items():
        found, places, words = rate(pages, habit)
        print(f"  {habit_name}: {found:.1f} in 10,000 ({len(places)} in {words} words)")
    print("  longest paragraph:", max((count(text) for page in pages for _, text in page.all()), default=0))
    lengths = [count(sentence) for page in pages for _, sentence in page.sentences()]
    print(f"  sentence: {sum(lengths) / max(1, len(lengths)):.1f} words on average, {max(lengths, default=0)} at most, "
          f"{sum(length > 25 for length in lengths)} of {len(lengths)} over 25")
    print(f"  paragraphs over 60 words: {sum(count(text) > 60 for page in pages for _, text in page.all())}")


def main(paths):
    texts = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            texts[os.path.relpath(path)] = file.read()
    for kind in KINDS:
        pages = read(kind, texts)
        if pages:
            print_figures(kind.name, pages)


if __name__ == "__main__":
    main(sys.argv[1:])
