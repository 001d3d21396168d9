# SPDX-License-Identifier: GPL-2.0-or-later
"""The rules of the house, checked line by line; see scripts/check-style."""

import builtins
import concurrent.futures
import os
import re
import shutil
import subprocess
import symtable
import sys

import check_words
import openapi
import pictures
import reference_tables
import words_examples

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LICENCE = "GPL-2.0-or-later"
FUNCTION_LINES_MAX = 100
FILE_LINES_MAX = 800

# Releases of clang-format disagree about the same .clang-format; this one is the judge.
CLANG_FORMAT_MAJOR = 14

# fcgi/<layer>/<folder>/: the layers from the top down. A file may include its own folder and the
# folders of lower layers. base/ is the lowest layer and has no folders.
LAYERS = ("front", "host", "guest", "tools", "concepts", "drivers", "base")
# The rooms: programs, by the machines and rights that they run with. They never include each other.
ROOMS = LAYERS[:4]
# What the programs of one room share.
SHARED = {"host": "common"}

# Programs that stand alone: static ones, which know nothing but their HTTP server and the ground, and
# the users' command line, which runs where nothing else of the service is.
STANDALONE = {"agent": {"httpd"}, "keeper": {"httpd"}, "boot": set(), "cli": set()}

# The folders inside the agent and inside the helper, from the ground up. Each may include those before
# it, and the program's own folder includes all; agent.h and helper.h name the others without knowing them.
PROGRAM_FOLDERS = {
    "agent": ("common", "framework", "process", "files", "filesystem", "watch", "agent"),
    "helper": ("common", "confine", "guard", "lxcfs", "network", "prepare", "criu", "btrfs", "launcher", "start", "helper"),
}
# The folders of the helper are programs: between them there are these arrows alone.
HELPER_ARROWS = {"btrfs": {"guard"}, "launcher": {"confine"}}

# The arrows between drivers: what opens the database that the settings name; and what makes
# sandboxes of the instances of Incus, and asks the agent in one, which wants a secret.
DRIVER_ARROWS = {"config": {"db"}, "runtime": {"incus", "http", "crypto"}}

# Where libcurl may be used: the clients of the runtime, of the archive's storage, of the agent, of the firewall and of the
# keeper, what the last three have in common, and of the identity provider; what sends webhooks; and the
# command line for users.
CURL_ALLOWED = re.compile(r"fcgi/(drivers/incus/|drivers/objects/objects_s3|drivers/http/(client|link)|drivers/runtime/agent_client|"
                          r"concepts/network/firewall_client|concepts/volume/keeper_client|"
                          r"concepts/login/oidc_provider|concepts/webhook/webhook\.c|"
                          r"front/dispatcher/webhook|tools/cli/)")
# What panic() itself stands on.
ABORT_ALLOWED = re.compile(r"fcgi/base/(panic|log|mem)\.c$")
SQL_ALLOWED = re.compile(r"fcgi/drivers/db/|_db\.c$")

FORBIDDEN_CALLS = {
    "abort": "panic() of base/panic.h",
    "strcpy": "base/str.h or base/buffer.h",
    "strcat": "base/buffer.h",
    "sprintf": "snprintf or base/buffer.h",
    "vsprintf": "vsnprintf or base/buffer.h",
    "gets": "fgets",
    "strtok": "strtok_r",
    "atoi": "the parsers of base/str.h",
    "atol": "the parsers of base/str.h",
    "system": "posix_spawn",
    "popen": "posix_spawn",
    "mktemp": "mkstemp",
    "tmpnam": "mkstemp",
}
CALL = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(FORBIDDEN_CALLS))
SQL = re.compile(
    r"\b(SELECT\s+[\w*@(`]|INSERT\s+(IGNORE\s+)?INTO\b|REPLACE\s+INTO\b|UPDATE\s+\w+\s+SET\b|"
    r"DELETE\s+FROM\b|CREATE\s+TABLE\b|ALTER\s+TABLE\b|DROP\s+TABLE\b|START\s+TRANSACTION\b|"
    r"FOR\s+UPDATE\b)"
)
TOKEN = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


