/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/launcher/hook.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

/* The program of incusd waits as long. */
#define ANSWER_MOST_S 30
#define WORDS         6

#define LETTERS       "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

/* --- the request --- */

/* Return whether a text needs no escapes in an address. */
static bool is_plain(const char *text, const char *more)
{
    char allowed[sizeof LETTERS + 8];
    snprintf(allowed, sizeof allowed, LETTERS "%s", more);
    return text && *text && !text[strspn(text, allowed)];
}

/* Return the query of the request. NULL: this hook is not known here. */
static char *query_of(const char *project, const char *hook)
{
    const char *target = getenv("LXC_TARGET");
    const char *network = getenv("LXC_NET_NS");
    if (str_equal(hook, "start"))
        return xasprintf("project=%s", project);
    if (!is_plain(target, ""))
        return NULL;
    if (str_equal(hook, "stop"))
        return xasprintf("project=%s&target=%s", project, target);
    if (str_equal(hook, "stopns") && is_plain(network, "/"))
        return xasprintf("project=%s&target=%s&netns=%s", project, target, network);
    return NULL;
}

static char *question_of(char *const words[])
{
    if (!is_plain(words[3], "") || !is_plain(words[4], ""))
        return NULL;
    autofree char *query = query_of(words[3], words[5]);
    if (!query)
        return NULL;
    return xasprintf("GET /internal/containers/%s/on%s?%s HTTP/1.0\r\n"
                     "Host: incus\r\n\r\n",
                     words[4], words[5], query);
}

/* --- the answer --- */

static int connect_to(const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval most = {.tv_sec = ANSWER_MOST_S};
    int length = snprintf(address.sun_path, sizeof address.sun_path, "%s/unix.socket", folder);
    if (length < 0 || (size_t)length >= sizeof address.sun_path)
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) == 0 &&
                   setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) == 0 &&
                   connect(fd, (struct sockaddr *)&address, sizeof address) == 0))
        return fd;
    close(fd);
    return -1;
}

/* Send the request and return the status of the answer. -1 with errno: no answer. */
static int ask(int fd, const char *question)
{
    char text[64];
    size_t size = 0, length = strlen(question);
    ssize_t got;
    int status;
    if (send(fd, question, length, MSG_NOSIGNAL) != (ssize_t)length)
        return -1;
    while (size < sizeof text - 1 && (got = read(fd, text + size, sizeof text - 1 - size)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            errno = errno == EAGAIN ? ETIMEDOUT : errno;
            return -1;
        }
        size += (size_t)got;
    }
    text[size] = '\0';
    errno = EPROTO;
    return sscanf(text, "HTTP/1.%*1u %3d", &status) == 1 ? status : -1;
}

/* Fail the hook of a reboot: liblxc then lets incusd start the container again. */
static int settle(const char *hook, struct error **err)
{
    if (str_equal(hook, "stop") && str_equal(getenv("LXC_TARGET"), "reboot"))
        return error_set(err, ERR_RUNTIME_REFUSED, "incusd does the reboot");
    return 0;
}

int hook_call(char *const command[], struct error **err)
{
    size_t count = 0;
    while (command[count])
        count++;
    autofree char *question =
        count == WORDS && str_equal(command[1], "callhook") && !getenv("INCUS_SOCKET")
            ? question_of(command)
            : NULL;
    autoclose int fd = question ? connect_to(command[2]) : -1;
    if (fd < 0)
        return 1;
    int status = ask(fd, question);
    if (status < 0)
        return error_set_errno(err, ERR_RUNTIME_UNAVAILABLE, errno,
                               "incusd did not answer the hook %s of container %s", command[5],
                               command[4]);
    return status == 200 ? settle(command[5], err) : 1;
}

/* --- the configuration --- */

/* Recognise /proc/PID/exe callhook …, and put the program in its place. */
static char *taken_over(const char *line, const char *program)
{
    static const char key[] = "lxc.hook.pre-start = ", folder[] = "/proc/";
    if (!str_starts_with(line, key))
        return NULL;
    const char *command = line + strlen(key);
    const char *word = strchr(command, ' ');
    if (!str_starts_with(command, folder) || !word || !str_starts_with(word, " callhook "))
        return NULL;
    return xasprintf("%s%s%s", key, program, word);
}

static bool rewrite(FILE *from, FILE *to, const char *program)
{
    autofree char *line = NULL;
    size_t size = 0;
    bool found = false;
    while (getline(&line, &size, from) >= 0) {
        autofree char *other = taken_over(line, program);
        found = found || other;
        fputs(other ? other : line, to);
    }
    return found && !ferror(from);
}

void hook_take_over(const char *config, const char *program)
{
    struct stat known;
    autofree char *path = xasprintf("%s.sandlot", config);
    autofclose FILE *from = fopen(config, "re");
    if (!is_plain(program, "/") || !from || fstat(fileno(from), &known) < 0)
        return;
    FILE *to = fopen(path, "we");
    if (!to)
        return;
    bool whole = fchmod(fileno(to), known.st_mode & 07777) == 0 && rewrite(from, to, program);
    whole = fclose(to) == 0 && whole;
    if (!whole || rename(path, config) < 0)
        unlink(path);
}
