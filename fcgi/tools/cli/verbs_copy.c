/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files between this machine and a sandbox. A large file goes up in parts, which a repeated command
 * finds again, and comes down into a temporary file in the same folder. Both therefore continue
 * after a break. Folders go as archives, with their links and modes: up in batches of missing
 * files, down in one archive that the sandbox keeps until it has arrived.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/output.h"
#include "cli/places.h"
#include "cli/progress.h"
#include "cli/tree.h"
#include "cli/unpack.h"
#include "cli/verbs.h"

#define PART_SIZE     (16LL * 1024 * 1024)
#define PARTS_MAX     10000
#define BATCH_SIZE    (2 * PART_SIZE)
#define LIST_MAX      (256 * 1024 * 1024)
#define RUN_TIMEOUT_S 3600

/* A temporary name has the target's name at its beginning, as far as both fit with the number of a
 * part, or with the dot and the ending of an archive. */
#define TARGET_NAME_MAX (NAME_MAX - 32)

#define TYPE_BYTES      "Content-Type: application/octet-stream"

const struct cli_option cp_options[] = {{NULL, 0, NULL, NULL}};

struct copy {
    struct cli *cli;
    struct session session;
    const char *sandbox; /* the user's word for it */
    const char *shown;   /* NULL: no progress bar */
    int64_t size;        /* of the file that is sent; 0: not known */
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
        .shown_size = copy->size,
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

static char *temporary_name(const char *target, const char *identity)
{
    const char *name = path_base(target);
    size_t kept = TARGET_NAME_MAX;
    if (strlen(name) <= kept)
        return xasprintf("%s.sandlot-%016llx", target, (unsigned long long)hash(identity));
    while (kept && ((unsigned char)name[kept] & 0xc0) == 0x80) /* in the middle of a character */
        kept--;
    autofree char *whole = xasprintf("%s %s", target, identity);
    return xasprintf("%.*s.sandlot-%016llx", (int)((size_t)(name - target) + kept), target,
                     (unsigned long long)hash(whole));
}

/* The temporary name of a folder until it is complete. Other copies to the same place come from
 * another machine or another folder. */
static char *unfinished(const char *target, const char *source)
{
    char host[HOST_NAME_MAX + 1] = "";
    autofree char *folder = getcwd(NULL, 0);
    gethostname(host, sizeof host);
    autofree char *identity = xasprintf("%s %s %s %s", host, folder ? folder : "", source, target);
    return temporary_name(target, identity);
}

/* A name for the parts of this file in its present version. */
static char *part_prefix(const char *path, const struct stat *status, const char *target)
{
    autofree char *whole = realpath(path, NULL);
    autofree char *identity =
        xasprintf("%s %lld %lld.%09ld", whole ? whole : path, (long long)status->st_size,
                  (long long)status->st_mtim.tv_sec, status->st_mtim.tv_nsec);
    return temporary_name(target, identity);
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
            return error_context(err, "the copy stopped; repeat it to continue from here");
        json_array_append_new(parts, json_string(part));
    }
    return join_parts(copy, parts, target, err);
}

/* A file that was there has kept its mode. */
static int set_mode(struct copy *copy, const char *target, unsigned mode, struct error **err)
{
    char octal[8];
    remote_entry_auto entry = {.path = NULL};
    if (remote_look(copy->cli, &copy->session, target, &entry, err) < 0)
        return -1;
    if (entry.mode == mode)
        return 0;
    snprintf(octal, sizeof octal, "%o", mode);
    json_t *call = json_pack("{s:s, s:[s, s]}", "cmd", "chmod", "args", octal, target);
    return session_run(copy->cli, &copy->session, call, "cannot set the mode", NULL, err);
}

static int send_file(struct copy *copy, const char *path, const struct stat *status,
                     const char *target, struct error **err)
{
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_NOT_FOUND, errno, "cannot open %s", path);
    bool is_large = status->st_size > BATCH_SIZE;
    bool is_file = S_ISREG(status->st_mode);
    copy->size = is_file ? status->st_size : 0;
    if (is_large && is_file
            ? send_in_parts(copy, file, path, status, target, err) < 0
            : send_bytes(copy, file, is_file ? status->st_size : -1, 0, target, err) < 0)
        return -1;
    return is_file ? set_mode(copy, target, status->st_mode & 07777, err) : 0;
}

/* --- folders up: differences in batches, so that a break costs one batch --- */

struct folder {
    struct copy *copy;
    struct tree tree;
    struct buffer files,
        folders;  /* to be sent; the latter at the end, as they may not be writable */
    int64_t size; /* of the files */
};

