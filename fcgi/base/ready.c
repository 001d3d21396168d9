/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/ready.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/log.h"

void ready_tell(void)
{
    static const char text[] = "READY=1";
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path || !*path || strlen(path) >= sizeof to.sun_path)
        return;
    memcpy(to.sun_path, path, strlen(path));
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (*path == '@') /* not of the file system */
        to.sun_path[0] = '\0';
    autoclose int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 ||
        sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&to, size) < 0)
        log_warning("cannot notify systemd that the service is ready",
                    LOG_STR("reason", strerror(errno)));
}
