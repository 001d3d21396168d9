#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Make the OpenAPI documents from their parts in conf/openapi; conf/openapi/README.md describes the parts.

    scripts/lib/openapi.py NAME              write a document: openapi, dataplane-openapi or e2b-openapi
    scripts/lib/openapi.py --format [FILE…]  lay parts out as scripts/check-style wants them

Errors in the parts of any document, and pieces that no document uses, are errors of every document."""

import functools
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(ROOT, "conf", "openapi")
FIELDS = os.path.join(ROOT, "fcgi", "concepts", "sandbox", "sandbox_fields.def")
DOCUMENTS = {"openapi": "api", "dataplane-openapi": "dataplane", "e2b-openapi": "e2b"}  # name: folder of its parts
WIDTH = 120
USE, OBJECT, OPTIONAL, EXAMPLE = "$use", "$object", "$optional", "$example"
PLACES = {"$path": {"in": "path", "required": True}, "$query": {"in": "query"}}  # of parameters
METHODS = ("get", "post", "put", "patch", "delete")
CALL = ("operationId", "tags", "summary", "description", "security")  # the first members of a call, in this order


class PartError(Exception):
    """Says which part is wrong, and why."""


def unique(members):
    found = dict(members)
    if len(found) < len(members):
        names = [name for name, _ in members]
        raise PartError(f"an object has the member {next(name for name in names if names.count(name) > 1)!r} twice")
    return found


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.loads(file.read(), object_pairs_hook=unique)
    except (ValueError, PartError) as failure:
        raise PartError(f"{os.path.relpath(path, ROOT)}: {failure}") from failure


def merged(base, more):
    """base with the members of more: objects are merged member by member, anything else replaces."""
    if not (isinstance(base, dict) and isinstance(more, dict)):
        return more
    return {**base, **{name: merged(base[name], value) if name in base else value for name, value in more.items()}}


def with_arguments(value, words):
    """A piece whose $1, $2, … are the words after its name."""
    if isinstance(value, str):
        return re.sub(r"\$([1-9])", lambda found: words[int(found[1]) - 1], value)
    if isinstance(value, list):
        return [with_arguments(item, words) for item in value]
    if isinstance(value, dict):
        return {with_arguments(name, words): with_arguments(item, words) for name, item in value.items()}
    return value


def by_status(responses):
    """The answers of a call in the order of their status."""
    return dict(sorted(responses.items()))


def closed_object(schema):
    """The schema of an object: `$object` has its properties, `$optional` those that may be missing ("all": any)."""
    properties, optional = schema[OBJECT], schema.get(OPTIONAL, [])
    if optional == "all":
        optional = list(properties)
    if not set(optional) <= set(properties):
        raise PartError(f"optional, but no property: {sorted(set(optional) - set(properties))}")
    return {"type": "object", "properties": properties, "required": sorted(set(properties) - set(optional)),
            "additionalProperties": False,
            **{name: value for name, value in schema.items() if name not in (OBJECT, OPTIONAL)}}


def placed(value):
    """A parameter: `$path` or `$query` has its name."""
    place = next(name for name in PLACES if name in value)
    return {"name": value[place], **PLACES[place], **{name: item for name, item in value.items() if name != place}}


def with_content(name, item):
    """A member; `$example` is the content of an answer with this example."""
    return ("content", {"application/json": {"example": item}}) if name == EXAMPLE else (name, item)


def parameter(value):
    """A parameter of a call; a name stands for one of the document, or with a small letter for a piece."""
    if not isinstance(value, str):
        return value
    return {"$ref": f"#/components/parameters/{value}"} if value[0].isupper() else {USE: value}


def complete_call(call, method, tag, access):
    """A call with the tag of its part, and with the access that the document gives calls of this method."""
    if tag:
        call = {"tags": [tag], **call}
    if access:
        call = {"security": access.get(method, access["else"]), **call}
    if "parameters" in call:
        call = {**call, "parameters": [parameter(value) for value in call["parameters"]]}
    return {**{name: call[name] for name in CALL if name in call}, **call}


class Pieces:
    """The named pieces of one document, and which of them it uses."""

    def __init__(self):
        self.values = {}
        self.used = set()

    def add(self, pieces, path):
        for name, value in pieces.items():
            if name in self.values:
                raise PartError(f"{path}: another part has the piece {name!r} too")
            self.values[name] = value

    def piece(self, text, outer):
        """The value of NAME or NAME ARGUMENT …, as `$use` has it."""
        name, *words = text.split(" ")
        if name not in self.values:
            raise PartError(f"there is no piece {name!r}")
        if text in outer:
            raise PartError(f"the piece {name!r} uses itself")
        self.used.add(name)
        try:
            value = with_arguments(self.values[name], words)
        except IndexError:
            raise PartError(f"{text!r} lacks an argument") from None
        return self.expanded(value, (*outer, text))

    def expanded(self, value, outer=()):
        """The value with each `$use` replaced by the members of the pieces that it names.

        Its own members go into them, or replace them; those before `$use` come first."""
        if isinstance(value, list):
            return [self.expanded(item, outer) for item in value]
        if not isinstance(value, dict):
            return value
        value = dict(with_content(name, item) for name, item in value.items())
        own = {name: by_status(self.expanded(item, outer)) if name == "responses" else self.expanded(item, outer)
               for name, item in value.items() if name != USE}
        if OBJECT in own:
            own = closed_object(own)
        if PLACES.keys() & own.keys():
            own = placed(own)
        if USE not in value:
            return own
        names = [value[USE]] if isinstance(value[USE], str) else value[USE]
        found = functools.reduce(merged, (self.piece(name, outer) for name in names))
        if not own:
            return found
        whole = merged(found, own)
        before = list(value)[:list(value).index(USE)]
        return {**{name: whole[name] for name in before if name in whole}, **whole}


def field_rows():
    """The rows of sandbox_fields.def, each as (kind, list of its arguments); strings keep their quotes."""
    with open(FIELDS, encoding="utf-8") as file:
        table = re.search(r"^#define SANDBOX_FIELDS\([^)]*\)(.*?[^\\])\n", file.read(), re.DOTALL | re.MULTILINE)[1]
    table = re.sub(r'"\s*"', "", table.replace("\\\n", "\n"))
    for kind, row in re.findall(r'\b(BOOL|CHOICE|TEXT|NUMBER)\(((?:"[^"]*"|\([^()]*\)|[^()"])*)\)', table):
        yield kind, re.findall(r'"[^"]*"|\([^()]*\)|[^\s,()"]+', row)


def field_schema(kind, words, prose):
    """Schema and example of a field; words: what its kind has between `change` and the prose."""
    if kind == "BOOL":
        return {"type": "boolean", "description": prose}, words[0] == "true"
    if kind == "CHOICE":
        names = re.findall(r'"([^"]*)"', words[0])
        return {"type": "string", "enum": names, "description": prose}, names[0]
    if kind == "NUMBER":
        return {"type": ["integer", "null"], "minimum": int(words[0]), "maximum": int(words[1]),
                "description": prose}, None
    return {"type": ["string", "null"], "maxLength": int(words[0]) - 1, "description": prose,
            "examples": [words[1].strip('"')]}, None


def field_pieces():
    """What the parts say about sandbox_fields.def: its fields in requests (`asked`, `patched`) and answers (`shown`)."""
    found = {}
    for kind, arguments in field_rows():
        name, request, answer, change, *words, asked, shown = arguments[3:]
        name = name.strip('"')
        places = [(f"asked/{request}", asked), (f"shown/{answer}", shown)]
        if request == "BODY" and change != "NEVER":
            places.append(("patched/BODY", asked))
        for place, prose in places:
            schema, example = field_schema(kind, words, prose.strip('"'))
            found.setdefault(place, {})[name] = schema
            if place.startswith("shown/"):
                found.setdefault(f"example/{place}", {})[name] = example
    return found


def joined(document, part, path):
    """Put the members of a part into the document; one member cannot come from two parts."""
    for name, value in part.items():
        if name not in document:
            document[name] = value
        elif isinstance(value, dict) and isinstance(document[name], dict):
            joined(document[name], value, f"{path}: {name}")
        else:
            raise PartError(f"{path}: another part has {name!r} too")


def parts(name):
    """The parts in a folder as (path, content), in the order that its document.json gives."""
    folder = os.path.join(FOLDER, name)
    first = read(os.path.join(folder, "document.json"))
    order = first.pop("parts")
    others = {file.removesuffix(".json") for file in os.listdir(folder) if file.endswith(".json")} - {"document"}
    if others != set(order):
        raise PartError(f"{name}/document.json: these parts are not listed or not there: {sorted(others ^ set(order))}")
    yield f"{name}/document.json", first
    for part in order:
        yield f"{name}/{part}.json", read(os.path.join(folder, f"{part}.json"))


def made(name, common):
    """The document of a folder, and the names of the pieces that it has and uses."""
    pieces, document = Pieces(), {}
    pieces.add(common, "common.json")
    if name == "api":
        pieces.add(field_pieces(), "sandbox_fields.def")
    access = None
    for path, part in parts(name):
        pieces.add(part.pop("pieces", {}), path)
        access, tag = part.pop("access", access), part.pop("tag", None)
        for calls in part.get("paths", {}).values():
            calls.update({method: complete_call(calls[method], method, tag, access) for method in METHODS if method in calls})
        joined(document, part, path)
    try:
        document = pieces.expanded(document)
    except PartError as failure:
        raise PartError(f"{name}: {failure}") from failure
    return document, set(pieces.values), pieces.used


@functools.cache
def documents():
    """All documents by name. Raises PartError."""
    common = read(os.path.join(FOLDER, "common.json"))["pieces"]
    found, unused, used = {}, set(), set()
    for name, folder in DOCUMENTS.items():
        found[name], here, used_here = made(folder, common)
        unused |= {f"{folder}: {piece}" for piece in here - used_here - set(common)}
        used |= used_here
    unused |= {f"common: {piece}" for piece in set(common) - used}
    if unused:
        raise PartError(f"no document uses these pieces: {', '.join(sorted(unused))}")
    return found


def serialized(name):
    """A document as its file has it."""
    return json.dumps(documents()[name], indent=2, ensure_ascii=False) + "\n"


def text(value):
    return json.dumps(value, ensure_ascii=False)


def is_short(value):
    """Whether a member may share a line with others: no object but one of a single plain member."""
    if isinstance(value, list):
        return not any(isinstance(item, (dict, list)) for item in value)
    if isinstance(value, dict):
        return len(value) < 2 and len(text(value)) <= 60 and not any(isinstance(item, dict) for item in value.values())
    return True


def filled(items, room):
    """Items in as few lines as they need."""
    lines = [""]
    for item in items:
        if lines[-1] and len(lines[-1]) + 1 + len(item) > room:
            lines.append("")
        lines[-1] += f" {item}" if lines[-1] else item
    return lines


def laid_out(value, indent=0, before=0):
    """JSON whose objects stand in one line where that is short enough; `before` is the length of the member's name."""
    if not isinstance(value, (dict, list)) or not value or indent + before + len(text(value)) < WIDTH - 1:
        return text(value)
    is_object = isinstance(value, dict)
    items = [(f"{text(name)}: ", item) for name, item in value.items()] if is_object else [("", item) for item in value]
    pad = "\n" + " " * (indent + 2)
    if all(is_short(item) for _, item in items):
        last = len(items) - 1
        lines = filled([name + text(item) + ("," if at < last else "") for at, (name, item) in enumerate(items)],
                       WIDTH - indent - 2)
        inside = pad.join(lines)
    else:
        inside = ("," + pad).join(name + laid_out(item, indent + 2, len(name)) for name, item in items)
    return ("{" if is_object else "[") + pad + inside + "\n" + " " * indent + ("}" if is_object else "]")


def part_files():
    """Every part, as a path."""
    return sorted(os.path.join(folder, file) for folder, _, files in os.walk(FOLDER) for file in files
                  if file.endswith(".json"))


def badly_laid_out():
    """The parts that --format would change."""
    for path in part_files():
        with open(path, encoding="utf-8") as file:
            if file.read() != laid_out(read(path)) + "\n":
                yield os.path.relpath(path, ROOT)


def main(arguments):
    try:
        if arguments[:1] == ["--format"]:
            for path in arguments[1:] or part_files():
                layout = laid_out(read(path)) + "\n"
                with open(path, "w", encoding="utf-8") as file:
                    file.write(layout)
            return 0
        if len(arguments) == 1 and arguments[0] in DOCUMENTS:
            sys.stdout.reconfigure(encoding="utf-8")
            sys.stdout.write(serialized(arguments[0]))
            return 0
    except PartError as failure:
        print(f"openapi.py: {failure}", file=sys.stderr)
        return 1
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
