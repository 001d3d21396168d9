/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/loop.h"

#define TIMERS 200

static struct loop loop;
static int64_t last_at_ms;
static int expired_count;

static void on_expired(struct loop_timer *timer)
{
    assert_true(timer->at_ms >= last_at_ms);
    last_at_ms = timer->at_ms;
    expired_count++;
}

TEST(runs_timers_in_order)
{
    static struct loop_timer timers[TIMERS];
    int64_t now_ms = clock_monotonic_ms();
    assert_int_equal(loop_init(&loop), 0);
    for (unsigned i = 0; i < TIMERS; i++)
        loop_timer_arm(&loop, &timers[i], now_ms + i * 7919 % 50, on_expired);
    for (unsigned i = 0; i < TIMERS; i += 3)
        loop_timer_disarm(&loop, &timers[i]);
    for (unsigned i = 0; i < TIMERS; i += 2)
        loop_timer_arm(&loop, &timers[i], now_ms + i * 31 % 40, on_expired);
    int left = TIMERS - TIMERS / 6;
    while (loop.timer_count)
        assert_int_equal(loop_run_once(&loop, -1), 0);
    assert_true(clock_monotonic_ms() >= now_ms + 39);
    assert_in_range(expired_count, left - 1, left);
    loop_deinit(&loop);
}

static struct loop_source first, second;
static int ready_count;

static void on_ready(struct loop_source *source, uint32_t events)
{
    (void)source;
    assert_true(events & EPOLLIN);
    ready_count++;
    loop_remove(&loop, &first);
    loop_remove(&loop, &second);
}

TEST(forgets_sources_in_the_batch)
{
    int ends[2];
    assert_int_equal(loop_init(&loop), 0);
    assert_int_equal(pipe(ends), 0);
    int copy = dup(ends[0]);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(loop_add(&loop, &first, ends[0], EPOLLIN, on_ready), 0);
    assert_int_equal(loop_add(&loop, &second, copy, EPOLLIN, on_ready), 0);
    assert_int_equal(loop_run_once(&loop, 0), 0);
    assert_int_equal(ready_count, 1);
    assert_int_equal(loop_run_once(&loop, 0), 0);
    assert_int_equal(ready_count, 1);
    close(copy);
    close(ends[0]);
    close(ends[1]);
    loop_deinit(&loop);
}

TEST(can_pause_a_source)
{
    int ends[2];
    ready_count = 0;
    assert_int_equal(loop_init(&loop), 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(loop_add(&loop, &first, ends[0], 0, on_ready), 0);
    second.fd = -1;
    assert_int_equal(write(ends[1], "x", 1), 1);
    close(ends[1]);
    assert_int_equal(loop_run_once(&loop, 10), 0);
    assert_int_equal(ready_count, 0);
    loop_change(&loop, &first, EPOLLIN);
    assert_int_equal(loop_run_once(&loop, 10), 0);
    assert_int_equal(ready_count, 1);
    close(ends[0]);
    loop_deinit(&loop);
}

static struct loop_listener listener;
static int accepted;

static void on_connection(struct loop_source *source, uint32_t events)
{
    (void)source, (void)events;
    ready_count++;
    int fd = loop_accept(&loop, &listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0 || errno == EMFILE);
    accepted += fd >= 0;
    if (fd >= 0)
        close(fd);
}

TEST(a_listener_rests_without_descriptors)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    struct rlimit usual, none;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
        client = socket(AF_INET, SOCK_STREAM, 0);
    ready_count = 0;
    assert_int_equal(loop_init(&loop), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(client, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(loop_add(&loop, &listener.source, fd, EPOLLIN, on_connection), 0);
    getrlimit(RLIMIT_NOFILE, &usual);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(loop_run_once(&loop, 1), 0);
    setrlimit(RLIMIT_NOFILE, &usual);
    assert_int_equal(ready_count, 1);
    while (!accepted)
        assert_int_equal(loop_run_once(&loop, -1), 0);
    assert_int_equal(ready_count, 2);
    loop_listener_close(&loop, &listener);
    close(client);
    loop_deinit(&loop);
}

static int inside, calls;

static void enter(void *context)
{
    assert_ptr_equal(context, &inside);
    assert_int_equal(inside++, 0);
}

static void leave(void *context)
{
    assert_ptr_equal(context, &inside);
    assert_int_equal(--inside, 0);
}

static void on_either(struct loop_source *source, uint32_t events)
{
    (void)events;
    assert_int_equal(inside, 1);
    calls++;
    loop_close(&loop, source);
    assert_int_equal(source->fd, -1);
}

static void on_enclosed_timer(struct loop_timer *timer)
{
    (void)timer;
    assert_int_equal(inside, 1);
    calls++;
}

TEST(encloses_each_callback)
{
    struct loop_timer timer = {0};
    int ends[2];
    assert_int_equal(loop_init(&loop), 0);
    loop_enclose(&loop, enter, leave, &inside);
    assert_int_equal(pipe(ends), 0);
    int copy = dup(ends[0]);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(loop_add(&loop, &first, ends[0], EPOLLIN, on_either), 0);
    assert_int_equal(loop_add(&loop, &second, copy, EPOLLIN, on_either), 0);
    loop_timer_arm(&loop, &timer, 0, on_enclosed_timer);
    assert_int_equal(loop_run_once(&loop, -1), 0);
    assert_int_equal(calls, 3);
    assert_int_equal(inside, 0);
    loop_close(&loop, &first);
    /* Both are closed: nobody reads the pipe any more. */
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(write(ends[1], "x", 1), -1);
    close(ends[1]);
    loop_deinit(&loop);
}
