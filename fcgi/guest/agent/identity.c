/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define CONTAINER_MARKER "/run/.containerenv"
#define ID_FILE          IDENTITY_FOLDER "/.E2B_SANDBOX_ID"
#define MACHINE_ID_FILE  "/etc/machine-id"

static void write_file(const char *path, const char *text)
{
    autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        log_info("cannot write the sandbox's host name", LOG_STR("file", path),
                 LOG_INT("errno", errno));
}

/* Programs look there whether they run in a container (systemd-detect-virt, installers). */
static void write_marker(void)
{
    if (access(CONTAINER_MARKER, F_OK) < 0)
        write_file(CONTAINER_MARKER, "engine=\"sandlot\"\n");
}

static void write_files(const char *route, const char *template)
{
    if (mkdir(IDENTITY_FOLDER, 0755) < 0 && errno != EEXIST)
        return;
    write_file(IDENTITY_FOLDER "/.E2B_SANDBOX", "true");
    write_file(ID_FILE, route);
    write_file(IDENTITY_FOLDER "/.E2B_TEMPLATE_ID", template);
}

/* Copies of one disk or memory need different ids. A template without the file gets none. */
static void renew_machine_id(void)
{
    uint64_t random[2];
    autoclose int fd = open(MACHINE_ID_FILE, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random ||
        dprintf(fd, "%016" PRIx64 "%016" PRIx64 "\n", random[0], random[1]) < 0)
        log_info("cannot write the machine id", LOG_INT("errno", errno));
}

bool identity_is_recorded(const char *route)
{
    char text[256];
    autoclose int fd = open(ID_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (size < 0)
        return false;
    text[size] = '\0';
    return str_equal(text, route);
}

void identity_adopt(const char *route, const char *template)
{
    static char *known;
    if (str_equal(known, route))
        return;
    free(known);
    known = xstrdup(route);
    if (!identity_is_recorded(route))
        renew_machine_id();
    write_files(route, template);
    write_marker();
}
