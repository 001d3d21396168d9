# SPDX-License-Identifier: GPL-2.0-or-later
"""Regular files below /proc and /sys that the caller can open for writing, one a line. Nothing is
written. Directories of processes are looked at for this one alone."""

import os
import stat

# Opening these does something by itself.
LEFT_OUT = {"/proc/self", "/proc/thread-self", "/proc/sysrq-trigger"}


def files(folder):
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.path in LEFT_OUT or entry.is_symlink():
            continue
        if folder == "/proc" and entry.name.isdigit() and int(entry.name) != os.getpid():
            continue
        if entry.is_dir(follow_symlinks=False):
            if not entry.path.startswith(f"/proc/{os.getpid()}/task"):
                yield from files(entry.path)
        else:
            yield entry.path


def can_be_written(path):
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return False
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW))
    except OSError:
        return False
    return True


for top in ("/proc", "/sys"):
    for found in files(top):
        if can_be_written(found):
            print(found.replace(f"/proc/{os.getpid()}/", "/proc/PID/"))
