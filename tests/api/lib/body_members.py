# SPDX-License-Identifier: GPL-2.0-or-later
"""The members of JSON bodies as the OpenAPI document describes them, and odd values for each.

Every body of cases() ends with a member that no schema has. Members are checked in the order of the body, before the
service looks for any object. So if a schema admits a value, the service refuses that last member. No body
changes anything.
"""

import collections
import json
import re

import contract

UNKNOWN = "neither_this"
LONG_ARRAY = 100001
TEXT_MAX = 100000  # longer texts are not tried
PLACE = "\ue000"
SAMPLES = ["a", "/a", "GET", "EUR", "0644", "1", "a" * 32, "a" * 64]
VALUES = {"boolean": "true", "integer": "7", "number": "1.5", "string": '"~"', "array": "[[]]", "object": '{"~": 0}'}
BOUND = re.compile(r"must (be (an? |true|from |one of )|have at |not have a NUL)")

# verdict: REFUSED, with the pointer of the member; ADMITTED: by type and bounds; NOT_JSON; EITHER, but in words.
Case = collections.namedtuple("Case", "pointer text verdict")
REFUSED, ADMITTED, NOT_JSON, EITHER = "refused", "admitted", "not JSON", "either"


def body_member(schema, resolve=contract.resolve):
    """Type ("map": an object with free names, "any": more than one type), whether null is a value, the words that are
    values or stand for one, the schema without alternatives, and that of the items."""
    schema = resolve(schema)
    if len(schema.get("allOf", [])) == 1:
        schema = {**resolve(schema["allOf"][0]), **schema}
    ways = [resolve(one) for one in schema.get("oneOf", [schema])]
    nullable = {"type": "null"} in ways
    ways = [one for one in ways if one != {"type": "null"}]
    words = next((one["enum"] for one in ways if "enum" in one and one["type"] != "integer"), [])
    if len(ways) > 1:
        ways = [one for one in ways if "enum" not in one]
    (one,) = ways
    types = one.get("type", [])
    types = [types] if isinstance(types, str) else types
    nullable = nullable or "null" in types
    types = [name for name in types if name != "null"]
    kind = types[0] if len(types) == 1 else "any"
    if kind == "object" and "properties" not in one:
        kind = "map"
    item = {"array": "items", "map": "additionalProperties"}.get(kind)
    return {"type": kind, "nullable": nullable, "words": words, "schema": one, "item": one.get(item)}


def counts_characters(member):
    """Whether the lengths of a text are characters; the description of the others speaks of bytes or of nothing."""
    return "maxLength" in member["schema"] and bool(re.search(r"\d characters", member["schema"].get("description", "")))


def sample(schema):
    """A value that a schema admits, with the required members alone."""
    one = body_member(schema)
    schema = one["schema"]
    if one["words"]:
        return one["words"][0]
    if one["type"] == "string":
        least, most = schema.get("minLength", 0), schema.get("maxLength", 1000)
        return next(text for text in [*SAMPLES, "a" * least] if least <= len(text) <= most
                    and re.search(schema.get("pattern", ""), text))
    if one["type"] == "object":
        return {name: sample(schema["properties"][name]) for name in schema.get("required", [])}
    return {"boolean": True, "integer": schema.get("minimum", 1), "array": [], "map": {}, "any": "a"}[one["type"]]


def of_form(schema, text):
    """A pattern may be checked later than a bound."""
    return ADMITTED if "format" not in schema and re.search(schema.get("pattern", ""), text) else EITHER


