# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the tables of doc/ that follow from other files; scripts/check-style compares them.

    /usr/bin/python3 scripts/lib/reference_tables.py

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`."""

import os
import re
import sys

import openapi

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PLACE = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
SETTING = re.compile(
    r'SETTING_(?P<kind>STRING|NUMBER|CHOICE|SECTION)\(\s*(?P<name>\w+)\s*,\s*(?P<rest>(?:"(?:\\.|[^"])*"|[^()"])*)\)')


# The checks of strings, in a reader's words.
CHECKED = {"any": "text", "url": "address", "origin": "https address", "host": "host name, with or without a port", "host_name": "host name",
           "host_names": "host names", "mirrors": "pairs of registries", "templates": "pairs of an image and a template", "slug": "name"}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n" + "\n".join("| " + " | ".join(cells) + " |" for cells in lines).replace("| --- ", "|---").replace(
        "--- |", "---|") + "\n\n"


def needs_of(call):
    """The key or sign-in that a call needs."""
    access = {name: scopes for way in call.get("security", []) for name, scopes in way.items()}
    scope = "".join(access.get("key", [])) or ("sign-in" if "session" in access else "open")
    return f"{scope}, of an operator" if scope != "open" and "operator" in call["tags"] else scope


def api_calls():
    """Every call of the API, by subject: from its OpenAPI document."""
    document = openapi.documents()["openapi"]
    text, rows = "", {tag["name"]: [] for tag in document["tags"]}
    for path, calls in document["paths"].items():
        for method in openapi.METHODS:
            if method in calls:
                rows[calls[method]["tags"][0]].append(
                    [f"`{method.upper()} {path}`", calls[method]["summary"].rstrip("."), needs_of(calls[method])])
    for tag in document["tags"]:
        described = "\n" + tag["description"] + "\n" if "description" in tag else ""
        text += f"\n### {tag['name'].capitalize()}\n{described}" + table(["call", "effect", "needs"], rows[tag["name"]]).rstrip("\n") + "\n"
    return text + "\n"


def arguments(text):
    """The arguments of a macro: strings without their quotes, other words as they are."""
    return [word[1:-1] if word.startswith('"') else word.strip()
            for word in re.findall(r'"(?:\\.|[^"])*"|[^,"\s][^,"]*', text)]


def duration(number, unit):
    """A number with its unit, and long times in days or hours too."""
    for name, seconds in (("day", 86400), ("hour", 3600)):
        if unit == "s" and int(number) and int(number) % seconds == 0:
            count = int(number) // seconds
            return f"{number} s ({count} {name}{'s' if count > 1 else ''})"
    return f"{number} {unit}".strip()


def values(kind, words):
    """Default, values and meaning of a setting."""
    if kind == "NUMBER":
        default, least, most, unit = words[:4]
        return duration(default, unit), f"{least} to {most}", "".join(words[4:])
    if kind == "CHOICE":
        return words[0], ", ".join(words[1].split("|")), "".join(words[2:])
    shown = {"NULL": "must be set", "": "empty"}.get(words[0], words[0])
    return shown, CHECKED.get(words[1], words[1]), "".join(words[2:])


def settings():
    """Every setting: from fcgi/drivers/config/settings.def, and pools.def, which it includes."""
    text, rows = "", []
    head = ["setting", "default", "values", "meaning"]
    sockets = "\n".join(f'SETTING_STRING({name}_socket, "/run/sandlot/{name}.sock", path, "FastCGI socket of {serves}.")'
                        for name, serves in re.findall(r'^POOL\((\w+),.*"(.*)"\)$', read("fcgi/drivers/config/pools.def"), re.MULTILINE))
    table_of_settings = read("fcgi/drivers/config/settings.def").replace('#include "config/pools.def"', sockets)
    for found in SETTING.finditer(re.sub(r"/\*.*?\*/", "", table_of_settings, flags=re.DOTALL)):
        words = arguments(found["rest"])
        if found["kind"] != "SECTION":
            rows.append([f"`{found['name']}`", *(cell.replace("|", "\\|") for cell in values(found["kind"], words))])
        elif words[0] != "title":
            text, rows = text + (table(head, rows) if rows else "\n") + f"### {words[0]}\n", []
    return text + table(head, rows)


def cli_commands():
    """Every command of `sandlot`: from fcgi/tools/cli/verbs.def, where a blank line separates subjects, with help.c's titles."""
    text, made = re.sub(r'"\s*\n\s*"', "", read("fcgi/tools/cli/verbs.def")), ""
    titles = dict(re.findall(r'^ {8}\{"([a-z -]+)", "([^"]+)"\},$', read("fcgi/tools/cli/help.c"), re.MULTILINE))
    for part in text.split("\n\n"):
        found = re.findall(r'VERB\("([a-z][a-z -]*)",\s*"([^"]*)",\s*"([^"]+)",', part)
        if found:
            made += f"\n### {titles[found[0][0]]}\n" + table(["command", "effect"], [
                ["`" + f"sandlot {name} {operands}".strip().replace("|", "\\|") + "`", effect.replace("|", "\\|")]
                for name, operands, effect in found]).rstrip("\n") + "\n"
    return made + "\n"


def rows_of(macro, text):
    """The arguments of each use of a macro of a .def file; strings side by side are one."""
    for found in re.finditer(rf'^{macro}\(((?:"(?:\\.|[^"])*"|[^()"])*)\)$', text, re.MULTILINE):
        yield ["".join(re.findall(r'"((?:\\.|[^"])*)"', word)) if word.startswith('"') else word.strip()
               for word in re.findall(r'(?:"(?:\\.|[^"])*"\s*)+|[^,"\s][^,"]*', found[1])]


def code_of(path):
    return f"`{path}`" if path else "-"


def test_of(name):
    """A test, by its file and its name; both have to be there."""
    path, _, function = name.partition("::")
    if not path:
        return "-"
    if not re.search(rf"\b{function}\b", read(f"tests/{path}")):
        raise ValueError(f"tests/{path} has no {function}")
    return f"`{name}`"


def workarounds():
    """Every workaround: from fcgi/drivers/incus/workarounds.def."""
    text, made = read("fcgi/drivers/incus/workarounds.def"), ""
    rows = list(rows_of("WORKAROUND", text))
    for symbol, name, tested in rows_of("COMPONENT", text):
        own = [row for row in rows if row[1] == symbol]
        for row in own:
            read(f"fcgi/{row[6]}")
        made += f"\n### {name}\n\nNewest tested version: {tested}.\n" + table(
            ["it", "seen in", "source or issue", "sandlot", "code", "test"],
            [[row[3], row[2], code_of(row[4]), row[5], code_of(row[6]), test_of(row[7])] for row in own]).rstrip("\n") + "\n"
    return made + "\n"


def worker_pools():
    """Every worker pool: from fcgi/drivers/config/pools.def."""
    return table(["program", "worker pool", "workers", "requests"], [
        [f"`{pool[1]}`", f"`{pool[0]}`", pool[2], pool[6]] for pool in rows_of("POOL", read("fcgi/drivers/config/pools.def"))])


def connections():
    """The database connections: one for each worker and process of a dispatcher, and for sandlot-events, sandlot-ssh and a
    sandlotctl."""
    workers = sum(int(pool[2]) for pool in rows_of("POOL", read("fcgi/drivers/config/pools.def")))
    processes = re.search(r"#define DISPATCHER_PROCESSES_MAX (\d+)", read("fcgi/front/dispatcher/jobs.h"))
    number = workers + int(processes[1]) + 3
    return table(["front nodes", "connections"], [[str(nodes), str(nodes * number)] for nodes in (1, 2, 3)])


TABLES = {"connections": connections, "worker-pools": worker_pools, "workarounds": workarounds, "api-calls": api_calls, "cli-commands": cli_commands, "settings": settings}


def renew(text):
    """A page with its tables as they have to be."""
    return PLACE.sub(lambda found: found[1] + TABLES[found[2]]() + found[3], text)


def pages():
    """The pages with such tables, as (path, text)."""
    for folder in ("doc/dev", "doc/howto", "doc/reference"):
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            text = read(f"{folder}/{name}") if name.endswith(".md") else ""
            if PLACE.search(text):
                yield f"{folder}/{name}", text


def main():
    for path, text in pages():
        with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
            file.write(renew(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