class Source:
    """One file: its text, and the same text without comments and literals."""

    def __init__(self, root, path):
        self.path = path
        with open(os.path.join(root, path), encoding="utf-8", errors="surrogateescape") as file:
            self.text = file.read()
        self.lines = self.text.split("\n")
        self.is_c = path.endswith((".c", ".h"))
        self.is_test = path.startswith("tests/")
        if self.is_c:
            self.code = TOKEN.sub(_blank, self.text)

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def place(self):
        """The layer and the folder of a file of the programs, or nothing."""
        parts = self.path.split("/")
        if parts[0] != "fcgi" or len(parts) < 3:
            return None, None
        return parts[1], parts[1] if parts[1] == LAYERS[-1] else parts[2]


def _blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def check_headers(sources):
    """each file begins with the licence line, each C header has #pragma once"""
    for source in sources:
        if source.is_c or source.path.endswith(".def"):
            if source.lines[0] != f"/* SPDX-License-Identifier: {LICENCE} */":
                yield source.path, 1, f"first line is not /* SPDX-License-Identifier: {LICENCE} */"
        for number, line in enumerate(source.lines[:4], 1):
            found = re.search(r"SPDX-License-Identifier:\s*([\w.+-]+)", line)
            if found and found.group(1) != LICENCE:
                yield source.path, number, f"licence is {found.group(1)}, not {LICENCE}"
        if source.path.endswith(".h"):
            first = re.search(r"^\s*#\s*(.*)$", source.code, re.MULTILINE)
            if not first or first.group(1).strip() != "pragma once":
                yield source.path, 1, "the first directive is not #pragma once"


def check_lengths(sources):
    """functions and files are short"""
    for source in sources:
        if source.is_c or source.path.endswith(".py"):
            if len(source.lines) - 1 > FILE_LINES_MAX:
                yield source.path, FILE_LINES_MAX, f"over {FILE_LINES_MAX} lines: split it"
        if not source.is_c:
            continue
        start = 0
        for number, line in enumerate(source.lines, 1):
            if line == "{":
                start = number
            elif line == "}" and start:
                if number - start - 1 > FUNCTION_LINES_MAX:
                    yield source.path, start, f"function of {number - start - 1} lines"
                start = 0


def check_calls(sources):
    """no call that overruns, is not reentrant, starts a shell, or ends the process without a word"""
    for source in sources:
        if not source.is_c or source.is_test:
            continue
        for found in CALL.finditer(source.code):
            name = found.group(1)
            if name == "abort" and ABORT_ALLOWED.match(source.path):
                continue
            yield (source.path, source.line_of(found.start()),
                   f"{name}() is refused; use {FORBIDDEN_CALLS[name]}")


def layers_of_folders():
    """Which layer each folder is in, from the tree itself."""
    found = {LAYERS[-1]: LAYERS[-1]}
    for layer in LAYERS[:-1]:
        for entry in os.scandir(os.path.join(ROOT, "fcgi", layer)):
            if entry.is_dir():
                found[entry.name] = layer
    return found


def may_include(layer, folder, target_layer, target):
    if target == folder or target_layer == LAYERS[-1]:
        return True
    if folder in STANDALONE:
        return target in STANDALONE[folder]
    if layer == target_layer:
        return layer == "concepts" or target in DRIVER_ARROWS.get(folder, ()) or target == SHARED.get(layer)
    if layer in ROOMS and target_layer in ROOMS:
        return False
    return LAYERS.index(target_layer) > LAYERS.index(layer)