def texts_of_string(one):
    schema, width = one["schema"], 1 if counts_characters(one) else 2
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    yield '"a\\u0000b"', REFUSED
    yield '"\\ud800"', NOT_JSON
    yield '"a\\u0007\\u007f\\u202eb"', EITHER
    if one["words"]:
        return
    yield '""', REFUSED if least else of_form(schema, "")
    if least > 1:
        yield json.dumps("a" * (least - 1)), REFUSED
    if most is None or most > TEXT_MAX:
        return
    yield json.dumps("a" * most), of_form(schema, "a" * most)
    yield json.dumps("a" * (most + 1)), REFUSED
    fit = "é" * (most // width)
    yield json.dumps(fit, ensure_ascii=False), of_form(schema, fit)
    yield json.dumps(fit + "é", ensure_ascii=False), REFUSED


def texts_of_integer(one):
    least, most = one["schema"].get("minimum"), one["schema"].get("maximum")
    yield from ((text, REFUSED) for text in ("1e400", "-1e400", "9" * 400, "1e300", "2.5"))
    if least is not None:
        yield from ((str(least - 1), REFUSED), (str(least), ADMITTED), (f"{least}.0", ADMITTED))
        yield "-0", ADMITTED if least <= 0 else REFUSED
    if most is not None:
        yield from ((str(most), ADMITTED), (str(most + 1), REFUSED), (str(2**64 + 1), REFUSED))


def texts_of_list(one):
    schema, is_array = one["schema"], one["type"] == "array"
    unit = "Items" if is_array else "Properties"
    least, most = schema.get("min" + unit, 0), schema.get("max" + unit)
    yield "[]", REFUSED if least else ADMITTED  # for a map too: PHP writes it
    if most is not None:
        many = range(most + 1)
        yield json.dumps([None] * len(many) if is_array else {f"k{number}": None for number in many}), REFUSED


TEXTS = {"string": texts_of_string, "integer": texts_of_integer, "array": texts_of_list, "map": texts_of_list}


def texts(one, null):
    """(JSON text, verdict) for a member; null: the verdict for a null."""
    yield "null", ADMITTED if one["nullable"] or one["type"] == "any" else null
    if one["type"] == "any":
        return
    for kind, text in VALUES.items():
        if kind != {"map": "object"}.get(one["type"], one["type"]):
            yield text, REFUSED
    if one["words"]:
        yield '"no such word"', REFUSED
        yield json.dumps(one["words"][0] + "\0").replace("\\u0000", "\\u0000x"), REFUSED
        yield from ((json.dumps(word), ADMITTED) for word in one["words"])
    yield from TEXTS.get(one["type"], lambda _: ())(one)


def join(pointer, name):
    return f"{pointer}/{name}"


def members(schema, pointer, whole, null, depth=0):
    """(pointer, member, the body with PLACE at it, what becomes of null) of each member inside of an object."""
    for name, described in schema["properties"].items():
        one = body_member(described)
        filled = {key: value for key, value in (sample(schema) if depth else {}).items() if key != name}

        def around(value, filled=filled, name=name):
            return whole({**filled, name: value})

        yield join(pointer, name), one, around(PLACE), null
        yield from inner(one, join(pointer, name), around, null, depth)


def inner(one, pointer, whole, null, depth):
    if one["type"] == "object" and depth < 4:
        yield from members(one["schema"], pointer, whole, null, depth + 1)
    if not isinstance(one["item"], dict) or not one["item"]:
        return
    entry = body_member(one["item"])
    name = "0" if one["type"] == "array" else "k"

    def around(value):
        return whole([value] if one["type"] == "array" else {name: value})

    yield join(pointer, name), entry, around(PLACE), REFUSED
    yield from inner(entry, join(pointer, name), around, null, depth + 1)


def cases(schema, is_patch):
    """Every case of a body. Null in a PATCH is no value for a member that always has one; elsewhere it is no value."""
    schema = contract.resolve(schema)
    null = REFUSED if is_patch else ADMITTED
    for pointer, one, body, becomes in members(schema, "", lambda value: {**value, UNKNOWN: 1}, null):
        frame = json.dumps(body)
        for text, verdict in texts(one, becomes):
            yield Case(pointer, frame.replace(json.dumps(PLACE), text), verdict)
        if one["type"] == "object":
            value = json.dumps({**sample(one["schema"]), UNKNOWN: 1})
            yield Case(join(pointer, UNKNOWN), frame.replace(json.dumps(PLACE), value), REFUSED)
    first = json.dumps(next(iter(schema["properties"])))
    yield Case("", '{%s: null, %s: null}' % (first, first), NOT_JSON)
    yield Case("", '{"a\\u0000b": 1}', NOT_JSON)
    yield Case("", '{%s: "\x01"}' % first, NOT_JSON)
    yield Case("", '{"a": [' + "0," * LONG_ARRAY + "0]}", NOT_JSON)
    yield from (Case("", text, REFUSED) for text in ('"text"', "7", "true", "[1]"))


def fault(case, status, answer):
    """What is wrong with an answer; None: nothing."""
    said = (status, answer.get("error"), answer.get("field"))
    if case.verdict == NOT_JSON:
        right = said[:2] in ((400, "invalid_json"), (413, "body_too_large"))
    elif case.verdict == REFUSED:
        right = said[:2] == (422, "invalid_request") and said[2] == case.pointer
    else:
        right = said[:2] == (422, "invalid_request") and (
            said[2] == "/" + UNKNOWN or case.verdict == EITHER or not BOUND.search(answer["message"]))
        right = right and (said[2] == "/" + UNKNOWN or case.pointer.startswith(said[2]) or said[2].startswith(case.pointer))
    return None if right else f"{case.verdict}: {case.pointer} {case.text[:200]}: {said} {answer.get('message')}"
