/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files between this machine and a sandbox. A large file goes up in parts, which are found again by
 * whoever repeats the command, and comes down into a file beside its place; so both go on where
 * they were broken off. A folder goes as an archive, with its links and modes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/places.h"
#include "cli/progress.h"
#include "cli/verbs.h"

#define PART_SIZE     (16LL * 1024 * 1024)
#define PARTS_MAX     10000
#define RUN_TIMEOUT_S 3600
#define MODE_USUAL    0644

#define TYPE_BYTES    "Content-Type: application/octet-stream"

const struct cli_option cp_options[] = {{NULL, 0, NULL, NULL}};

struct copy {
    struct cli *cli;
    struct session session;
    const char *shown; /* NULL: no progress bar */
};

/* --- up --- */

static int send_bytes(struct copy *copy, FILE *file, int64_t size, int64_t shown_from,
                      const char *target, struct error **err)
{
    autofree char *url = remote_file_url(&copy->session, target);
    exchange_auto exchange = {
        .method = "POST",
        .url = url,
        .headers = {copy->session.token_header, TYPE_BYTES},
        .upload = file,
        .upload_size = size,
        .shown = copy->shown,
        .shown_from = shown_from,
    };
    if (exchange_run(copy->cli, &exchange, err) < 0)
        return -1;
    return exchange.status == 200 ? 0 : api_error(&exchange, err);
}

static uint64_t hash(const char *text)
{
    uint64_t value = 14695981039346656037ULL;
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * 1099511628211ULL;
    return value;
}

/* What names the parts of just this file as it is now. */
static char *part_prefix(const char *path, const struct stat *status, const char *target)
{
    autofree char *whole = realpath(path, NULL);
    autofree char *identity =
        xasprintf("%s %lld %lld.%09ld", whole ? whole : path, (long long)status->st_size,
                  (long long)status->st_mtim.tv_sec, status->st_mtim.tv_nsec);
    return xasprintf("%s.sandlot-%016llx", target, (unsigned long long)hash(identity));
}

static int send_part(struct copy *copy, FILE *file, int64_t at, int64_t size, const char *part,
                     struct error **err)
{
    remote_entry_auto entry = {.path = NULL};
    if (remote_look(copy->cli, &copy->session, part, &entry, err) < 0)
        return -1;
    if (entry.exists && entry.size == size)
        return 0;
    if (fseeko(file, at, SEEK_SET) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot read the file");
    return send_bytes(copy, file, size, at, part, err);
}

static int join_parts(struct copy *copy, json_t *parts, const char *target, struct error **err)
{
    json_auto_t *message = json_pack("{s:O, s:s}", "source_paths", parts, "destination", target);
    autofree char *url = xasprintf("%s/files/compose", copy->session.url);
    autofree char *text = json_dumps(message, JSON_COMPACT);
    exchange_auto exchange = {
        .method = "POST",
        .url = url,
        .headers = {copy->session.token_header, "Content-Type: application/json"},
        .body = text,
        .body_size = strlen(text),
    };
    if (exchange_run(copy->cli, &exchange, err) < 0)
        return -1;
    return exchange.status == 200 ? 0 : api_error(&exchange, err);
}

static int send_in_parts(struct copy *copy, FILE *file, const char *path, const struct stat *status,
                         const char *target, struct error **err)
{
    json_auto_t *parts = json_array();
    autofree char *prefix = part_prefix(path, status, target);
    int64_t size = PART_SIZE;
    while (status->st_size / size >= PARTS_MAX)
        size *= 2;
    for (int64_t at = 0; at < status->st_size; at += size) {
        autofree char *part = xasprintf("%s.%lld", prefix, (long long)(at / size));
        int64_t left = status->st_size - at;
        if (send_part(copy, file, at, left < size ? left : size, part, err) < 0)
            return error_context(err, "the copy goes on from here when it is repeated");
        json_array_append_new(parts, json_string(part));
    }
    return join_parts(copy, parts, target, err);
}

static int set_mode(struct copy *copy, const char *target, unsigned mode, struct error **err)
{
    char octal[8];
    if (mode == MODE_USUAL)
        return 0;
    snprintf(octal, sizeof octal, "%o", mode);
    json_t *call = json_pack("{s:s, s:[s, s]}", "cmd", "chmod", "args", octal, target);
    return session_run(copy->cli, &copy->session, call, "the mode cannot be set", NULL, err);
}

static int send_file(struct copy *copy, const char *path, const struct stat *status,
                     const char *target, struct error **err)
{
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_NOT_FOUND, errno, "cannot open %s", path);
    bool is_large = status->st_size > 2 * PART_SIZE;
    bool is_file = S_ISREG(status->st_mode);
    if (is_large && is_file
            ? send_in_parts(copy, file, path, status, target, err) < 0
            : send_bytes(copy, file, is_file ? status->st_size : -1, 0, target, err) < 0)
        return -1;
    return is_file ? set_mode(copy, target, status->st_mode & 07777, err) : 0;
}

