# SPDX-License-Identifier: GPL-2.0-or-later
"""The last layer of an image: agent, init, users, the resolver, and the image's own settings for them.

Everything here runs with the image as its root.
"""

import json
import os
import re
import stat

from failure import Failure
from layers import ID_MAX, remove

PLACE = "/usr/lib/sandlot"
AGENT = PLACE + "/sandlot-agent"
BUSYBOX = PLACE + "/busybox"
TOOLS = PLACE + "/tools"
# Tools of the scripts of a build's steps, which look here last.
TOOL_NAMES = ("cat chmod chown cp cut dirname find grep head id ln ls mkdir mktemp mv readlink rm sed sh sleep sort stat "
              "sync tail tar touch tr truncate").split()
DEFAULTS = "/etc/sandlot/template.json"
USER = "user"
USER_ID = 1000  # also of the files that the API writes into volumes
CONFIG_MAX = 24 << 10
# Folders that are mounted, and those that every program expects.
MOUNTED = ("proc", "sys", "dev")
FOLDERS = (("/etc", 0o755), ("/usr/lib", 0o755), ("/bin", 0o755), ("/sbin", 0o755), ("/home", 0o755), ("/root", 0o700), ("/run", 0o755),
           ("/tmp", 0o1777), ("/var/tmp", 0o1777), ("/etc/sandlot", 0o755))


def write(path, data, mode=0o644):
    """Write a new file. It replaces anything of this name."""
    remove(path)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode("utf-8", "surrogateescape"))
    os.chmod(path, mode)


def lines_of(path):
    """The lines of a list of users or groups. Something else in its place is none."""
    if not os.path.isfile(path):
        return []
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read(1 << 20).splitlines()


def rows(path):
    """The fields of each line. Lines without a name are ignored."""
    return [line.split(":") for line in lines_of(path) if line.count(":") >= 2 and not line.startswith(":")]


def make_folders():
    for name in MOUNTED:
        remove("/" + name)
        os.mkdir("/" + name, 0o755)
    for path, mode in FOLDERS:
        if not os.path.isdir(path):
            remove(path)
            os.makedirs(path)
            os.chmod(path, mode)


def add_programs(programs):
    """The agent, which is the first process too, and a shell and tools where the image has none."""
    remove(PLACE)
    os.makedirs(TOOLS, 0o755)
    write(AGENT, programs["agent"], 0o755)
    write(BUSYBOX, programs["busybox"], 0o755)
    for name in TOOL_NAMES:
        os.symlink(BUSYBOX, f"{TOOLS}/{name}")
    remove("/sbin/init")
    os.symlink(AGENT, "/sbin/init")
    for path in ("/sbin/poweroff", "/sbin/reboot", "/sbin/halt", "/bin/sh"):
        if not os.path.exists(path):
            remove(path)
            os.symlink(BUSYBOX, path)


# --- users ---

def shell():
    return "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"


def append(path, line, mode):
    """Add a line to a list. It keeps its owner: programs with the rights of the group `shadow` read /etc/shadow."""
    known = os.stat(path) if os.path.isfile(path) else None
    write(path, "".join(one + "\n" for one in [*lines_of(path), line]), mode)
    if known:
        os.chown(path, known.st_uid, known.st_gid)


def add_root():
    if not any(row[0] == "root" for row in rows("/etc/passwd")):
        append("/etc/passwd", f"root:x:0:0:root:/root:{shell()}", 0o644)
    if not any(row[0] == "root" for row in rows("/etc/group")):
        append("/etc/group", "root:x:0:", 0o644)


def add_user(name=USER, number=USER_ID, group=None):
    """Add a user of this number. If the image has a user of the same number, both names mean it."""
    if any(row[0] == name for row in rows("/etc/passwd")):
        return
    group = number if group is None else group
    if not any(row[2] == str(group) for row in rows("/etc/group")):
        append("/etc/group", f"{name}:x:{group}:", 0o644)
    append("/etc/passwd", f"{name}:x:{number}:{group}::/home/{name}:{shell()}", 0o644)
    if os.path.isfile("/etc/shadow"):
        append("/etc/shadow", f"{name}:*:19000:0:99999:7:::", 0o640)
    home = f"/home/{name}"
    if not os.path.isdir(home):
        remove(home)
        os.mkdir(home, 0o755)
        os.chown(home, number, group)


def is_number(name):
    return name.isascii() and name.isdecimal()


def choose_number(said, name, group):
    """The name of the user of a number. An image need not have one: without a group it gets root's, as in Docker."""
    number = int(name)
    group = int(group) if is_number(group) else next(
        (int(row[2]) for row in rows("/etc/group") if row[0] == group and is_number(row[2])), 0)
    if number > ID_MAX or group > ID_MAX:
        raise Failure(f"the image runs as user {said}, and a sandbox has the numbers 0 to {ID_MAX}")
    known = next((row[0] for row in rows("/etc/passwd") if row[2] == str(number)), None)
    if known is None:
        known = f"user{number}"
        add_user(known, number, group)
    return known


