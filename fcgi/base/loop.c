/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/panic.h"

#define BATCH_MAX 64

int loop_init(struct loop *loop)
{
    *loop = (struct loop){.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    return loop->epoll_fd < 0 ? -1 : 0;
}

void loop_deinit(struct loop *loop)
{
    close(loop->epoll_fd);
    free(loop->heap);
    *loop = (struct loop){.epoll_fd = -1};
}

int loop_add(struct loop *loop, struct loop_source *source, int fd, uint32_t events,
             void (*ready)(struct loop_source *source, uint32_t events))
{
    *source = (struct loop_source){.ready = ready, .fd = fd, .events = events};
    struct epoll_event event = {.events = events, .data.ptr = source};
    if (events && epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        source->fd = -1;
        return -1;
    }
    return 0;
}

/* The owner of a source may free it from within another source's callback. */
static void forget_in_batch(struct loop *loop, const struct loop_source *source)
{
    for (int i = 0; i < loop->batch_size; i++)
        if (loop->batch[i].data.ptr == source)
            loop->batch[i].data.ptr = NULL;
}

void loop_change(struct loop *loop, struct loop_source *source, uint32_t events)
{
    if (source->fd < 0 || source->events == events)
        return;
    struct epoll_event event = {.events = events, .data.ptr = source};
    int operation = !events ? EPOLL_CTL_DEL : source->events ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(loop->epoll_fd, operation, source->fd, &event) < 0)
        panic("epoll refuses a descriptor");
    source->events = events;
    if (!events)
        forget_in_batch(loop, source);
}

void loop_remove(struct loop *loop, struct loop_source *source)
{
    if (source->fd < 0)
        return;
    if (source->events)
        epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
    forget_in_batch(loop, source);
    source->fd = -1;
    source->events = 0;
}

void loop_close(struct loop *loop, struct loop_source *source)
{
    int fd = source->fd;
    loop_remove(loop, source);
    if (fd >= 0)
        close(fd);
}

void loop_enclose(struct loop *loop, void (*before)(void *context), void (*after)(void *context),
                  void *context)
{
    loop->before = before;
    loop->after = after;
    loop->context = context;
}

static void enter(struct loop *loop)
{
    if (loop->before)
        loop->before(loop->context);
}

static void leave(struct loop *loop)
{
    if (loop->after)
        loop->after(loop->context);
}

static void place(struct loop *loop, size_t slot, struct loop_timer *timer)
{
    loop->heap[slot - 1] = timer;
    timer->slot = slot;
}

static void sift_up(struct loop *loop, struct loop_timer *timer)
{
    size_t slot = timer->slot;
    for (; slot > 1 && loop->heap[slot / 2 - 1]->at_ms > timer->at_ms; slot /= 2)
        place(loop, slot, loop->heap[slot / 2 - 1]);
    place(loop, slot, timer);
}

static void sift_down(struct loop *loop, struct loop_timer *timer)
{
    size_t slot = timer->slot;
    for (size_t child; (child = 2 * slot) <= loop->timer_count; slot = child) {
        if (child < loop->timer_count && loop->heap[child]->at_ms < loop->heap[child - 1]->at_ms)
            child++;
        if (loop->heap[child - 1]->at_ms >= timer->at_ms)
            break;
        place(loop, slot, loop->heap[child - 1]);
    }
    place(loop, slot, timer);
}

void loop_timer_arm(struct loop *loop, struct loop_timer *timer, int64_t at_ms,
                    void (*expired)(struct loop_timer *timer))
{
    timer->at_ms = at_ms;
    timer->expired = expired;
    if (!timer->slot) {
        if (loop->timer_count == loop->timer_capacity) {
            loop->timer_capacity = loop->timer_capacity ? 2 * loop->timer_capacity : 16;
            loop->heap = xreallocarray(loop->heap, loop->timer_capacity, sizeof *loop->heap);
        }
        place(loop, ++loop->timer_count, timer);
    }
    sift_up(loop, timer);
    sift_down(loop, timer);
}

void loop_timer_disarm(struct loop *loop, struct loop_timer *timer)
{
    if (!timer->slot)
        return;
    struct loop_timer *last = loop->heap[--loop->timer_count];
    if (last != timer) {
        place(loop, timer->slot, last);
        sift_up(loop, last);
        sift_down(loop, last);
    }
    timer->slot = 0;
}

static void run_timers(struct loop *loop)
{
    int64_t now_ms = clock_monotonic_ms();
    while (loop->timer_count && loop->heap[0]->at_ms <= now_ms) {
        struct loop_timer *timer = loop->heap[0];
        loop_timer_disarm(loop, timer);
        enter(loop);
        timer->expired(timer);
        leave(loop);
    }
}

static void on_rested(struct loop_timer *timer)
{
    struct loop_listener *listener = container_of(timer, struct loop_listener, rest);
    loop_change(listener->loop, &listener->source, EPOLLIN);
}

int loop_accept(struct loop *loop, struct loop_listener *listener, struct sockaddr *from,
                socklen_t *from_size, int flags)
{
    int fd = accept4(listener->source.fd, from, from_size, flags);
    if (fd >= 0)
        return fd;
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) {
        errno = 0;
        return -1;
    }
    int errnum = errno;
    listener->loop = loop;
    loop_change(loop, &listener->source, 0);
    loop_timer_arm(loop, &listener->rest, clock_monotonic_ms() + LOOP_REST_MS, on_rested);
    errno = errnum;
    return -1;
}

void loop_listener_close(struct loop *loop, struct loop_listener *listener)
{
    loop_timer_disarm(loop, &listener->rest);
    loop_close(loop, &listener->source);
}

static int wait_ms(const struct loop *loop, int64_t limit_ms)
{
    if (loop->timer_count) {
        int64_t left_ms = loop->heap[0]->at_ms - clock_monotonic_ms();
        if (left_ms < 0)
            left_ms = 0;
        if (limit_ms < 0 || left_ms < limit_ms)
            limit_ms = left_ms;
    }
    return limit_ms > 3600 * 1000 ? 3600 * 1000 : (int)limit_ms;
}

int loop_run_once(struct loop *loop, int64_t limit_ms)
{
    struct epoll_event batch[BATCH_MAX];
    int count = epoll_wait(loop->epoll_fd, batch, BATCH_MAX, wait_ms(loop, limit_ms));
    if (count < 0)
        return errno == EINTR ? 0 : -1;
    loop->batch = batch;
    loop->batch_size = count;
    for (int i = 0; i < count; i++) {
        struct loop_source *source = batch[i].data.ptr;
        if (!source)
            continue;
        enter(loop);
        source->ready(source, batch[i].events);
        leave(loop);
    }
    loop->batch = NULL;
    loop->batch_size = 0;
    run_timers(loop);
    return 0;
}