static int send_folder(struct copy *copy, const char *path, const char *target, struct error **err)
{
    const char *const argv[] = {"tar", "-C", path, "-cf", "-", ".", NULL};
    FILE *archive;
    pid_t pid;
    if (local_tar(argv, false, &archive, &pid, err) < 0)
        return -1;
    int rc = remote_unpack(copy->cli, &copy->session, archive, target, err);
    fclose(archive);
    error_auto failed = NULL;
    if (local_tar_end(pid, &failed) < 0 && rc == 0)
        return error_move(err, &failed);
    return rc;
}

/* The name that a source has at its target: a folder takes it in under its own. */
static char *target_path(const char *target, bool is_folder, const char *source)
{
    size_t length = strlen(target);
    bool has_slash = length && target[length - 1] == '/';
    autofree char *trimmed = xstrdup(source);
    for (size_t end = strlen(trimmed); end > 1 && trimmed[end - 1] == '/';)
        trimmed[--end] = '\0';
    autofree char *whole = realpath(trimmed, NULL);
    const char *base = path_base(trimmed);
    if (str_is_choice(".|..|", base) && whole)
        base = path_base(whole);
    if (!is_folder && !has_slash)
        return xstrdup(target);
    return xasprintf("%s%s%s", target, has_slash ? "" : "/", base);
}

static int copy_up(struct copy *copy, const char *source, const char *path, struct error **err)
{
    remote_entry_auto entry = {.path = NULL};
    struct stat status;
    if (remote_look(copy->cli, &copy->session, path, &entry, err) < 0)
        return -1;
    if (str_equal(source, "-"))
        return send_bytes(copy, stdin, -1, 0, entry.path, err);
    if (stat(source, &status) < 0)
        return error_set_errno(err, ERR_NOT_FOUND, errno, "cannot read %s", source);
    autofree char *target = target_path(entry.path, entry.is_folder, source);
    return S_ISDIR(status.st_mode) ? send_folder(copy, source, target, err)
                                   : send_file(copy, source, &status, target, err);
}

/* --- down --- */

static int look_at_file(struct copy *copy, const char *path, char etag[128], struct error **err)
{
    autofree char *url = remote_file_url(&copy->session, path);
    exchange_auto exchange = {
        .method = "HEAD", .url = url, .headers = {copy->session.token_header}};
    if (exchange_run(copy->cli, &exchange, err) < 0)
        return -1;
    if (exchange.status != 200)
        return error_set(err, exchange.status == 404 ? ERR_NOT_FOUND : ERR_INTERNAL,
                         "the sandbox does not give %s (status %ld)", path, exchange.status);
    memcpy(etag, exchange.etag, sizeof exchange.etag);
    return 0;
}

