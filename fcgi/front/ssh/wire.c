/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ssh/wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/json_read.h"
#include "base/mem.h"

int wire_send(int fd, json_t *message, struct error **err)
{
    autowipe char *text = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    size_t size = text ? strlen(text) : 0;
    if (!size || size > WIRE_MAX)
        return error_set(err, ERR_INTERNAL, "a message has a wrong size");
    if (send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size)
        return error_set_errno(err, ERR_INTERNAL, errno,
                               "cannot send a message to the other process");
    return 0;
}

static int wait_for(int fd, int wait_ms)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    int rc;
    do
        rc = poll(&wait, 1, wait_ms);
    while (rc < 0 && errno == EINTR);
    return rc;
}

int wire_receive(int fd, int wait_ms, json_t **message, struct error **err)
{
    static char text[WIRE_MAX];
    if (wait_for(fd, wait_ms) <= 0)
        return 0;
    ssize_t size = recv(fd, text, sizeof text, MSG_DONTWAIT);
    if (size <= 0)
        return error_set(err, ERR_RUNTIME_UNAVAILABLE, "the other process has ended");
    *message = json_read(text, (size_t)size, JSON_REJECT_DUPLICATES, NULL);
    mem_wipe(text, (size_t)size);
    if (!json_is_object(*message)) {
        json_decref(*message);
        return error_set(err, ERR_INTERNAL, "a message is not a JSON object");
    }
    return 1;
}
