/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event loop: file descriptors through one epoll set, and timers as its time-outs. There is no
 * timerfd on purpose. A periodic timerfd that had expired unread is disarmed after a memory
 * checkpoint. The monotonic clock of an epoll time-out continues without a gap.
 *
 * Sources and timers are embedded in their owners' structures; the loop owns neither. A callback
 * may remove and free any source and any timer, its own too.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

struct loop_source {
    void (*ready)(struct loop_source *source, uint32_t events);
    int fd;          /* -1: not watched; the owner closes it, after loop_remove() */
    uint32_t events; /* the watched events; 0: not in the epoll set */
};

struct loop_timer {
    void (*expired)(struct loop_timer *timer);
    int64_t at_ms; /* monotonic */
    size_t slot;   /* 1-based place in the heap, 0: not armed */
};

struct loop {
    int epoll_fd;
    struct epoll_event *batch; /* the events in hand, while they are dispatched */
    int batch_size;
    struct loop_timer **heap;
    size_t timer_count, timer_capacity;
    void (*before)(void *context), (*after)(void *context); /* loop_enclose() */
    void *context;
};

/* Initialise a loop. Returns 0, or -1 with errno. */
int loop_init(struct loop *loop);
void loop_deinit(struct loop *loop);

/* Watch fd for events (EPOLLIN, EPOLLOUT, …; level-triggered unless EPOLLET is given). The source
 * must stay where it is until loop_remove(). Returns 0, or -1 with errno. */
int loop_add(struct loop *loop, struct loop_source *source, int fd, uint32_t events,
             void (*ready)(struct loop_source *source, uint32_t events));

/* Watch for other events; 0 takes the fd out of the set, so that not even a hang-up is reported. */
void loop_change(struct loop *loop, struct loop_source *source, uint32_t events);

/* Stop watching; nothing is dispatched to the source afterwards, not even from the batch in hand.
 */
void loop_remove(struct loop *loop, struct loop_source *source);

/* Do the same, and close the descriptor. Nothing happens when the source is not watched. */
void loop_close(struct loop *loop, struct loop_source *source);

/* Call before() and after() around each callback, not around the wait. They take and release the
 * lock of the data that callbacks share with another thread. The loop itself belongs to one thread.
 */
void loop_enclose(struct loop *loop, void (*before)(void *context), void (*after)(void *context),
                  void *context);

/* Call expired() once at a monotonic time; arming an armed timer moves it. */
void loop_timer_arm(struct loop *loop, struct loop_timer *timer, int64_t at_ms,
                    void (*expired)(struct loop_timer *timer));
void loop_timer_disarm(struct loop *loop, struct loop_timer *timer);

/* A listening socket, which does not block; add it with loop_add(). */
struct loop_listener {
    struct loop_source source;
    struct loop_timer rest;
    struct loop *loop; /* of rest */
};

#define LOOP_REST_MS 200

/* Accept a connection, with the flags of accept4(). Returns -1 if it cannot, and sets errno to 0 if
 * no connection waits. Otherwise one waits, but descriptors or memory are used up. Then the loop
 * does not watch the listener for LOOP_REST_MS, because the connection would wake it again at once.
 */
int loop_accept(struct loop *loop, struct loop_listener *listener, struct sockaddr *from,
                socklen_t *from_size, int flags);
void loop_listener_close(struct loop *loop, struct loop_listener *listener);

/* Wait at most limit_ms (-1: without a limit), dispatch ready sources and expired timers. Returns
 * 0, or -1 with errno when epoll itself fails. */
int loop_run_once(struct loop *loop, int64_t limit_ms);
