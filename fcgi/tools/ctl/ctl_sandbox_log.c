/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of one sandbox, in the order of time. It has the lines of all daemons that name its id,
 * its instance or its route, and the other lines of these requests. It also has its rows of the
 * audit log.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "ctl/output.h"
#include "sandbox/sandbox.h"

#define LINES_MAX   100000
#define ENTRIES_MAX 10000
#define TIME_LENGTH 24 /* 2026-11-22T16:34:51.440Z */
#define JOURNAL     "/run/systemd/journal/socket"

struct line {
    char time[TIME_LENGTH + 1];
    unsigned order; /* as it was read: lines of one time stay in it */
    char *source;
    char *text;
};

struct log {
    char *needles[3];
    unsigned needle_count;
    struct line *lines;
    unsigned count, capacity;
    bool is_cut;
};

static void log_free(struct log *log)
{
    for (unsigned i = 0; i < log->count; i++) {
        free(log->lines[i].source);
        free(log->lines[i].text);
    }
    for (unsigned i = 0; i < log->needle_count; i++)
        free(log->needles[i]);
    free(log->lines);
}

/* Where a time stands in a line of ours, of JSON or of the journal; lines without one go first. */
static void read_time(const char *text, char time[TIME_LENGTH + 1])
{
    const char *at = text;
    time[0] = '\0';
    for (; *at; at++)
        if (strlen(at) >= TIME_LENGTH && at[4] == '-' && at[7] == '-' && at[10] == 'T' &&
            at[13] == ':' && at[0] >= '1' && at[0] <= '9') {
            memcpy(time, at, TIME_LENGTH);
            time[TIME_LENGTH] = '\0';
            return;
        }
}

static void add_line(struct log *log, const char *source, const char *text)
{
    if (log->count == LINES_MAX) {
        log->is_cut = true;
        return;
    }
    if (log->count == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 256;
        log->lines = xreallocarray(log->lines, log->capacity, sizeof *log->lines);
    }
    struct line *line = &log->lines[log->count];
    read_time(text, line->time);
    line->order = log->count++;
    line->source = xstrdup(source);
    line->text = xstrdup(text);
}

static bool speaks_of(const struct log *log, const char *text)
{
    for (unsigned i = 0; i < log->needle_count; i++)
        if (strstr(text, log->needles[i]))
            return true;
    return false;
}

static int read_stream(struct log *log, FILE *file, const char *source, struct error **err)
{
    autofree char *text = NULL;
    size_t size = 0;
    while (getline(&text, &size, file) > 0) {
        text[strcspn(text, "\r\n")] = '\0';
        if (speaks_of(log, text))
            add_line(log, source, text);
    }
    return ferror(file) ? error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", source) : 0;
}

static int read_file(struct log *log, const char *path, struct error **err)
{
    const char *slash = strrchr(path, '/');
    if (str_equal(path, "-"))
        return read_stream(log, stdin, path, err);
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open %s", path);
    return read_stream(log, file, slash ? slash + 1 : path, err);
}

/* "api.log" and "api.log.1"; compressed logs are left out. */
static bool is_log(const char *name)
{
    const char *end = strstr(name, ".log");
    return end && (!end[4] || end[4] == '.' || end[4] == '-') && !str_ends_with(name, ".gz") &&
           !str_ends_with(name, ".xz") && !str_ends_with(name, ".zst");
}

static int read_directory(struct log *log, const char *path, struct error **err)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    int result = 0;
    if (!directory)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read the folder %s", path);
    while (result == 0 && (entry = readdir(directory))) {
        autofree char *file = xasprintf("%s/%s", path, entry->d_name);
        if (is_log(entry->d_name))
            result = read_file(log, file, err);
    }
    closedir(directory);
    return result;
}

