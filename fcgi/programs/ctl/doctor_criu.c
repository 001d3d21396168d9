/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether incusd finds a CRIU that can keep a container's memory. Incus does not say; it is looked
 * for where incusd itself would: in the PATH of its process, on this machine. CRIU before 4.2
 * cannot dump a socket on Linux 6.16 and later.
 */
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/doctor.h"

#define ENVIRONMENT_MAX 65536
#define VARIABLES_MAX   512
#define LEAST_MAJOR     4
#define LEAST_MINOR     2

/* The process that listens on a unix socket; 0: not known. */
static int listener(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    if (strlen(path) >= sizeof address.sun_path)
        return 0;
    memcpy(address.sun_path, path, strlen(path) + 1);
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return 0;
    return peer.pid;
}

/* Reads a file of /proc. Returns its size, 0 when there is none to read. */
static size_t read_proc(int pid, const char *name, char *out, size_t size)
{
    autofree char *path = xasprintf("/proc/%d/%s", pid, name);
    autofclose FILE *file = fopen(path, "re");
    size_t used = file ? fread(out, 1, size - 1, file) : 0;
    out[used] = '\0';
    return used;
}

/* The environment of a process as an array that ends with NULL; the strings are those of text. */
static void split_environment(char *text, size_t size, char *variables[VARIABLES_MAX + 1])
{
    unsigned count = 0;
    for (size_t at = 0; at < size && count < VARIABLES_MAX; at += strlen(text + at) + 1)
        variables[count++] = text + at;
    variables[count] = NULL;
}

static const char *variable(char *const *variables, const char *name)
{
    size_t length = strlen(name);
    for (; *variables; variables++)
        if (!strncmp(*variables, name, length) && (*variables)[length] == '=')
            return *variables + length + 1;
    return "";
}

/* The first program of that name in a PATH; "" if there is none. */
static void find_program(const char *path, const char *name, char *out, size_t size)
{
    for (size_t length; *path; path += length + (path[length] == ':')) {
        length = strcspn(path, ":");
        snprintf(out, size, "%.*s/%s", (int)length, path, name);
        if (access(out, X_OK) == 0)
            return;
    }
    out[0] = '\0';
}

/* What the program prints when asked for its version. */
static void ask_version(const char *program, char *const *environment, char *out, size_t size)
{
    char *arguments[] = {(char *)program, (char *)"--version", NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], status;
    pid_t child;
    out[0] = '\0';
    if (pipe(ends) < 0)
        return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
    int failed = posix_spawn(&child, program, &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t used = 0;
    ssize_t got;
    while (!failed && used < size - 1 && (got = read(ends[0], out + used, size - 1 - used)) > 0)
        used += (size_t)got;
    out[used] = '\0';
    close(ends[0]);
    if (!failed)
        waitpid(child, &status, 0);
}

static void judge(struct doctor *doctor, const char *program, const char *answer)
{
    unsigned major = 0, minor = 0;
    const char *number = strstr(answer, "Version:");
    if (!number || sscanf(number, "Version: %u.%u", &major, &minor) < 1)
        doctor_wrong(doctor, "criu",
                     "`scripts/install-criu` installs one; until then a pause keeps the disk only.",
                     "The CRIU that incusd finds, %s, does not run.", program);
    else if (major < LEAST_MAJOR || (major == LEAST_MAJOR && minor < LEAST_MINOR))
        doctor_wrong(doctor, "criu",
                     "`scripts/install-criu` installs a newer one; until then most pauses keep the "
                     "disk only.",
                     "The CRIU that incusd finds, %s, is %u.%u; %d.%d or newer is needed.", program,
                     major, minor, LEAST_MAJOR, LEAST_MINOR);
    else
        doctor_ok(doctor, "criu", "incusd finds CRIU %u.%u at %s.", major, minor, program);
}

void doctor_check_criu(struct doctor *doctor, const char *host_url)
{
    autofree char *text = xcalloc(1, ENVIRONMENT_MAX);
    char name[64], program[4096], answer[512];
    char *variables[VARIABLES_MAX + 1];
    if (!str_starts_with(host_url, "unix://"))
        return;
    int pid = listener(host_url + strlen("unix://"));
    /* With socket activation the socket is that of the service manager. */
    if (!pid || !read_proc(pid, "comm", name, sizeof name) || strncmp(name, "incusd", 6) != 0)
        return;
    size_t size = read_proc(pid, "environ", text, ENVIRONMENT_MAX);
    if (!size) {
        doctor_note(doctor, "criu", "Only root can see which CRIU incusd finds.");
        return;
    }
    split_environment(text, size, variables);
    find_program(variable(variables, "PATH"), "criu", program, sizeof program);
    if (!program[0]) {
        doctor_wrong(doctor, "criu",
                     "`scripts/install-criu` installs one; until then a pause keeps the disk only.",
                     "incusd finds no CRIU in its PATH.");
        return;
    }
    ask_version(program, variables, answer, sizeof answer);
    judge(doctor, program, answer);
}