static int send_batch(struct folder *folder, struct error **err)
{
    int rc = folder->files.size ? tree_send(&folder->tree, &folder->files, err) : 0;
    buffer_clear(&folder->files);
    folder->size = 0;
    return rc;
}

/* A file in parts, and its time as tar would set it. */
static int send_large(struct folder *folder, const char *path, const struct stat *status,
                      struct error **err)
{
    autofree char *here = xasprintf("%s/%s", folder->tree.here, path);
    autofree char *there = xasprintf("%s/%s", folder->tree.there, path);
    autofree char *time =
        xasprintf("@%lld.%09ld", (long long)status->st_mtim.tv_sec, status->st_mtim.tv_nsec);
    if (send_file(folder->copy, here, status, there, err) < 0)
        return -1;
    json_t *call = json_pack("{s:s, s:[s, s, s]}", "cmd", "touch", "args", "-d", time, there);
    return session_run(folder->copy->cli, &folder->copy->session, call, "cannot set the time", NULL,
                       err);
}

static int take(void *context, const char *path, const struct stat *here, bool differs,
                struct error **err)
{
    struct folder *folder = context;
    if (!differs)
        return 0;
    if (S_ISREG(here->st_mode) && here->st_size > BATCH_SIZE)
        return send_large(folder, path, here, err);
    buffer_append(S_ISDIR(here->st_mode) ? &folder->folders : &folder->files, path,
                  strlen(path) + 1);
    folder->size += S_ISREG(here->st_mode) ? here->st_size : 0;
    return folder->size < BATCH_SIZE ? 0 : send_batch(folder, err);
}

static int send_what_differs(struct folder *folder, struct error **err)
{
    if (tree_list(&folder->tree, err) < 0) {
        if (!error_clear_if(err, ERR_NOT_FOUND))
            return -1;
    }
    buffer_append(&folder->folders, ".", sizeof "."); /* its own mode */
    if (tree_walk(&folder->tree, take, folder, err) < 0 || send_batch(folder, err) < 0)
        return -1;
    return tree_send(&folder->tree, &folder->folders, err);
}

static int send_into(struct copy *copy, const char *path, const char *target, struct error **err)
{
    struct folder folder = {.copy = copy};
    buffer_init(&folder.files, LIST_MAX);
    buffer_init(&folder.folders, LIST_MAX);
    tree_init(&folder.tree, copy->cli, &copy->session, path, target);
    int rc = send_what_differs(&folder, err);
    tree_deinit(&folder.tree);
    buffer_deinit(&folder.files);
    buffer_deinit(&folder.folders);
    return rc;
}

/* A folder that is not there has another name until it is whole, for who repeats the command. */
static int send_folder(struct copy *copy, const char *path, const char *target, struct error **err)
{
    remote_entry_auto entry = {.path = NULL};
    json_auto_t *answer = NULL;
    if (remote_look(copy->cli, &copy->session, target, &entry, err) < 0)
        return -1;
    if (entry.exists)
        return send_into(copy, path, target, err);
    autofree char *part = unfinished(target, path);
    if (send_into(copy, path, part, err) < 0)
        return error_context(err, "the copy stopped; repeat it to continue from here");
    json_t *message = json_pack("{s:s, s:s}", "source", part, "destination", target);
    return remote_call(copy->cli, &copy->session, "Move", message, &answer, err);
}

static bool ends_with_slash(const char *path)
{
    return str_ends_with(path, "/");
}

/* The entry `name` of a folder, or the path itself if it is not a folder. */
static char *target_path(const char *target, bool is_folder, const char *name)
{
    if (!is_folder && !ends_with_slash(target))
        return xstrdup(target);
    return xasprintf("%s%s%s", target, ends_with_slash(target) ? "" : "/", name);
}

/* The last part of a path of this machine. */
static char *local_name(const char *path)
{
    autofree char *trimmed = xstrdup(path);
    for (size_t end = strlen(trimmed); end > 1 && trimmed[end - 1] == '/';)
        trimmed[--end] = '\0';
    autofree char *whole = realpath(trimmed, NULL);
    const char *name = path_base(trimmed);
    return xstrdup(str_is_choice(".|..|", name) && whole ? path_base(whole) : name);
}

/* The last part of a path as the user wrote it; the sandbox is not asked. A path that names
 * nothing, such as the home or "/", goes by the word for the sandbox. */