/* Start journalctl, and return the stream of its output. */
static FILE *open_journal(pid_t *child, struct error **err)
{
    static const char *const arguments[] = {"journalctl",        "-q", "--no-pager", "--utc", "-o",
                                            "short-iso-precise", "-u", "sandlot-*",  NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        error_set_errno(err, ERR_CONFIG, errno, "cannot create a pipe");
        return NULL;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int failed = posix_spawnp(child, arguments[0], &actions, NULL,
                              (char *const *)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    FILE *output = failed ? NULL : fdopen(ends[0], "r");
    if (!output) {
        close(ends[0]);
        error_set_errno(err, ERR_CONFIG, failed, "cannot run %s", arguments[0]);
    }
    return output;
}

/* Programs without a log file of their own write to the journal, if the machine has one. */
static int read_journal(struct log *log, struct error **err)
{
    int status;
    pid_t child;
    if (access(JOURNAL, F_OK) < 0)
        return 0;
    FILE *output = open_journal(&child, err);
    if (!output)
        return -1;
    int result = read_stream(log, output, "journal", err);
    fclose(output);
    if (waitpid(child, &status, 0) == child && status != 0 && result == 0)
        return error_set(err, ERR_CONFIG, "journalctl failed to read the journal of this machine");
    return result;
}

/* Read the logs of a folder, if the machine has it. */
static int read_there(struct log *log, const char *path, struct error **err)
{
    return access(path, F_OK) < 0 && errno == ENOENT ? 0 : read_directory(log, path, err);
}

/* Read the logs that this machine's settings name, and its journal. */
static int read_usual(struct log *log, const struct settings *settings, struct error **err)
{
    const char *slash = strrchr(settings->log_file, '/');
    autofree char *directory =
        xstrndup(settings->log_file, slash ? (size_t)(slash - settings->log_file) : 0);
    if (read_journal(log, err) < 0 || read_there(log, settings->nginx_log_dir, err) < 0)
        return -1;
    return !*directory || str_equal(directory, settings->nginx_log_dir)
               ? 0
               : read_there(log, directory, err);
}

static int read_logs(struct ctl *ctl, const struct ctl_arguments *arguments, struct log *log,
                     struct error **err)
{
    unsigned count;
    const char *const *files = ctl_list(arguments, "file", &count);
    const char *directory = ctl_text(arguments, "dir");
    for (unsigned i = 0; i < count; i++)
        if (read_file(log, files[i], err) < 0)
            return -1;
    if (directory)
        return read_directory(log, directory, err);
    return count ? 0 : read_usual(log, ctl->settings, err);
}

static int read_audit(struct ctl *ctl, const char *id, struct log *log, struct error **err)
{
    const struct audit_filter filter = {.resource = id};
    autofree struct audit_entry *entries = NULL;
    unsigned count;
    if (audit_list(ctl->db, &filter, NULL, ENTRIES_MAX, &entries, &count, NULL, err) < 0)
        return -1;
    for (unsigned i = count; i-- > 0;) {
        const struct audit_entry *entry = &entries[i];
        char time[CLOCK_ISO8601_SIZE];
        autofree char *text = xasprintf(
            "%s %s %s by=%s who=%s user=%s address=%s request_id=%s error=%s",
            clock_format_iso8601(entry->at_ms, time), entry->action,
            audit_result_name(entry->result), audit_actor_name(entry->actor), entry->actor_id,
            entry->user_name, entry->address, entry->request_id, entry->error);
        add_line(log, "audit", text);
    }
    return 0;
}

/* A sandbox that is long gone is known by its id alone. */
static int name_it(struct ctl *ctl, const char *id, struct log *log, struct error **err)
{
    sandbox_auto sandbox = {0};
    error_auto missing = NULL;
    if (!id_is_valid("sbx_", id))
        return error_set(err, ERR_INVALID_REQUEST, CTL_NO_SANDBOX, id);
    log->needles[log->needle_count++] = xstrdup(id);
    if (sandbox_get_any(ctl->db, id, false, &sandbox, &missing) < 0)
        return missing->code == ERR_NOT_FOUND ? 0 : error_move(err, &missing);
    log->needles[log->needle_count++] = xstrdup(sandbox.route);
    if (*sandbox.instance_name)
        log->needles[log->needle_count++] = xstrdup(sandbox.instance_name);
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct line *left = a, *right = b;
    int order = strcmp(left->time, right->time);
    return order ? order : (left->order > right->order) - (left->order < right->order);
}

static void print_log(const struct ctl *ctl, struct log *log)
{
    json_t *rows = ctl->json ? json_array() : NULL;
    if (log->count)
        qsort(log->lines, log->count, sizeof *log->lines, by_time);
    for (unsigned i = 0; i < log->count; i++) {
        const struct line *line = &log->lines[i];
        autofree char *text = printable(line->text, "");
        if (rows)
            json_array_append_new(rows, json_pack("{s:s, s:s}", "log", line->source, "text", text));
        else
            printf("%-16s %s\n", line->source, text);
    }
    if (rows)
        ctl_print_json(json_pack("{s:o}", "lines", rows));
    if (log->is_cut)
        fprintf(stderr, "sandlotctl: there are more than %d lines; leaving out the others\n",
                LINES_MAX);
}

int ctl_sandbox_log(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct log log = {.count = 0};
    const char *id = arguments->operands[0];
    int result = -1;
    if (name_it(ctl, id, &log, err) == 0 && read_logs(ctl, arguments, &log, err) == 0 &&
        read_audit(ctl, id, &log, err) == 0) {
        print_log(ctl, &log);
        result = 0;
    }
    log_free(&log);
    return result;
}