def check_arrows(sources):
    """includes point downwards: a room of programs, concepts, drivers, base"""
    layer_of = layers_of_folders()
    edges = {}
    for source in sources:
        layer, folder = source.place()
        if not source.is_c or folder is None:
            continue
        if layer not in LAYERS:
            yield source.path, 1, f"fcgi/{layer} is no layer; the layers are {', '.join(LAYERS)}"
            continue
        for found in INCLUDE.finditer(source.text):
            target = found.group(2).split("/")[0]
            where = source.line_of(found.start(2))
            if found.group(1) != '"' or found.group(2) == "config.h":
                continue
            if "/" not in found.group(2) or target not in layer_of:
                yield source.path, where, f'write "folder/file.h", not "{found.group(2)}"'
            elif not may_include(layer, folder, layer_of[target], target):
                yield source.path, where, f"{folder}/ may not include {target}/"
            elif layer == layer_of[target] == "concepts" and target != folder:
                edges.setdefault(folder, {}).setdefault(target, (source.path, where))
    yield from concept_cycles(edges)


def concept_cycles(edges):
    """Concepts may use each other, but not in a circle."""
    def reaches(start, goal, seen):
        return any(step == goal or (step not in seen and reaches(step, goal, seen | {step}))
                   for step in edges.get(start, ()))

    for folder, targets in sorted(edges.items()):
        for target, (path, where) in sorted(targets.items()):
            if reaches(target, folder, {target}):
                yield path, where, f"{folder}/ and {target}/ include each other in a circle"


def inner_folder(program, path):
    """The folder inside a program of a path that ends with PROGRAM/[folder/]file."""
    parts = path.split("/")
    return parts[-2] if parts[-2] in PROGRAM_FOLDERS[program] else program


def may_include_inside(program, folder, target):
    if program == "helper" and folder not in (program, target) and target != "common":
        return target in HELPER_ARROWS.get(folder, ())
    order = PROGRAM_FOLDERS[program]
    return order.index(target) <= order.index(folder)


def check_insides(sources):
    """includes inside the agent and the helper point from programs and services to what all have"""
    for source in sources:
        program = source.place()[1]
        if not source.is_c or program not in PROGRAM_FOLDERS:
            continue
        own = inner_folder(program, source.path)
        for found in INCLUDE.finditer(source.text):
            target = found.group(2)
            if not target.startswith(f"{program}/") or target == f"{program}/{program}.h":
                continue
            if not may_include_inside(program, own, inner_folder(program, target)):
                yield source.path, source.line_of(found.start(2)), f"{own}/ may not include {target}"


def check_sql(sources):
    """SQL stands in *_db.c only, or in a header that only those include"""
    includers = {}
    for source in sources:
        if source.is_c:
            for found in INCLUDE.finditer(source.text):
                includers.setdefault(found.group(2), []).append(source.path)
    for source in sources:
        if not source.is_c or source.is_test or SQL_ALLOWED.search(source.path):
            continue
        users = includers.get("/".join(source.path.split("/")[-2:]))
        if users and all(SQL_ALLOWED.search(path) for path in users):
            continue
        for match in TOKEN.finditer(source.text):
            if match.group()[0] == '"' and SQL.search(match.group()):
                yield source.path, source.line_of(match.start()), "SQL outside a *_db.c file"


# Of what is not shown of a sandbox; any other column of its row changes with its version.
NOT_SHOWN = {"envs_sealed", "host_id", "deadline_told_ms", "denials_told", "archived",
             "network_due_at_ms", "sessions_due_at_ms", "destroyed_at_ms", "reserved"}
ROW_CHANGE = re.compile(r"UPDATE sandboxes\b[^;]*?\bSET (.*?)(?: WHERE |;)", re.DOTALL)


def check_versions(sources):
    """What changes a row of sandboxes gives it another version, or workers go on to show what was there"""
    for source in sources:
        if not source.is_c or source.is_test:
            continue
        for match in ROW_CHANGE.finditer(source.text):
            columns = set(re.findall(r"(\w+) = ", match.group(1)))
            if not columns <= NOT_SHOWN and "version = UUID_SHORT()" not in match.group(1):
                yield source.path, source.line_of(match.start()), "no other version for the row"