/* From where file stands. */
static int receive_bytes(struct copy *copy, const char *path, FILE *file, int64_t from,
                         const char *etag, struct error **err)
{
    autofree char *url = remote_file_url(&copy->session, path);
    autofree char *range = xasprintf("Range: bytes=%lld-", (long long)from);
    autofree char *if_range = xasprintf("If-Range: %s", etag ? etag : "");
    exchange_auto exchange = {
        .method = "GET",
        .url = url,
        .headers = {copy->session.token_header, from ? range : NULL, from ? if_range : NULL},
        .download = file,
        .shown = copy->shown,
        .shown_from = from,
    };
    if (exchange_run(copy->cli, &exchange, err) < 0)
        return -1;
    if (fflush(file) != 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot write what was received");
    return exchange.status == (from ? 206 : 200) ? 0 : api_error(&exchange, err);
}

static int receive_into(struct copy *copy, const struct remote_entry *entry, const char *part,
                        const char *etag, struct error **err)
{
    autofclose FILE *file = fopen(part, "ae");
    struct stat status;
    if (!file || fstat(fileno(file), &status) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot write %s", part);
    if (status.st_size < entry->size || !entry->size)
        if (receive_bytes(copy, entry->path, file, status.st_size, etag, err) < 0)
            return -1;
    if (fstat(fileno(file), &status) < 0 || status.st_size != entry->size) {
        unlink(part);
        return error_set(err, ERR_INTERNAL, "%s changed while it was read", entry->path);
    }
    return 0;
}

static int receive_file(struct copy *copy, const struct remote_entry *entry, const char *target,
                        struct error **err)
{
    char etag[128];
    if (look_at_file(copy, entry->path, etag, err) < 0)
        return -1;
    autofree char *identity = xasprintf("%s %s", copy->session.id, etag);
    autofree char *part =
        xasprintf("%s.sandlot-%016llx", target, (unsigned long long)hash(identity));
    if (receive_into(copy, entry, part, etag, err) < 0)
        return -1;
    if (chmod(part, entry->mode & 0777) < 0 || rename(part, target) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot write %s", target);
    return 0;
}

static int unpack_here(struct copy *copy, const char *archive, const char *target,
                       struct error **err)
{
    const char *const argv[] = {"tar", "-C", target, "-xpf", "-", "--no-same-owner", NULL};
    FILE *to_tar;
    pid_t pid;
    error_auto failed = NULL;
    if (local_tar(argv, true, &to_tar, &pid, err) < 0)
        return -1;
    int rc = receive_bytes(copy, archive, to_tar, 0, NULL, err);
    fclose(to_tar);
    if (local_tar_end(pid, &failed) < 0 && rc == 0)
        return error_move(err, &failed);
    return rc;
}

static int receive_folder(struct copy *copy, const char *path, const char *target,
                          struct error **err)
{
    autofree char *archive = remote_temporary();
    error_auto ignored = NULL;
    json_auto_t *answer = NULL;
    if (mkdir(target, 0777) < 0 && errno != EEXIST)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot make %s", target);
    json_t *call = json_pack("{s:s, s:[s, s, s, s, s], s:i}", "cmd", "tar", "args", "-C", path,
                             "-cf", archive, ".", "timeout", RUN_TIMEOUT_S);
    if (session_run(copy->cli, &copy->session, call, "the folder cannot be packed", NULL, err) < 0)
        return -1;
    int rc = unpack_here(copy, archive, target, err);
    remote_call(copy->cli, &copy->session, "Remove", json_pack("{s:s}", "path", archive), &answer,
                &ignored);
    return rc;
}

static int copy_down(struct copy *copy, const char *path, const char *target, struct error **err)
{
    remote_entry_auto entry = {.path = NULL};
    struct stat status;
    if (remote_look(copy->cli, &copy->session, path, &entry, err) < 0)
        return -1;
    if (!entry.exists)
        return error_set(err, ERR_NOT_FOUND, "there is no %s in the sandbox", entry.path);
    if (str_equal(target, "-"))
        return receive_bytes(copy, entry.path, stdout, 0, NULL, err);
    bool is_folder = stat(target, &status) == 0 && S_ISDIR(status.st_mode);
    autofree char *place = target_path(target, is_folder, entry.path);
    return entry.is_folder ? receive_folder(copy, entry.path, place, err)
                           : receive_file(copy, &entry, place, err);
}

int verb_cp(struct cli_call *call, struct error **err)
{
    const char *source = cli_operand(call, 0), *target = cli_operand(call, 1);
    autofree char *sandbox = NULL, *path = NULL;
    struct copy copy = {.cli = call->cli};
    autofree char *other_sandbox = NULL, *other_path = NULL;
    bool up = place_split(target, &sandbox, &path);
    bool down = place_split(source, up ? &other_sandbox : &sandbox, up ? &other_path : &path);
    if (up == down)
        return cli_misuse(err, "one of the two is SANDBOX:PATH, the other a path of this machine");
    copy.shown = progress_is_wanted() ? path_base(up ? source : path) : NULL;
    int rc = session_open(call->cli, sandbox, &copy.session, err);
    if (rc == 0)
        rc = up ? copy_up(&copy, source, path, err) : copy_down(&copy, path, target, err);
    session_close(&copy.session);
    return rc;
}
