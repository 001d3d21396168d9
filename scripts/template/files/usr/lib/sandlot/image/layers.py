# SPDX-License-Identifier: GPL-2.0-or-later
"""Unpack the layers of an image into a folder.

A child process does it for each layer, with the folder as its root: no name, link or folder of a layer
leads outside. The layer's contents are counted while they are unpacked, so that neither a sparse file, nor a
stream of zeros, nor a million files goes beyond the bounds.
"""

import gzip
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import zlib

from failure import Failure

HEADER_MAX = 1 << 20
ID_MAX = 65535
TIME_MAX = 1 << 33
WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"
XATTR = "SCHILY.xattr."
# Attributes that programs use. The others belong to the machine that has written the layer.
XATTRS = ("user.", "security.capability", "system.posix_acl_")


class Bounds:
    """Bounds of all layers together."""

    def __init__(self, bytes_max, files_max):
        self.bytes_max, self.files_max = bytes_max, files_max
        self.bytes = self.files = self.devices = 0

    def count(self, entry):
        self.files += 1
        if self.files > self.files_max:
            raise Failure(f"the image has more than {self.files_max} files")
        if entry.isreg():
            self.bytes += entry.size
        if self.bytes > self.bytes_max:
            raise Failure(f"the image has more than {self.bytes_max >> 20} MiB")


class Entry(tarfile.TarInfo):
    """A header of the archive. Those that tarfile reads into memory have a bound."""

    IN_MEMORY = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE,
                 tarfile.SOLARIS_XHDTYPE)

    def _proc_member(self, archive):
        if self.size < 0 or (self.type in self.IN_MEMORY and self.size > HEADER_MAX):
            raise Failure(f"a header of the archive has {self.size} bytes")
        return super()._proc_member(archive)


class Counted:
    """A stream with a largest number of bytes. Parts of an archive that are no file count too."""

    def __init__(self, stream, most):
        self.stream, self.left = stream, most

    def read(self, size):
        data = self.stream.read(size)
        self.left -= len(data)
        if self.left < 0:
            raise Failure("the unpacked layer is larger than the image may be")
        return data


def shown(name):
    return ascii(name[:200])


