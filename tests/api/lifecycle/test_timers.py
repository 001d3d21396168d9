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


@pytest.mark.long
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


@pytest.mark.long
def test_start_times_of_processes_are_right(make_sandbox):
    """ps adds up the time of the boot and a time since then: both count a pause, or neither does."""
    sandbox = make_sandbox()
    before = early(sandbox)
    for _ in range(2):  # the second image is of the time namespace that the first resume has made
        sandbox.pause()
        time.sleep(8)
        assert sandbox.resume()["resumed_from"] == "memory"
        assert early(sandbox) - before < 5


# Each thread is in one call with a time limit when the sandbox pauses. A line has the call, its result, errno, and
# whether the time was over when it ended.
CALLS = r'''
import ctypes, os, select, threading, time
libc = ctypes.CDLL(None, use_errno=True)
S = 20

class Timespec(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]

def at(clock):
    return Timespec(int(time.clock_gettime(clock)) + S, 0)

MONOTONIC, REALTIME = time.CLOCK_MONOTONIC, time.CLOCK_REALTIME
span, rest = ctypes.byref(Timespec(S, 0)), ctypes.byref(Timespec(0, 0))
until = {clock: ctypes.byref(at(clock)) for clock in (MONOTONIC, REALTIME)}
fd = select.epoll()
pipe = os.pipe()
waits = (ctypes.c_int * 2)(pipe[0], 1)
room, word = ctypes.create_string_buffer(64), ctypes.c_int(0)
semaphore, other = ctypes.create_string_buffer(64), ctypes.create_string_buffer(64)
libc.sem_init(semaphore, 0, 0)
libc.sem_init(other, 0, 0)
futex = lambda operation, limit: libc.syscall(202, ctypes.byref(word), operation, 0, limit, None, ctypes.c_int(-1))
CALLS = {
    "sleep": lambda: libc.sleep(S),
    "usleep": lambda: libc.usleep(S * 1000000),
    "nanosleep with the rest": lambda: libc.nanosleep(span, rest),
    "clock_nanosleep": lambda: libc.clock_nanosleep(MONOTONIC, 0, span, None),
    "clock_nanosleep until": lambda: libc.clock_nanosleep(MONOTONIC, 1, until[MONOTONIC], None),
    "poll": lambda: libc.poll(waits, 1, S * 1000),
    "ppoll": lambda: libc.ppoll(waits, 1, span, None),
    "select": lambda: libc.select(0, None, None, None, ctypes.byref(Timespec(S, 0))),
    "pselect": lambda: libc.pselect(0, None, None, None, span, None),
    "epoll_wait": lambda: libc.epoll_wait(fd.fileno(), room, 1, S * 1000),
    "futex": lambda: futex(128, span),
    "futex until": lambda: futex(9 | 128, until[MONOTONIC]),
    "sem_timedwait": lambda: libc.sem_timedwait(semaphore, until[REALTIME]),
    "sem_clockwait": lambda: libc.sem_clockwait(other, MONOTONIC, until[MONOTONIC]),
}
lock, threads = threading.Lock(), []

def call(name):
    clock = REALTIME if name == "sem_timedwait" else MONOTONIC
    begun = until[clock]._obj.s - S if name.endswith((" until", "timedwait", "clockwait")) else time.clock_gettime(clock)
    ctypes.set_errno(0)
    result = CALLS[name]()
    line = f"{name}: {result} {ctypes.get_errno()} {time.clock_gettime(clock) - begun > S - 0.1}\n"
    with lock, open("ended", "a") as file:
        file.write(line)

for name in CALLS:
    threads.append(threading.Thread(target=call, args=(name,)))
    threads[-1].start()
sleeping = lambda thread: open(f"/proc/self/task/{thread.native_id}/stat").read().rpartition(") ")[2][0] == "S"
while not all(map(sleeping, threads)):
    time.sleep(0.2)
open("begun", "w").close()
'''
ENDED = {
    "sleep": "0 0", "usleep": "0 0", "nanosleep with the rest": "0 0", "clock_nanosleep": "0 0", "clock_nanosleep until": "0 0",
    "poll": "0 0", "ppoll": "0 0", "select": "0 0", "pselect": "0 0", "futex until": "-1 110", "sem_timedwait": "-1 110",
    "sem_clockwait": "-1 110",
}
INTERRUPTED = {"epoll_wait": "-1 4", "futex": "-1 4"}


def test_calls_that_wait_end_neither_early_nor_with_an_error(make_sandbox):
    """Except the two that doc/explanation/pause-and-resume.md names. Each has its whole time, as its own clock counts."""
    sandbox = make_sandbox()
    sandbox.data.upload("/home/user/calls.py", CALLS.encode())
    sandbox.data.background("/usr/bin/python3", "calls.py")
    wait_until(lambda: sandbox.data.bash("test -e begun").exit_code == 0, 30, "each thread waits")
    sandbox.pause()
    assert sandbox.resume()["resumed_from"] == "memory"
    wait_until(lambda: len(sandbox.data.bash("cat ended").stdout.splitlines()) == len(ENDED) + len(INTERRUPTED), 90,
               "the end of all calls")
    ended = dict(line.split(": ") for line in sandbox.data.check("cat ended").splitlines())
    assert {name: ended.pop(name).split()[:2] for name in INTERRUPTED} == {name: end.split() for name, end in INTERRUPTED.items()}
    assert ended == {name: f"{end} True" for name, end in ENDED.items()}