static char *remote_name(const char *path, const char *sandbox)
{
    autofree char *rest = xstrdup(path);
    unsigned above = 0; /* parts that a ".." behind them takes back */
    for (char *slash;; *slash = '\0') {
        slash = strrchr(rest, '/');
        const char *part = slash ? slash + 1 : rest;
        if (str_equal(part, ".."))
            above++;
        else if (*part && !str_equal(part, ".") && (slash || !str_equal(part, "~")) && !above--)
            return xstrdup(part);
        if (!slash)
            return xstrdup(sandbox);
    }
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
    autofree char *name = local_name(source);
    autofree char *target = target_path(entry.path, entry.is_folder, name);
    return S_ISDIR(status.st_mode) ? send_folder(copy, source, target, err)
                                   : send_file(copy, source, &status, target, err);
}

/* --- down --- */

/* *size: of the file that a link leads to, too; 0: not known. */
static int look_at_file(struct copy *copy, const char *path, char etag[128], int64_t *size,
                        struct error **err)
{
    autofree char *url = remote_file_url(&copy->session, path);
    exchange_auto exchange = {
        .method = "HEAD", .url = url, .headers = {copy->session.token_header}};
    if (exchange_run(copy->cli, &exchange, err) < 0)
        return -1;
    if (exchange.status != 200)
        return error_set(err, exchange.status == 404 ? ERR_NOT_FOUND : ERR_INTERNAL,
                         "cannot read %s in the sandbox (status %ld)", path, exchange.status);
    memcpy(etag, exchange.etag, sizeof exchange.etag);
    *size = exchange.length > 0 ? exchange.length : 0;
    return 0;
}

