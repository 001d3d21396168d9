/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An epoll loop. One event is taken at a time, so that a source may free any other. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "base/error.h"

struct loop_source {
    int fd;
    void (*ready)(struct loop_source *source, uint32_t events);
};

struct loop {
    int epoll_fd;
    bool stop;
};

/* Errors: ERR_CONFIG. */
int loop_open(struct loop *loop, struct error **err);
void loop_close(struct loop *loop);

/* events: EPOLLIN, EPOLLOUT. Return 0, or -1 with errno. */
int loop_add(struct loop *loop, struct loop_source *source, uint32_t events);
int loop_change(struct loop *loop, struct loop_source *source, uint32_t events);
/* Stop watching and close the descriptor. */
void loop_remove(struct loop *loop, struct loop_source *source);

/* Wait at most wait_ms for one event and handle it. before and after are called around what is
 * handled, not around the wait. */
void loop_once(struct loop *loop, int wait_ms, void (*before)(void *context),
               void (*after)(void *context), void *context);
