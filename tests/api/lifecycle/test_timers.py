# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of timer of the kernel goes off again after a resume from memory."""

import calendar
import json
import time

import pytest

from stack import wait_until

pytestmark = pytest.mark.parallel

# Each kind counts in a thread or by a signal of its own, and all counts go to a file, again and again.
PROGRAM = r'''
import ctypes, json, os, select, signal, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
counts = {}

class Timespec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]

class Itimerspec(ctypes.Structure):
    _fields_ = [("interval", Timespec), ("value", Timespec)]

def spec(ns, at=0):
    value = at + ns
    return Itimerspec(Timespec(ns // 10**9, ns % 10**9), Timespec(value // 10**9, value % 10**9))

def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "a timer cannot be made")
    return result

def timerfd(name, clock, ms, flags=0):
    fd = check(libc.timerfd_create(clock, 0))
    now = time.clock_gettime_ns(clock) if flags else 0
    check(libc.timerfd_settime(fd, flags, ctypes.byref(spec(ms * 10**6, now)), None))
    poll = select.epoll()
    poll.register(fd, select.EPOLLIN)
    while True:
        poll.poll()
        try:
            os.read(fd, 8)
        except OSError:  # ECANCELED: the clock was set
            check(libc.timerfd_settime(fd, flags, ctypes.byref(spec(ms * 10**6, time.clock_gettime_ns(clock))), None))
        counts[name] += 1

def again(name, wait):
    while True:
        wait()
        counts[name] += 1

def start(name, work, *arguments):
    counts[name] = 0
    threading.Thread(target=work, args=(name, *arguments), daemon=True).start()

MONOTONIC, REALTIME, BOOTTIME = time.CLOCK_MONOTONIC, time.CLOCK_REALTIME, time.CLOCK_BOOTTIME
for ms in (5, 50, 1000):
    start(f"timerfd monotonic {ms}", timerfd, MONOTONIC, ms)
    start(f"timerfd realtime {ms}", timerfd, REALTIME, ms)
    start(f"timerfd boottime {ms}", timerfd, BOOTTIME, ms)
start("timerfd absolute", timerfd, MONOTONIC, 50, 1)
start("timerfd cancelled when the clock is set", timerfd, REALTIME, 50, 3)
empty, lock, event = select.epoll(), threading.Lock(), threading.Event()
lock.acquire()
start("epoll", again, lambda: empty.poll(0.05))
start("poll", again, lambda: select.poll().poll(50))
start("select", again, lambda: select.select([], [], [], 0.05))
start("futex", again, lambda: lock.acquire(timeout=0.05))
start("condition", again, lambda: event.wait(0.05))
start("nanosleep", again, lambda: time.sleep(0.05))

def counter(name):
    counts[name] = 0
    def count(*_):
        counts[name] += 1
    return count

signal.signal(signal.SIGALRM, counter("setitimer"))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)

class Sigevent(ctypes.Structure):
    _fields_ = [("value", ctypes.c_void_p), ("signo", ctypes.c_int), ("notify", ctypes.c_int), ("rest", ctypes.c_char * 48)]

for number, (name, clock) in enumerate({"monotonic": MONOTONIC, "realtime": REALTIME, "boottime": BOOTTIME}.items()):
    signo = signal.SIGRTMIN + number
    signal.signal(signo, counter(f"timer_create {name}"))
    timer, event_of = ctypes.c_void_p(), Sigevent(None, signo, 0)
    check(libc.timer_create(clock, ctypes.byref(event_of), ctypes.byref(timer)))
    check(libc.timer_settime(timer, 0, ctypes.byref(spec(50 * 10**6)), None))
while True:
    with open("counts.new", "w") as file:
        json.dump(counts, file)
    os.rename("counts.new", "counts")
    time.sleep(0.02)
'''


def counts(sandbox):
    return json.loads(sandbox.data.read("/home/user/counts"))


def test_timers_go_off_after_a_resume(make_sandbox):
    sandbox = make_sandbox()
    sandbox.data.upload("/home/user/timers.py", PROGRAM.encode())
    sandbox.data.background("/usr/bin/python3", "timers.py")
    wait_until(lambda: sandbox.data.bash("test -e counts").exit_code == 0 and all(counts(sandbox).values()), 30,
               "each has gone off before the pause")
    for _ in range(2):
        sandbox.pause()
        assert sandbox.resume()["resumed_from"] == "memory"
        before = counts(sandbox)

        def silent():
            now = counts(sandbox)
            return sorted(name for name in now if now[name] < before[name] + 2)

        try:
            wait_until(lambda: not silent(), 30, "each goes off again")
        except AssertionError:
            raise AssertionError(f"never went off again: {silent()}") from None


# The three times are read in this order, so each is at most the next one. /proc/uptime cuts off below 10 ms.
TIMES = """python3 -c 'import time; print(time.clock_gettime(time.CLOCK_BOOTTIME) - 0.01)'; cut -d ' ' -f 1 /proc/uptime
python3 -c 'import time; print(time.clock_gettime(time.CLOCK_BOOTTIME))'"""
PAUSED = "python3 -c 'import time; print(time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic())'"


def test_ages_of_processes_are_right(make_sandbox):
    """The kernel's uptime and the start times that ps subtracts from it have one beginning, also after a resume. The
    clock of the boot counts each pause, also one that begins and ends within a second."""
    sandbox = make_sandbox()
    last = 0
    for _ in range(5):
        ages = sandbox.data.check("ps -eo etimes=").split()
        assert ages and all(int(age) < 86400 for age in ages), ages
        times = [last, *map(float, sandbox.data.check(TIMES).split())]
        assert len(times) == 4 and times == sorted(times), times
        last = times[-1] - 0.01
        before = float(sandbox.data.check(PAUSED))
        sandbox.pause()
        assert sandbox.resume()["resumed_from"] == "memory"
        assert float(sandbox.data.check(PAUSED)) > before + 0.02


def early(sandbox):
    """How many seconds before its start ps dates a process that has just started."""
    line, now = sandbox.data.check("LC_ALL=C TZ=UTC ps -o lstart= -p $$; date +%s").splitlines()
    return int(now) - calendar.timegm(time.strptime(line.strip(), "%a %b %d %H:%M:%S %Y"))


def test_start_times_of_processes_are_right(make_sandbox):
    """ps adds up the time of the boot and a time since then: both count a pause, or neither does."""
    sandbox = make_sandbox()
    before = early(sandbox)
    for _ in range(2):  # the second image is of the time namespace that the first resume has made
        sandbox.pause()
        time.sleep(8)
        assert sandbox.resume()["resumed_from"] == "memory"
        assert early(sandbox) - before < 5
