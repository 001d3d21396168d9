"""Hold memory of random bytes, and answer its sum, also as a process that was forked meanwhile sees it. fork() clears a
part, as it does with glibc's state of random numbers: MADV_WIPEONFORK."""

import hashlib
import mmap
import os
import sys
import time

BLOCKS = [bytearray(os.urandom(1 << 20)) for _ in range(int(sys.argv[1]))]
CLEARED = mmap.mmap(-1, 4 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
CLEARED.madvise(18)
CLEARED[:] = os.urandom(len(CLEARED))
CLEARED_SUM = hashlib.sha256(CLEARED).digest()


def total():
    together = hashlib.sha256()
    for block in BLOCKS:
        together.update(block)
    return together.hexdigest()


def write(name, text):
    with open(f"{name}.new", "w", encoding="ascii") as file:
        file.write(text)
    os.rename(f"{name}.new", name)


write("/tmp/sum", total())
while True:
    time.sleep(0.02)
    if not os.path.exists("/tmp/ask"):
        continue
    os.unlink("/tmp/ask")
    child = os.fork()
    if child == 0:
        write("/tmp/child", total() if CLEARED[:] == bytes(len(CLEARED)) else "it has bytes that fork() clears")
        os._exit(0)  # pylint: disable=protected-access
    for block in reversed(BLOCKS):
        block[0] ^= 0xFF  # pages that are written before they are read
        block[0] ^= 0xFF
    mine = total() if hashlib.sha256(CLEARED).digest() == CLEARED_SUM else "the part that fork() clears was changed"
    os.waitpid(child, 0)
    write("/tmp/answer", mine)
