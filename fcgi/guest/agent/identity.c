/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define FOLDER "/run/e2b"

static void write_file(const char *name, const char *text)
{
    autofree char *path = xasprintf(FOLDER "/%s", name);
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        log_info("cannot write what the sandbox is called", LOG_STR("file", path),
                 LOG_INT("errno", errno));
}

static void write_files(const char *route, const char *template)
{
    if (mkdir(FOLDER, 0755) < 0 && errno != EEXIST)
        return;
    write_file(".E2B_SANDBOX", "true");
    write_file(".E2B_SANDBOX_ID", route);
    write_file(".E2B_TEMPLATE_ID", template);
}

void identity_adopt(const char *route, const char *template)
{
    static char *known;
    if (str_equal(known, route))
        return;
    free(known);
    known = xstrdup(route);
    write_files(route, template);
}