def check_curl(sources):
    """libcurl is used by the clients of runtime, agent, firewall, keeper and webhooks only"""
    for source in sources:
        if not source.is_c or source.is_test or CURL_ALLOWED.match(source.path):
            continue
        for found in re.finditer(r"\bcurl_\w+\s*\(|\bCURL\b|[<\"]curl/", source.code):
            yield source.path, source.line_of(found.start()), "libcurl outside its clients"


DECLARATION = re.compile(
    r"    (?!(?:return|goto|else|case|if|while|for|do|switch)\b)"
    r"(?:(?:static|const|struct|enum|union|unsigned|signed|long|auto\w+|\w+_auto(?:_t)?)\s+)*"
    r"\w+[ *]+\**\w+(?:\[[^\]]*\])*\s*[=;,]")
SIZE_OF_OBJECT = re.compile(
    r"\bsizeof\((?!(?:struct|enum|union|unsigned|signed|const|char|int|long|short|bool|void)\b)"
    r"(?!\w+_t\b)\*?[a-z][\w>.\-\[\]]*\)")


def check_hand(sources):
    """one hand: no blank line after the declarations of a function, sizeof of objects bare"""
    for source in sources:
        if not source.is_c or source.is_test:
            continue
        for found in SIZE_OF_OBJECT.finditer(source.code):
            number = source.line_of(found.start())
            in_macro = source.lines[number - 2].endswith("\\")
            if not in_macro and not source.lines[number - 1].startswith("#"):
                yield source.path, number, f"write {found.group().replace('(', ' ')[:-1]}"
        begun = None
        for number, line in enumerate(source.code.split("\n"), 1):
            if line == "{":
                begun = number
            elif begun and not source.lines[number - 1].strip():
                if number > begun + 1:
                    yield source.path, number, "blank line after the declarations of a function"
                begun = None
            elif not DECLARATION.match(line):
                begun = None


def check_text(sources):
    """no tab, no space at the end of a line, a newline at the end of a file"""
    for source in sources:
        tabs_are_syntax = source.path.endswith((".am", ".inc", ".mk", ".patch", ".nft"))
        if source.text and not source.text.endswith("\n"):
            yield source.path, len(source.lines), "no newline at the end of the file"
        for number, line in enumerate(source.lines, 1):
            if line != line.rstrip():
                yield source.path, number, "space at the end of the line"
            elif "\t" in line and not tabs_are_syntax:
                yield source.path, number, "tab"


