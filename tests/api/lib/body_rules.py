# SPDX-License-Identifier: GPL-2.0-or-later
"""The bodies of an OpenAPI document against the rules by which the service checks them (route_table.c)."""

import body_members as described

BOUNDS = {"string": ("minLength", "maxLength"), "integer": ("minimum", "maximum"), "array": ("minItems", "maxItems"),
          "map": ("minProperties", "maxProperties")}


def differences(schema, rule, where, resolve):
    """What a schema of the document says otherwise than the rule by which the service checks the member. Rules with a
    further check may know less: that check has the rest. A pattern or a format says how long a text is."""
    one = described.body_member(schema, resolve)
    for name in ("type", "nullable"):
        if one[name] != rule[name]:
            yield f"{where}: {name} {one[name]}"
    least, most = BOUNDS.get(one["type"], (None, None))
    said = (one["schema"].get(least, 0), one["schema"].get(most))
    kept = (rule.get("min", 0), rule.get("max"))
    implied = "pattern" in one["schema"] or "format" in one["schema"]
    if said != kept and not (rule["checked"] and "max" not in rule) and not (implied and said[1] in (None, kept[1])):
        yield f"{where}: {least} and {most} {said}, and not {kept}"
    if one["type"] == "string" and described.counts_characters(one) != ("counts" in rule):
        yield f"{where}: counts {rule.get('counts', 'bytes')}"
    if one["words"] != rule.get("choices", []) and not (rule["checked"] and "choices" not in rule):
        yield f"{where}: {one['words']}"
    if "members" in rule:
        yield from differences_of_objects(one["schema"], rule["members"], where, resolve)
    if "item" in rule and one["item"] is not None:
        yield from differences(one["item"], rule["item"], where + "/*", resolve)


def differences_of_objects(schema, members, where, resolve):
    documented = schema.get("properties", {})
    if set(documented) != set(members):
        yield f"{where}: members {sorted(set(documented) ^ set(members))}"
    for name in set(documented) & set(members):
        if (name in schema.get("required", [])) != members[name]["required"]:
            yield f"{where}/{name}: required"
        yield from differences(documented[name], members[name], f"{where}/{name}", resolve)


def differences_of_body(operation, route, resolve):
    """The same of the JSON body of an operation, or of one without a body."""
    body = operation.get("requestBody", {})
    content = body.get("content", {}).get("application/json")
    if content and body.get("required", False) != route["body_required"]:
        yield f"{operation['operationId']}: whether the body is required"
    schema = resolve(content["schema"]) if content else {}
    yield from differences_of_objects(schema, route["body"], operation["operationId"], resolve)
