/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlot-incusd.so: loaded into incusd before its own libraries (LD_PRELOAD in incus.env).
 *
 * An incusd that finds the controller "cpuset" distributes the processors to all containers again
 * whenever one starts, ends or changes. That takes some milliseconds of processor time for each
 * container, and incusd has no setting for it. incusd reads the controllers once, when it starts.
 * The function below leaves "cpuset" out of what incusd then reads, in a mount namespace of
 * incusd's own. The launcher removes these covers before the first start of a container
 * (launcher/processors.h). The launcher and sandlot-limits set the processors.
 *
 * incusd mounts the storage pool for the host too. It therefore gets its own namespace only if its
 * mounts also reach the host.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#define UNIFIED    "/sys/fs/cgroup/cgroup.controllers"
#define CONTROLLER "cpuset"
#define TEXT_SIZE  4096
#define LINE_SIZE  8192

/* Return whether this process is the daemon, and not one of incusd's other commands. */
static bool is_daemon(int count, char **words)
{
    char path[TEXT_SIZE];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0 || (count > 1 && words[1][0] != '-'))
        return false;
    path[length] = '\0';
    const char *name = strrchr(path, '/');
    return name && strcmp(name + 1, "incusd") == 0;
}

static bool is_below(const char *path, const char *mount)
{
    size_t length = strlen(mount);
    return strncmp(path, mount, length) == 0 &&
           (path[length] == '/' || !path[length] || mount[length - 1] == '/');
}

/* Return whether mounts below a folder reach other namespaces. */
static bool is_shared(const char *folder)
{
    char line[LINE_SIZE], mount[TEXT_SIZE];
    size_t longest = 0;
    bool shared = false;
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    while (mounts && fgets(line, sizeof line, mounts))
        if (sscanf(line, "%*s %*s %*s %*s %4095s", mount) == 1 && is_below(folder, mount) &&
            strlen(mount) >= longest) {
            longest = strlen(mount);
            shared = strstr(line, " shared:");
        }
    if (mounts)
        fclose(mounts);
    return shared;
}

/* Copy a list of controllers, and leave CONTROLLER out. Lines of /proc/PID/cgroup are
 * "7:NAME:/PATH". */
static void leave_out(FILE *from, FILE *to)
{
    char line[LINE_SIZE];
    while (fgets(line, sizeof line, from)) {
        char *found = strstr(line, CONTROLLER);
        const char *end = found ? found + strlen(CONTROLLER) : NULL;
        if (found && found > line && found[-1] == ':' && *end == ':')
            continue;
        if (found && (found == line || strchr(" :,", found[-1])) && strchr(" ,:\n", *end))
            memmove(found, end + (*end == ' ' || *end == ','), strlen(end) + 1);
        fputs(line, to);
    }
}

static void cover(const char *path)
{
    char place[] = "/run/sandlot-incusd-XXXXXX";
    int fd = mkostemp(place, O_CLOEXEC);
    FILE *from = fopen(path, "re"), *to = fd < 0 ? NULL : fdopen(fd, "w");
    if (from && to)
        leave_out(from, to);
    /* A list that is cut short would take controllers from incusd that it needs. */
    if (!from || !to || ferror(from) || fflush(to) != 0 || ferror(to) ||
        mount(place, path, NULL, MS_BIND, NULL) < 0)
        perror("sandlot-incusd.so: incusd will distribute processors");
    if (from)
        fclose(from);
    if (to)
        fclose(to);
    if (fd >= 0)
        unlink(place);
}

__attribute__((constructor)) static void begin(int count, char **words)
{
    char own[64];
    if (!is_daemon(count, words))
        return;
    unsetenv("LD_PRELOAD");
    const char *named = getenv("INCUS_DIR");
    char *folder = realpath(named && *named ? named : "/var/lib/incus", NULL);
    bool possible = folder && is_shared(folder) && unshare(CLONE_NEWNS) == 0 &&
                    mount(NULL, "/proc", NULL, MS_SLAVE, NULL) == 0 &&
                    mount(NULL, "/sys/fs/cgroup", NULL, MS_SLAVE, NULL) == 0;
    free(folder);
    if (!possible) {
        fputs("sandlot-incusd.so: incusd will distribute processors\n", stderr);
        return;
    }
    snprintf(own, sizeof own, "/proc/%d/cgroup", (int)getpid());
    cover(own);
    if (access(UNIFIED, R_OK) == 0)
        cover(UNIFIED);
}