def clang_format():
    """The judge's path and why it cannot judge, if it cannot."""
    for program in (os.environ.get("CLANG_FORMAT"), f"clang-format-{CLANG_FORMAT_MAJOR}",
                    "clang-format"):
        if not program:
            continue
        try:
            version = subprocess.run([program, "--version"], capture_output=True, text=True,
                                     check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            continue
        major = re.search(r"version (\d+)", version)
        if major and int(major.group(1)) == CLANG_FORMAT_MAJOR:
            return program, None
        return program, f"clang-format {CLANG_FORMAT_MAJOR} is the judge, this is {version.strip()}"
    return None, "clang-format is not installed"


def check_format(root, program, sources):
    """the code is as clang-format leaves it"""
    paths = [source.path for source in sources if source.is_c]
    size = max(1, len(paths) // (4 * (os.cpu_count() or 1)))
    batches = [paths[i:i + size] for i in range(0, len(paths), size)]

    def run(batch):
        return subprocess.run([program, "--style=file", "--dry-run", *batch], cwd=root,
                              capture_output=True, text=True, check=False)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for result in pool.map(run, batches):
            places = {}
            for found in re.finditer(r"^(.+?):(\d+):\d+: ", result.stderr, re.MULTILINE):
                places.setdefault(found.group(1), int(found.group(2)))
            for path, line in places.items():
                yield path, line, f"not formatted: `{program} -i {path}` does it"
            if result.returncode != 0 and not result.stderr:
                yield batch_name(result), 1, "clang-format failed"


def batch_name(result):
    return result.args[-1]


# Names that look like misspellings: mandoc's Nd, the header TE, nftables' iif, CrOS, parts of words.
SPELLED_SO = "nd,te,iif,ontainer,2st,cros"


def check_spelling(root, sources):
    """words are spelled as codespell knows them"""
    paths = [source.path for source in sources if not source.is_test]  # tests misspell on purpose
    result = subprocess.run(["codespell", "--ignore-words-list", SPELLED_SO, *paths], cwd=root,
                            capture_output=True, text=True, check=False)
    for found in re.finditer(r"^(.+?):(\d+): (.*)$", result.stdout, re.MULTILINE):
        yield found.group(1), int(found.group(2)), found.group(3)


def _unbound(table, bound):
    for symbol in table.get_symbols():
        name = symbol.get_name()
        local = table.get_type() == "module" and (symbol.is_assigned() or symbol.is_imported())
        if symbol.is_referenced() and (symbol.is_global() or table.get_type() == "module") and not local and name not in bound:
            yield table.get_lineno(), name
    for inner in table.get_children():
        yield from _unbound(inner, bound)


def check_names(sources):
    """each name that a Python program uses is bound in it"""
    given = {*dir(builtins), "__file__", "__name__", "__doc__"}
    for source in sources:
        if not source.path.endswith(".py") or re.search(r"^from \S+ import \*", source.text, re.MULTILINE):
            continue
        table = symtable.symtable(source.text, source.path, "exec")
        bound = given | {one.get_name() for one in table.get_symbols()
                         if one.is_assigned() or one.is_imported() or one.is_namespace()}
        for line, name in _unbound(table, bound):
            yield source.path, line, f"{name} is bound nowhere"


def check_modules(sources):
    """each module below tests/api has a base name of its own, by which pytest imports it"""
    paths = {}
    for source in sources:
        if re.match(r"tests/api/(?!lib/guest/).*\.py$", source.path):
            other = paths.setdefault(os.path.basename(source.path), source.path)
            if other != source.path and os.path.basename(other) not in ("__init__.py", "conftest.py"):
                yield source.path, 1, f"{other} has the same base name"


def check_packed(sources):
    """each header of the programs and each page is named in a Makefile, or the tarball lacks it"""
    makefiles = [source for source in sources if source.path.endswith(("Makefile.am", "Makefile.inc"))]
    named = {word for source in makefiles for word in source.text.split()}
    for source in sources:
        if makefiles and source.path.startswith("fcgi/") and source.path.endswith((".h", ".def")) \
                and source.path not in named:
            yield source.path, 1, "no Makefile.inc names it"
        elif makefiles and source.path.startswith("doc/") and source.path not in named:
            yield source.path, 1, "Makefile.am does not name it"


def check_linked(sources):
    """each installed program has its own _LDADD: that of all programs is for unit tests"""
    makefiles = [source for source in sources if source.path.endswith(("Makefile.am", "Makefile.inc"))]
    own = {name for source in makefiles for name in re.findall(r"^(\w+)_LDADD =", source.text, re.MULTILINE)}
    for source in makefiles:
        for found in re.finditer(r"^\w*(?:bin|libexec)_PROGRAMS \+= (.*)", source.text, re.MULTILINE):
            for program in found[1].split():
                if re.sub(r"\W", "_", program) not in own:
                    yield source.path, source.line_of(found.start()), f"{program} has no _LDADD, which may be empty"


def check_read_by_setup(sources):
    """each file that installed scripts read is installed with them"""
    listed = {word for source in sources if source.path == "scripts/Makefile.inc" for word in source.text.split()}
    for source in sources:
        # The programs of conf/incus are installed as programs, and only stacks of a source tree read them here.
        if listed and source.path in listed:
            for found in re.finditer(r"\$SOURCE_DIR/((?:conf|sql)/(?!incus/)[\w./-]+)", source.text):
                if found.group(1) not in listed:
                    yield source.path, source.line_of(found.start()), f"scripts/Makefile.inc does not install {found.group(1)}"


def check_prose(sources):
    """pages, manual pages, settings, messages, descriptions and comments say who does what, in short sentences"""
    texts = {source.path: source.text for source in sources if check_words.has_prose(source.path)}
    yield from check_words.findings(texts)


def check_prose_examples(_sources):
    """the count of words refuses and accepts its examples"""
    for sentence in check_words.wrong_examples(words_examples.EXAMPLES):
        yield "scripts/lib/words_examples.py", 1, sentence


def check_reference(_sources):
    """the tables of doc/reference are those of their sources"""
    for path, text in reference_tables.pages():
        if reference_tables.renew(text) != text:
            yield path, 1, "run /usr/bin/python3 scripts/lib/reference_tables.py"


def check_pictures(_sources):
    """the pictures of doc/images are those of their script, with programs and worker pools that exist"""
    for path, text in pictures.drawn():
        if not os.path.isfile(os.path.join(ROOT, path)) or pictures.read(path) != text:
            yield path, 1, "run /usr/bin/python3 scripts/lib/pictures.py"
    for name in pictures.unknown_names():
        yield "scripts/lib/pictures.py", 1, f"{name} is not in {pictures.PROGRAMS}"


def check_openapi(_sources):
    """the OpenAPI documents can be made from their parts, and the parts are laid out"""
    try:
        openapi.documents()
        for path in openapi.badly_laid_out():
            yield path, 1, "run /usr/bin/python3 scripts/lib/openapi.py --format"
    except openapi.PartError as failure:
        yield "conf/openapi", 1, failure


CHECKS = [check_headers, check_lengths, check_calls, check_arrows, check_insides, check_sql, check_versions, check_curl,
          check_hand, check_text, check_names, check_modules, check_packed, check_linked, check_read_by_setup, check_prose,
          check_prose_examples, check_openapi, check_reference, check_pictures]

SUFFIXES = (".c", ".h", ".def", ".py", ".sh", ".am", ".ac", ".inc", ".m4", ".sql", ".in", ".txt",
            ".md", ".nft")


def wanted(path):
    name = os.path.basename(path)
    if path.startswith(("build-aux/", "autom4te.cache/")) or "/corpus/" in path:
        return False
    return (name.endswith(SUFFIXES) or check_words.has_prose(path)
            or (path.startswith("scripts/") and "." not in name))


def tree(root):
    """The files of a checkout, or all files of an unpacked tarball."""
    if os.path.exists(os.path.join(root, ".git")):
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True,
                                text=True, check=False)
        if listed.returncode == 0:
            return [path for path in listed.stdout.split("\0")
                    if path and os.path.isfile(os.path.join(root, path))]
    paths = []
    for top in ("fcgi", "tests", "scripts", "conf", "sql", "m4"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            paths += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return paths


def report(number, title, findings):
    """One TAP line, and a comment for each finding."""
    print(f"{'not ok' if findings else 'ok'} {number} - {title}")
    for path, line, text in findings:
        print(f"# {path}:{line}: {text}")
    return bool(findings)


def main(arguments):
    root = ROOT
    if arguments:
        paths = [os.path.relpath(os.path.abspath(path), root) for path in arguments]
    else:
        paths = sorted(tree(root))
    sources = [Source(root, path) for path in paths if wanted(path)]
    if not any(source.is_c for source in sources) and not arguments:
        print("Bail out! no C file found")
        return 1

    print(f"1..{len(CHECKS) + 2}", flush=True)
    failed = False
    for number, check in enumerate(CHECKS, 1):
        failed |= report(number, check.__doc__, list(check(sources)))
    number = len(CHECKS) + 1
    program, obstacle = clang_format()
    if obstacle:
        print(f"ok {number} - {check_format.__doc__} # SKIP {obstacle}")
    else:
        failed |= report(number, check_format.__doc__, list(check_format(root, program, sources)))
    number += 1
    if shutil.which("codespell"):
        failed |= report(number, check_spelling.__doc__, list(check_spelling(root, sources)))
    else:
        print(f"ok {number} - {check_spelling.__doc__} # SKIP codespell is not installed")
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
