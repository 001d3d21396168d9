/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder of this machine as it is, in a sandbox: only what differs is sent. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/output.h"
#include "cli/places.h"
#include "cli/verbs.h"

#define DEPTH_MAX 1000
#define LIST_MAX  (256 * 1024 * 1024)

const struct cli_option sync_options[] = {
    {"delete", 0, NULL, "remove what is in the sandbox and not here"},
    {"dry-run", 'n', NULL, "only say what would be done"},
    {NULL, 0, NULL, NULL},
};

struct sync {
    struct cli *cli;
    struct session session;
    const char *source;
    char *target;       /* absolute */
    json_t *there;      /* path below target: entry; those that are found here are taken out */
    struct buffer list; /* what is to be sent, each with its NUL */
    size_t sent, removed;
    bool dry_run;
};

static int list_there(struct sync *sync, struct error **err)
{
    json_auto_t *answer = NULL;
    size_t index, length = strlen(sync->target);
    json_t *entry;
    json_t *message = json_pack("{s:s, s:i}", "path", sync->target, "depth", DEPTH_MAX);
    if (remote_call(sync->cli, &sync->session, "ListDir", message, &answer, err) < 0)
        return -1;
    json_array_foreach (json_object_get(answer, "entries"), index, entry) {
        const char *path = json_string_value(json_object_get(entry, "path"));
        if (path && strlen(path) > length + 1)
            json_object_set(sync->there, path + length + 1, entry);
    }
    return 0;
}

static bool is_link(const json_t *entry)
{
    const char *permissions = json_string_value(json_object_get(entry, "permissions"));
    return permissions && permissions[0] == 'L';
}

/* Modes of files and folders, sizes and times of files. A link is sent each time: what it says is
 * not told. */
static bool differs(const struct stat *here, const json_t *there)
{
    const char *type = json_string_value(json_object_get(there, "type"));
    const char *size = json_string_value(json_object_get(there, "size"));
    const char *modified = json_string_value(json_object_get(there, "modifiedTime"));
    char text[48] = "";
    struct tm tm;
    if (!there || S_ISLNK(here->st_mode) || is_link(there) ||
        (here->st_mode & 0777) != json_integer_value(json_object_get(there, "mode")))
        return true;
    if (S_ISDIR(here->st_mode))
        return !str_equal(type, "FILE_TYPE_DIRECTORY");
    if (gmtime_r(&here->st_mtim.tv_sec, &tm)) {
        size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(text + length, sizeof text - length, ".%09ldZ", here->st_mtim.tv_nsec);
    }
    return !str_equal(type, "FILE_TYPE_FILE") || !size ||
           strtoll(size, NULL, 10) != here->st_size || !modified || !str_equal(modified, text);
}

static void note(struct sync *sync, const char *what, const char *path)
{
    if (sync->dry_run)
        output_note(sync->cli, "%s %s", what, path);
}

static int walk(struct sync *sync, const char *below, struct error **err);

static int look(struct sync *sync, const char *path, struct error **err)
{
    struct stat status;
    autofree char *whole = xasprintf("%s/%s", sync->source, path);
    if (lstat(whole, &status) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot read %s", whole);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode))
        return 0;
    if (differs(&status, json_object_get(sync->there, path))) {
        note(sync, "send", path);
        sync->sent++;
        buffer_append(&sync->list, path, strlen(path) + 1);
    }
    json_object_del(sync->there, path);
    return S_ISDIR(status.st_mode) ? walk(sync, path, err) : 0;
}

static int walk(struct sync *sync, const char *below, struct error **err)
{
    autofree char *folder = xasprintf("%s/%s", sync->source, below);
    DIR *stream = opendir(folder);
    const struct dirent *entry;
    int rc = 0;
    if (!stream)
        return error_set_errno(err, ERR_NOT_FOUND, errno, "cannot read %s", folder);
    while (rc == 0 && (entry = readdir(stream))) {
        if (str_is_choice(".|..", entry->d_name))
            continue;
        autofree char *path = xasprintf("%s%s%s", below, *below ? "/" : "", entry->d_name);
        rc = look(sync, path, err);
    }
    closedir(stream);
    return rc;
}

static int send_list(struct sync *sync, struct error **err)
{
    char name[] = "/tmp/sandlot-sync-XXXXXX";
    autoclose int fd = mkostemp(name, O_CLOEXEC);
    const char *const argv[] = {"tar",
                                "--format=posix",
                                "-C",
                                sync->source,
                                "--no-recursion",
                                "--null",
                                "-T",
                                name,
                                "-cf",
                                "-",
                                NULL};
    FILE *archive;
    pid_t pid;
    error_auto failed = NULL;
    if (fd < 0 || write(fd, sync->list.data, sync->list.size) != (ssize_t)sync->list.size)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot write %s", name);
    int rc = local_tar(argv, false, &archive, &pid, err);
    if (rc == 0) {
        rc = remote_unpack(sync->cli, &sync->session, archive, sync->target, err);
        fclose(archive);
        if (local_tar_end(pid, &failed) < 0 && rc == 0)
            rc = error_move(err, &failed);
    }
    unlink(name);
    return rc;
}

static int remove_rest(struct sync *sync, struct error **err)
{
    const char *path;
    json_t *entry;
    json_object_foreach (sync->there, path, entry) {
        json_auto_t *answer = NULL;
        autofree char *whole = xasprintf("%s/%s", sync->target, path);
        note(sync, "remove", path);
        sync->removed++;
        if (!sync->dry_run && remote_call(sync->cli, &sync->session, "Remove",
                                          json_pack("{s:s}", "path", whole), &answer, err) < 0)
            return -1;
    }
    return 0;
}

static int run(struct sync *sync, const char *path, bool removes, struct error **err)
{
    remote_entry_auto entry = {.path = NULL};
    if (remote_look(sync->cli, &sync->session, path, &entry, err) < 0)
        return -1;
    sync->target = xstrdup(entry.path);
    if (entry.exists && !entry.is_folder)
        return error_set(err, ERR_INVALID_REQUEST, "%s of the sandbox is no folder", entry.path);
    if ((entry.exists && list_there(sync, err) < 0) || walk(sync, "", err) < 0)
        return -1;
    if (sync->list.size && !sync->dry_run && send_list(sync, err) < 0)
        return -1;
    return removes ? remove_rest(sync, err) : 0;
}

int verb_sync(struct cli_call *call, struct error **err)
{
    autofree char *sandbox = NULL, *path = NULL;
    struct sync sync = {
        .cli = call->cli, .source = cli_operand(call, 0), .dry_run = cli_flag(call, "dry-run")};
    if (!place_split(cli_operand(call, 1), &sandbox, &path))
        return cli_misuse(err, "the second one is SANDBOX:PATH");
    sync.there = json_object();
    buffer_init(&sync.list, LIST_MAX);
    int rc = session_open(call->cli, sandbox, &sync.session, err);
    if (rc == 0)
        rc = run(&sync, path, cli_flag(call, "delete"), err);
    if (rc == 0 && call->cli->json)
        output_object(call->cli, json_pack("{s:I, s:I}", "sent", (json_int_t)sync.sent, "removed",
                                           (json_int_t)sync.removed));
    else if (rc == 0)
        output_note(call->cli, "%zu sent, %zu removed", sync.sent, sync.removed);
    session_close(&sync.session);
    buffer_deinit(&sync.list);
    json_decref(sync.there);
    free(sync.target);
    return rc;
}