def known_group(said, group):
    """The group behind a user, with its colon. A name that the image does not have means the user's own group."""
    if is_number(group) and int(group) > ID_MAX:
        raise Failure(f"the image runs as {said}, and a sandbox has the numbers 0 to {ID_MAX}")
    return f":{group}" if is_number(group) or any(row[0] == group for row in rows("/etc/group")) else ""


def choose_user(said, adds_usual=True):
    """The user of sandboxes, whom the image's USER means: NAME or NUMBER, with a group behind a colon."""
    name, _, group = said.partition(":")
    if is_number(name):
        name = choose_number(said, name, group)
    elif name and not any(row[0] == name for row in rows("/etc/passwd")):
        raise Failure(f"the image runs as user {name!r}, who is not in its /etc/passwd")
    if adds_usual:
        add_user()
    return (name or USER) + known_group(said, group)


# --- files ---

def add_files():
    write("/etc/resolv.conf", "nameserver 169.254.0.1\noptions timeout:2 attempts:3\n")
    for path in ("/etc/hosts", "/etc/hostname"):
        if not os.path.isfile(path):
            write(path, "")
    # A later step may install sudo.
    if not os.path.lexists("/etc/sudoers.d"):
        os.mkdir("/etc/sudoers.d", 0o750)
    if os.path.isdir("/etc/sudoers.d"):
        write("/etc/sudoers.d/sandlot-user", f"Defaults !fqdn\n#{USER_ID} ALL=(ALL:ALL) NOPASSWD: ALL\n", 0o440)
    keep_path()


def keep_path():
    """A login shell keeps the PATH of the image and of the caller."""
    path = "/etc/profile"
    if not os.path.isfile(path):
        return
    with open(path, "rb") as file:
        text = file.read(1 << 20)
    kept = re.sub(rb'(?m)^(\s*(?:export )?)PATH="?(/[^"$\n;]*)"?$', rb'\1PATH="${PATH:-\2}"', text)
    if kept != text:
        with open(path, "wb") as file:
            file.write(kept)


# --- the image's settings ---

def texts(value):
    """A list of strings, or none. As in Docker, a string is a list of one."""
    if value is None or value == "":
        return []
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Failure("the image's configuration has a list that is not of strings")
    return value


def text(value):
    return value if isinstance(value, str) else ""


def names(value):
    return sorted(one for one in value if isinstance(one, str)) if isinstance(value, dict) else []


def environment(config):
    pairs = (one.partition("=") for one in texts(config.get("Env")))
    return {name: value for name, _, value in pairs if name}


def quoted(words):
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def seconds(check, name):
    """A duration of the image, which is in nanoseconds. 0: the default."""
    value = check.get(name)
    return -(-value // 10**9) if isinstance(value, int) and 0 < value < 10**18 else 0


def describe(order, document):
    """The part of the image's configuration that the version keeps. order: names the image."""
    config = document.get("config") or {}
    if not isinstance(config, dict):
        raise Failure("the image's configuration has the wrong form")
    check = config.get("Healthcheck")
    check = check if isinstance(check, dict) else {}
    return {
        "name": order["image"], "digest": order["digest"], "platform": order["platform"],
        "entrypoint": texts(config.get("Entrypoint")), "command": texts(config.get("Cmd")),
        "user": text(config.get("User")), "workdir": text(config.get("WorkingDir")), "envs": environment(config),
        "exposed_ports": names(config.get("ExposedPorts")), "volumes": names(config.get("Volumes")), "stop_signal": text(config.get("StopSignal")),
        "health_check": texts(check.get("Test")), "health_interval": seconds(check, "Interval"),
        "health_timeout": seconds(check, "Timeout"), "on_build": texts(config.get("OnBuild")),
        "shell": texts(config.get("Shell")),
    }


def write_defaults(image, adds_usual):
    """Write the defaults of sandboxes: user, folder and variables of their commands."""
    defaults = {"user": choose_user(image["user"], adds_usual), "envs": image["envs"], "image": image}
    if image["workdir"].startswith("/"):
        defaults["workdir"] = image["workdir"]
        os.makedirs(image["workdir"], 0o755, exist_ok=True)
    for volume in image["volumes"]:
        if volume.startswith("/") and "\0" not in volume and not os.path.lexists(volume):
            os.makedirs(volume, 0o755)
    words = image["entrypoint"] + image["command"]
    if words:
        defaults["image_command"] = quoted(words)
    said = json.dumps(defaults, ensure_ascii=False)
    try:
        said.encode()
    except UnicodeEncodeError:
        raise Failure("the image's configuration has text that is no UTF-8") from None
    if "\\u0000" in said:
        raise Failure("the image's configuration has text with a NUL")
    if len(said) > 2 * CONFIG_MAX:
        raise Failure(f"the image's configuration has more than {CONFIG_MAX >> 10} KiB")
    write(DEFAULTS, said)


def finish(image, programs, adds_usual=True):
    """Add the last layer. programs: the bytes of the agent and of busybox. Without adds_usual, the build adds `user`
    behind its last step, because a step may add a user of this name or number."""
    os.umask(0o022)
    make_folders()
    add_programs(programs)
    add_root()
    write_defaults(image, adds_usual)
    add_files()
    return stat.S_IMODE(os.lstat("/").st_mode)