class Layer:
    """One layer, in a process whose root is the folder."""

    def __init__(self, bounds):
        self.bounds = bounds
        self.made = set()

    def unpack(self, stream):
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=Entry, encoding="utf-8") as archive:
            while (entry := archive.next()) is not None:
                archive.members = []  # a list of all files is not needed
                try:
                    self._add(archive, entry)
                except OSError as error:
                    raise Failure(f"{shown(entry.name)}: {error.strerror or error}") from None

    def _add(self, archive, entry):
        self.bounds.count(entry)
        parts = [part for part in entry.name.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise Failure(f"{shown(entry.name)}: the name leads outside of the image")
        if not parts:
            if entry.isdir():
                self._describe(entry, "/")
            return
        self._enter(parts[:-1])
        if parts[-1].startswith(WHITEOUT):
            self._hide(parts)
            return
        for end in range(1, len(parts) + 1):
            self.made.add("/".join(parts[:end]))
        self._make(archive, entry, "/" + "/".join(parts))

    @staticmethod
    def _enter(parts):
        """Make the missing folders of a name."""
        path = ""
        for part in parts:
            path += "/" + part
            if not os.path.isdir(path):
                if os.path.lexists(path):
                    raise Failure(f"{shown('/'.join(parts))}: a part of this folder is no folder")
                os.mkdir(path, 0o755)

    # --- whiteouts ---

    def _hide(self, parts):
        folder, name = "/".join(parts[:-1]), parts[-1]
        if name == OPAQUE:
            self._empty(folder)
        elif not name.startswith(WHITEOUT * 2) and name[len(WHITEOUT):] not in ("", ".", ".."):
            remove(f"/{folder}/{name[len(WHITEOUT):]}")

    def _empty(self, folder):
        """Remove the files of lower layers from a folder."""
        for name in os.listdir("/" + folder):
            path = f"{folder}/{name}" if folder else name
            if path not in self.made:
                remove("/" + path)
            elif stat.S_ISDIR(os.lstat("/" + path).st_mode):
                self._empty(path)

    # --- files ---

    def _make(self, archive, entry, path):
        if entry.isdir():
            if not (os.path.lexists(path) and stat.S_ISDIR(os.lstat(path).st_mode)):
                remove(path)
                os.mkdir(path, 0o700)
        elif entry.ischr() or entry.isblk():
            self.bounds.devices += 1
            return
        elif entry.islnk():
            self._link(entry, path)
            return
        elif entry.issym():
            remove(path)
            os.symlink(entry.linkname, path)
        elif entry.isfifo():
            remove(path)
            os.mkfifo(path, 0o600)
        elif entry.isreg():
            remove(path)
            archive.makefile(entry, path)
        else:
            raise Failure(f"{shown(entry.name)}: a file of the unknown type {entry.type!r}")
        self._describe(entry, path)

    @staticmethod
    def _link(entry, path):
        parts = [part for part in entry.linkname.split("/") if part not in ("", ".")]
        target = "/" + "/".join(parts)
        if ".." in parts or target == path:
            raise Failure(f"{shown(entry.name)}: a hard link to {shown(entry.linkname)}")
        if not os.path.lexists(target) or stat.S_ISDIR(os.lstat(target).st_mode):
            raise Failure(f"{shown(entry.name)}: a hard link to {shown(entry.linkname)}, which is no file of the image")
        remove(path)
        os.link(target, path, follow_symlinks=False)

    @staticmethod
    def _describe(entry, path):
        if not (0 <= entry.uid <= ID_MAX and 0 <= entry.gid <= ID_MAX):
            raise Failure(f"{shown(entry.name)}: its owner is {entry.uid}:{entry.gid}, and a sandbox has the "
                          f"numbers 0 to {ID_MAX}")
        os.lchown(path, entry.uid, entry.gid)
        if not entry.issym():
            os.chmod(path, entry.mode & 0o7777)
        for name, value in entry.pax_headers.items():
            if name.startswith(XATTR) and name[len(XATTR):].startswith(XATTRS):
                set_attribute(path, name[len(XATTR):], value)
        time = min(max(float(entry.mtime), 0), TIME_MAX)
        os.utime(path, (time, time), follow_symlinks=False)


def set_attribute(path, name, value):
    """Not all kinds of files have attributes, and not all file systems have all of them."""
    try:
        os.setxattr(path, name, value.encode("utf-8", "surrogateescape"), follow_symlinks=False)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise


UNSUPPORTED = (1, 22, 95)  # EPERM, EINVAL, EOPNOTSUPP


def remove(path):
    if not os.path.lexists(path):
        return
    if stat.S_ISDIR(os.lstat(path).st_mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)


# --- processes ---

def decompressed(file):
    """The archive in a file: its first bytes say how it is compressed, whatever the manifest says."""
    magic = file.read(4)
    file.seek(0)
    if magic[:2] == b"\x1f\x8b":
        return gzip.GzipFile(fileobj=file)
    if magic == b"\x28\xb5\x2f\xfd":
        os.lseek(file.fileno(), 0, os.SEEK_SET)  # where the other program begins
        try:
            return subprocess.Popen(["zstd", "-dcq"], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        except FileNotFoundError:
            raise Failure("the layer is compressed by zstd, which the builder's template does not have") from None
    return file


def in_root(folder, work):
    """Run work() in a process whose root is the folder, and return its result."""
    source, target = os.pipe()
    child = os.fork()
    if child == 0:
        answer = {"error": "the process ended"}
        signal.alarm(0)
        try:
            os.chroot(folder)
            os.chdir("/")
            os.umask(0)
            answer = {"result": work()}
        except Failure as failure:
            answer = {"error": str(failure)}
        except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError) as error:
            answer = {"error": f"the archive is broken: {str(error)[:200]}"}
        except RecursionError:
            answer = {"error": "the folders are nested too deeply"}
        except OSError as error:
            answer = {"error": f"{error.strerror or error}"}
        finally:
            with os.fdopen(target, "w") as pipe:
                json.dump(answer, pipe)
            os._exit(0)
    os.close(target)
    try:
        with os.fdopen(source) as pipe:
            said = pipe.read()
    except Failure:  # the time is over
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.waitpid(child, 0)
    answer = json.loads(said) if said else {"error": "the process was killed: the memory may be full"}
    if "error" in answer:
        raise Failure(answer["error"])
    return answer["result"]


def unpack_layer(folder, file, bounds):
    """Unpack the archive in an open file into the folder, over the lower layers."""
    stream = Counted(decompressed(file), 2 * (bounds.bytes_max - bounds.bytes) + (64 << 20))

    def work():
        Layer(bounds).unpack(stream)
        return [bounds.bytes, bounds.files, bounds.devices]

    bounds.bytes, bounds.files, bounds.devices = in_root(folder, work)


# Modules that Python loads at their first use must be there before the root changes.
sys.setrecursionlimit(5000)
for codec in ("utf-8", "ascii", "unicode_escape"):
    "".encode(codec)