/* From where file stands, at most `most` bytes (-1: all that comes). */
static int receive_bytes(struct copy *copy, const char *path, FILE *file, int64_t from,
                         int64_t most, const char *etag, struct error **err)
{
    autofree char *url = remote_file_url(&copy->session, path);
    autofree char *range = xasprintf("Range: bytes=%lld-", (long long)from);
    autofree char *if_range = xasprintf("If-Range: %s", etag ? etag : "");
    exchange_auto exchange = {
        .method = "GET",
        .url = url,
        .headers = {copy->session.token_header, from ? range : NULL, from ? if_range : NULL},
        .download = file,
        .download_max = most,
        .shown = copy->shown,
        .shown_from = from,
    };
    int rc = exchange_run(copy->cli, &exchange, err);
    if (rc == 0 && fflush(file) != 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot write the received data");
    if (rc == 0 && exchange.status != (from ? 206 : 200))
        rc = api_error(&exchange, err);
    /* Bytes of another version must not be continued as if they were of this one. */
    if (rc < 0 && etag && (exchange.status == 200 || exchange.status == 206) &&
        !str_equal(exchange.etag, etag)) {
        fflush(file);
        (void)!ftruncate(fileno(file), 0);
    }
    return rc;
}

/* A sandbox can find out this name, and an earlier copy may have put a link there. So it is a file
 * of this user with no other name, or it is not used. */
static int open_part(const char *part, int64_t size, struct stat *status, int64_t *free_bytes,
                     struct error **err)
{
    struct statvfs room;
    autoclose int fd =
        open(part, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, status) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot write %s", part);
    if (!S_ISREG(status->st_mode) || status->st_nlink != 1 || status->st_uid != geteuid())
        return error_set(err, ERR_INTERNAL,
                         "%s is not the file of an interrupted copy; remove it and try again",
                         part);
    bool is_known = fstatvfs(fd, &room) == 0;
    *free_bytes = is_known ? (int64_t)(room.f_bavail * room.f_frsize) : size;
    if (is_known && size > status->st_size &&
        (uint64_t)(size - status->st_size) / room.f_frsize > room.f_bavail)
        return error_set(err, ERR_INTERNAL,
                         "%s has %lld bytes, and this machine's disk has too little space", part,
                         (long long)size);
    return steal_fd(&fd);
}

/* A new copy takes the file as it is now, which may have grown since it was looked at. A continued
 * one takes the rest of the version that was begun. */
static int receive_into(struct copy *copy, const struct remote_entry *entry, int64_t size,
                        const char *part, const char *etag, struct error **err)
{
    struct stat status;
    int64_t free_bytes = 0;
    autoclose int fd = open_part(part, size, &status, &free_bytes, err);
    autofclose FILE *file = fd < 0 ? NULL : fdopen(fd, "a");
    if (!file)
        return -1;
    steal_fd(&fd);
    bool continues = status.st_size > 0;
    if (!continues || status.st_size < size)
        if (receive_bytes(copy, entry->path, file, status.st_size,
                          continues ? size - status.st_size : free_bytes, etag, err) < 0)
            return -1;
    if (continues && (fstat(fileno(file), &status) < 0 || status.st_size != size)) {
        unlink(part);
        return error_set(err, ERR_INTERNAL, "%s changed during the copy", entry->path);
    }
    if (fchmod(fileno(file), entry->mode & 0777) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot set the mode of %s", part);
    return 0;
}

static int receive_file(struct copy *copy, const struct remote_entry *entry, const char *target,
                        struct error **err)
{
    char etag[128];
    int64_t size = 0;
    if (look_at_file(copy, entry->path, etag, &size, err) < 0)
        return -1;
    autofree char *identity = xasprintf("%s %s", copy->session.id, etag);
    autofree char *part = temporary_name(target, identity);
    if (!*etag) /* a file in /proc or /sys has no versions, so no part can be continued */
        unlink(part);
    if (receive_into(copy, entry, size, part, etag, err) < 0)
        return -1;
    if (rename(part, target) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot write %s", target);
    return 0;
}

/* A previous archive is still right if no file has changed since it was started. A file that
 * changes while tar reads it is 1 to GNU tar, and no failure here. */
#define PACK_FOLDER                                                                     \
    "cd \"$1\" || exit; "                                                               \
    "[ -f \"$2\" ] && changed=$(find . -cnewer \"$2\" 2>/dev/null) && "                 \
    "[ -z \"$changed\" ] && exit; "                                                     \
    ": >\"$2.begun\" && { tar -cf \"$2.new\" . || { [ $? = 1 ] && "                     \
    "tar --version | grep -q \"GNU tar\"; }; } && touch -r \"$2.begun\" \"$2.new\" && " \
    "mv -f \"$2.new\" \"$2\"; code=$?; rm -f \"$2.begun\" \"$2.new\"; exit $code"

static int pack_there(struct copy *copy, const char *path, const char *archive, struct error **err)
{
    json_t *call = json_pack("{s:s, s:[s, s, s, s, s], s:i}", "cmd", "/bin/sh", "args", "-c",
                             PACK_FOLDER, "sh", path, archive, "timeout", RUN_TIMEOUT_S);
    return session_run(copy->cli, &copy->session, call, "cannot pack the folder", NULL, err);
}

/* A link that the user named leads on. One that is found under a name from the sandbox does not:
 * an earlier copy may have made it. */
static int unpack_here(struct copy *copy, const char *archive, const char *target, bool is_named,
                       struct error **err)
{
    uint64_t left_out = 0;
    bool is_new = mkdir(target, 0777) == 0;
    if (!is_new && errno != EEXIST)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot create %s", target);
    autoclose int folder =
        open(target, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_named ? 0 : O_NOFOLLOW));
    if (folder < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot open the folder %s", target);
    int rc = unpack(folder, archive, is_new, &left_out, err);
    if (left_out)
        output_note(copy->cli, "left out %llu devices and FIFOs", (unsigned long long)left_out);
    return rc;
}

static int fetch_archive(struct copy *copy, const char *archive, const char *here,
                         struct error **err)
{
    remote_entry_auto entry = {.path = NULL};
    if (remote_look(copy->cli, &copy->session, archive, &entry, err) < 0)
        return -1;
    if (receive_file(copy, &entry, here, err) < 0)
        return error_context(err, "the copy stopped; repeat it to continue from here");
    return 0;
}

static int receive_folder(struct copy *copy, const char *path, const char *target, bool is_named,
                          struct error **err)
{
    error_auto ignored = NULL;
    json_auto_t *answer = NULL;
    autofree char *here = unfinished(target, path);
    autofree char *archive = xasprintf("/tmp/.%s", path_base(here));
    if (pack_there(copy, path, archive, err) < 0 || fetch_archive(copy, archive, here, err) < 0)
        return -1;
    int rc = unpack_here(copy, here, target, is_named, err);
    unlink(here);
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
        return error_set(err, ERR_NOT_FOUND, "the sandbox has no file %s", entry.path);
    if (str_equal(target, "-"))
        return receive_bytes(copy, entry.path, stdout, 0, -1, NULL, err);
    bool is_folder = stat(target, &status) == 0 && S_ISDIR(status.st_mode);
    autofree char *name = remote_name(path, copy->sandbox);
    autofree char *place = target_path(target, is_folder, name);
    bool is_named = str_equal(place, target);
    return entry.is_folder ? receive_folder(copy, entry.path, place, is_named, err)
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
        return cli_misuse(err, "give one SANDBOX:PATH and one path of this machine");
    copy.sandbox = sandbox;
    copy.shown = progress_is_wanted() ? path_base(up ? source : path) : NULL;
    int rc = session_open(call->cli, sandbox, &copy.session, err);
    if (rc == 0)
        rc = up ? copy_up(&copy, source, path, err) : copy_down(&copy, path, target, err);
    session_close(&copy.session);
    return rc;
}
