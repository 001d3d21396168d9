/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether incusd finds a CRIU that can keep a container's memory. Incus does not report it. This
 * check therefore looks in the PATH of incusd's process on this machine, and lets CRIU check the
 * kernel. CRIU before 4.2 cannot dump a socket on Linux 6.16 and later.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/doctor.h"
#include "host/host.h"
#include "incus/incus.h"

#define ENVIRONMENT_MAX 65536
#define VARIABLES_MAX   512
#define LEAST_MAJOR     4
#define LEAST_MINOR     2
#define VERSION_SIZE    32

/* incusd's own process; 0: not known. Its socket may be one that systemd has opened. */
static int daemon_pid(struct doctor *doctor, const struct host *host)
{
    error_auto ignored = NULL;
    json_auto_t *server = NULL;
    struct incus *incus;
    int pid = 0;
    if (ctl_open_incus(doctor->ctl, host, &incus, &ignored) < 0)
        return 0;
    if (incus_get(incus, "/1.0", &server, &ignored) == 0)
        json_unpack(server, "{s:{s:i}}", "environment", "server_pid", &pid);
    incus_close(incus);
    return pid;
}

/* Read a file of /proc. Returns its size, 0 without one. */
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

/* Find the first program with that name in a PATH; "" without one. */
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

/* Run the program with one argument and read its output; see doctor_run(). */
static int ask(const char *program, const char *argument, char *const *environment, char *out,
               size_t size)
{
    char *arguments[] = {(char *)program, (char *)argument, NULL};
    return doctor_run(arguments, environment, out, size);
}

/* The last line of a text, which is cut there. */
static const char *last_line(char *text)
{
    size_t length = strlen(text);
    while (length && text[length - 1] == '\n')
        text[--length] = '\0';
    const char *line = strrchr(text, '\n');
    return line ? line + 1 : text;
}

static void judge(struct doctor *doctor, const char *program, char *const *environment)
{
    char answer[2048], version[VERSION_SIZE];
    unsigned major = 0, minor = 0;
    ask(program, "--version", environment, answer, sizeof answer);
    const char *number = strstr(answer, "Version:");
    if (!number || sscanf(number, "Version: %u.%u", &major, &minor) < 1)
        doctor_wrong(doctor, "criu",
                     "Run `sandlot-install-criu`, which installs it. Until then a pause keeps the "
                     "disk only.",
                     "The CRIU that incusd uses, %s, does not run.", program);
    else if (major < LEAST_MAJOR || (major == LEAST_MAJOR && minor < LEAST_MINOR))
        doctor_wrong(
            doctor, "criu",
            "Run `sandlot-install-criu`, which installs a newer one. Until then most pauses keep "
            "the disk only.",
            "The CRIU that incusd uses, %s, has version %u.%u; sandlot needs %d.%d or newer.",
            program, major, minor, LEAST_MAJOR, LEAST_MINOR);
    else if (ask(program, "check", environment, answer, sizeof answer) != 0)
        doctor_wrong(doctor, "criu",
                     "Boot a kernel with these features. Until then a pause keeps the disk only.",
                     "The CRIU that incusd uses, %s, cannot save memory on this kernel: %s.",
                     program, last_line(answer));
    else
        doctor_ok(doctor, "criu", "incusd uses CRIU %u.%u at %s, and the kernel supports it.",
                  major, minor, program);
    snprintf(version, sizeof version, "%u.%u", major, minor);
    if (major)
        doctor_judge_version(doctor, "this machine", COMPONENT_CRIU, version);
}

void doctor_check_criu(struct doctor *doctor, const struct host *host)
{
    autofree char *text = xcalloc(1, ENVIRONMENT_MAX);
    char program[4096];
    char *variables[VARIABLES_MAX + 1];
    if (!str_starts_with(host->url, "unix://"))
        return;
    int pid = daemon_pid(doctor, host);
    if (!pid)
        return; /* the line about the host says why */
    size_t size = read_proc(pid, "environ", text, ENVIRONMENT_MAX);
    if (!size) {
        doctor_note(doctor, "criu", "Only root can see which CRIU incusd uses.");
        return;
    }
    split_environment(text, size, variables);
    find_program(variable(variables, "PATH"), "criu", program, sizeof program);
    if (!program[0])
        doctor_wrong(doctor, "criu",
                     "Run `sandlot-install-criu`, which installs it. Until then a pause keeps the "
                     "disk only.",
                     "incusd finds no CRIU in its PATH.");
    else
        judge(doctor, program, variables);
}
