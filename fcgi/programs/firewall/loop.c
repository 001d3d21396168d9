/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/loop.h"

#include <errno.h>
#include <unistd.h>

int loop_open(struct loop *loop, struct error **err)
{
    *loop = (struct loop){.epoll_fd = epoll_create1(EPOLL_CLOEXEC)};
    return loop->epoll_fd < 0 ? error_set_errno(err, ERR_CONFIG, errno, "epoll_create1()") : 0;
}

void loop_close(struct loop *loop)
{
    close(loop->epoll_fd);
}

static int control(struct loop *loop, int operation, struct loop_source *source, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    return epoll_ctl(loop->epoll_fd, operation, source->fd, &event);
}

int loop_add(struct loop *loop, struct loop_source *source, uint32_t events)
{
    return control(loop, EPOLL_CTL_ADD, source, events);
}

int loop_change(struct loop *loop, struct loop_source *source, uint32_t events)
{
    return control(loop, EPOLL_CTL_MOD, source, events);
}

void loop_remove(struct loop *loop, struct loop_source *source)
{
    if (source->fd < 0)
        return;
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
    close(source->fd);
    source->fd = -1;
}

void loop_once(struct loop *loop, int wait_ms, void (*before)(void *context),
               void (*after)(void *context), void *context)
{
    struct epoll_event event;
    if (epoll_wait(loop->epoll_fd, &event, 1, wait_ms) != 1)
        return;
    struct loop_source *source = event.data.ptr;
    before(context);
    source->ready(source, event.events);
    after(context);
}
