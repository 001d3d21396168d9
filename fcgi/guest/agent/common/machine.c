/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/common/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/input.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/str.h"

/* The only input device that the modules of the machine's initial file system make. */
#define BUTTON "/dev/input/event0"

/* A smaller difference is left alone: the request took its time as well. */
#define DIFFERENCE_MS 1000

static struct loop_source button;

static void on_button(struct loop_source *source, uint32_t events)
{
    (void)events;
    struct input_event event;
    while (read(source->fd, &event, sizeof event) == sizeof event)
        if (event.type == EV_KEY && event.code == KEY_POWER && event.value)
            kill(1, SIGPWR);
}

int machine_watch_power(struct loop *loop, struct error **err)
{
    int fd = open(BUTTON, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || loop_add(loop, &button, fd, EPOLLIN, on_button) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot watch the power button");
    return 0;
}

void machine_set_clock(const char *now)
{
    uint64_t ms;
    if (!now || str_parse_u64(now, 1, INT64_MAX, &ms) < 0 ||
        llabs((long long)ms - clock_now_ms()) < DIFFERENCE_MS)
        return;
    struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    if (clock_settime(CLOCK_REALTIME, &time) == 0)
        log_info("set the clock of the virtual machine", LOG_INT("ms", (int64_t)ms));
    else
        log_warning("cannot set the clock of the virtual machine", LOG_INT("errno", errno));
}
