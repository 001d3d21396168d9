"""Hold memory, and change its mappings in several processes at the moment of a resume. Then say what is wrong."""

import ctypes
import hashlib
import mmap
import os
import sys
import threading
import time

PAGE = 4096
PIECE = 16 * PAGE
SIZE = int(sys.argv[1]) << 20  # of each block
READ, WRITE, NONE = mmap.PROT_READ, mmap.PROT_WRITE, 0
PRIVATE, FIXED, ANONYMOUS = 0x02, 0x10, 0x20
MAYMOVE, MOVE_FIXED, DONTUNMAP = 1, 2, 4
DONTNEED, FREE, DONTFORK = 4, 8, 10
PROCESSES, THREADS = 2, 4

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = LIBC.mremap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.mremap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.madvise.argtypes = LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def checked(result):
    if result in (-1, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "a change of a mapping")
    return result


def new(size=SIZE, at=None):
    flags = PRIVATE | ANONYMOUS | (FIXED if at else 0)
    return checked(LIBC.mmap(at, size, READ | WRITE, flags, -1, 0))


def filled():
    block = new()
    ctypes.memmove(block, os.urandom(SIZE), SIZE)
    return block


def bytes_of(block, size=SIZE):
    return ctypes.string_at(block, size)


def pieces():
    """Every other part of a block."""
    return range(0, SIZE, 2 * PIECE)


def with_zeros(expected):
    changed = bytearray(expected)
    for at in pieces():
        changed[at : at + PIECE] = bytes(PIECE)
    return bytes(changed)


# Each gets a block with the bytes that it must have, makes a change, and returns what is where then.


def read(block, expected):
    threads = []
    for number in range(THREADS):
        part = SIZE // THREADS
        threads.append(threading.Thread(target=bytes_of, args=(block + number * part, part)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    return block, expected


def write_all(block, expected):
    for at in range(0, SIZE, PAGE):
        ctypes.memset(block + at, 7, 1)
    return block, b"".join(b"\7" + expected[at + 1 : at + PAGE] for at in range(0, SIZE, PAGE))


def drop(block, expected):
    for at in pieces():
        checked(LIBC.madvise(block + at, PIECE, DONTNEED))
    return block, with_zeros(expected)


def map_again(block, expected):
    for at in pieces():
        checked(LIBC.munmap(block + at, PIECE))
        new(PIECE, block + at)
    return block, with_zeros(expected)


def move(block, expected):
    place = new()
    for at in range(0, SIZE, PIECE):
        checked(LIBC.mremap(block + at, PIECE, PIECE, MAYMOVE | MOVE_FIXED, place + at))
    return place, expected


def move_and_stay(block, expected):
    place = checked(LIBC.mremap(block, SIZE, SIZE, MAYMOVE | DONTUNMAP, None))
    if bytes_of(block) != bytes(SIZE):
        raise OSError("the old place of a moved block has bytes")
    return place, expected


def grow(block, expected):
    place = checked(LIBC.mremap(block, SIZE, SIZE + PIECE, MAYMOVE, None))
    if bytes_of(place + SIZE, PIECE) != bytes(PIECE):
        raise OSError("a block that grew has bytes in its new part")
    return place, expected


def protect(block, expected):
    for at in pieces():
        checked(LIBC.mprotect(block + at, PIECE, NONE))
    for at in pieces():
        checked(LIBC.mprotect(block + at, PIECE, READ | WRITE))
    return block, expected


def fork_without(block, expected):
    checked(LIBC.madvise(block, PIECE, DONTFORK))
    child = os.fork()
    if child == 0:
        os._exit(0)  # pylint: disable=protected-access
    os.waitpid(child, 0)
    return block, expected


CHANGES = (write_all, drop, map_again, move, move_and_stay, grow, protect, fork_without, read)


def paused_s():
    """One of these clocks counts pauses. Both are read at about the same time."""
    while True:
        before = time.monotonic()
        boot = time.clock_gettime(time.CLOCK_BOOTTIME)
        if time.monotonic() - before < 0.01:
            return boot - before


def wrong(blocks):
    """Make all changes at once, and compare."""
    found, results = [], {}

    def change(function, block, expected):
        try:
            results[function.__name__] = function(block, expected)
        except OSError as failure:
            found.append(f"{function.__name__}: {failure}")

    threads = [threading.Thread(target=change, args=one) for one in blocks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, (block, expected) in results.items():
        now = bytes_of(block)
        if now != expected:
            at = next(i for i in range(SIZE) if now[i] != expected[i])
            found.append(f"{name}: {hashlib.sha256(now).hexdigest()} from byte {at} on")
    return found


def main():
    blocks = []
    for function in CHANGES:
        block = filled()
        blocks.append((function, block, bytes_of(block)))
    before = paused_s()
    with open("/tmp/sum", "w", encoding="ascii") as file:
        file.write("ready")
    while paused_s() - before < 0.02:
        time.sleep(0.0005)
    children = []
    for _ in range(PROCESSES):
        child = os.fork()
        if child == 0:
            found = wrong(blocks)
            print(*found, sep="\n", file=sys.stderr)
            os._exit(1 if found else 0)  # pylint: disable=protected-access
        children.append(child)
    found = wrong(blocks)
    for child in children:
        _, status = os.waitpid(child, 0)
        if status:
            found.append(f"a child: {status}")
    with open("/tmp/verdict.new", "w", encoding="ascii") as file:
        file.write("\n".join(found) or "right")
    os.rename("/tmp/verdict.new", "/tmp/verdict")


main()
