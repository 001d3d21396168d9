/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/context.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/api.h"
#include "cli/ignore.h"
#include "cli/input.h"
#include "cli/places.h"
#include "cli/progress.h"

#define DEPTH_MAX 200
#define LIST_MAX  (64 * 1024 * 1024)

struct walk {
    const char *folder;
    struct ignore ignore;
    struct buffer list; /* paths, each with its NUL */
    size_t entries;
};

/* --- the list of files --- */

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int walk_folder(struct walk *walk, const char *below, unsigned depth, struct error **err);

static int take_entry(struct walk *walk, const char *path, unsigned depth, struct error **err)
{
    autofree char *whole = xasprintf("%s/%s", walk->folder, path);
    struct stat status;
    if (lstat(whole, &status) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot read %s", whole);
    bool is_folder = S_ISDIR(status.st_mode);
    bool is_ignored = ignore_has(&walk->ignore, path);
    /* An exception may be below an ignored folder. */
    if (is_ignored && !(is_folder && walk->ignore.has_exceptions))
        return 0;
    if (!is_folder && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
        return 0;
    if (!is_ignored) {
        buffer_append(&walk->list, path, strlen(path) + 1);
        if (++walk->entries > CONTEXT_ENTRIES_MAX || buffer_overflowed(&walk->list))
            return error_set(err, ERR_INVALID_REQUEST,
                             "%s has more than %d files: add the files that it "
                             "does not need to .dockerignore",
                             walk->folder, CONTEXT_ENTRIES_MAX);
    }
    return is_folder ? walk_folder(walk, path, depth + 1, err) : 0;
}

static int walk_folder(struct walk *walk, const char *below, unsigned depth, struct error **err)
{
    autofree char *whole = xasprintf("%s/%s", walk->folder, below);
    struct dirent **entries = NULL;
    int result = 0, count = depth < DEPTH_MAX ? scandir(whole, &entries, NULL, by_name) : -1;
    if (count < 0)
        return error_set_errno(err, ERR_INTERNAL, depth < DEPTH_MAX ? errno : ELOOP,
                               "cannot read the folder %s", whole);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        autofree char *path = *below ? xasprintf("%s/%s", below, name) : xstrdup(name);
        if (result == 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            result = take_entry(walk, path, depth, err);
        free(entries[i]);
    }
    free(entries);
    return result;
}

/* --- the archive --- */

/* Copy the archive into the file, and make its hash. */
static int keep_archive(struct context *context, FILE *from, struct error **err)
{
    unsigned char sum[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    char bytes[65536];
    size_t size;
    context->archive = tmpfile();
    if (!context->archive)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot create a temporary file");
    crypto_hash_sha256_init(&state);
    while ((size = fread(bytes, 1, sizeof bytes, from)) > 0) {
        crypto_hash_sha256_update(&state, (const unsigned char *)bytes, size);
        context->size += (int64_t)size;
        if (context->size > CONTEXT_BYTES_MAX)
            return error_set(err, ERR_INVALID_REQUEST,
                             "the files of the build have more than %lld MiB when packed: add "
                             "the files that it does not need to .dockerignore",
                             CONTEXT_BYTES_MAX >> 20);
        if (fwrite(bytes, 1, size, context->archive) != size)
            return error_set_errno(err, ERR_INTERNAL, errno, "cannot write a temporary file");
    }
    crypto_hash_sha256_final(&state, sum);
    sodium_bin2hex(context->hash, sizeof context->hash, sum, sizeof sum);
    return 0;
}

static int pack_list(struct context *context, const struct walk *walk, struct error **err)
{
    char name[] = "/tmp/sandlot-context-XXXXXX";
    autoclose int fd = mkostemp(name, O_CLOEXEC);
    /* Neither the time of the last access nor the owner changes the archive. */
    const char *const argv[] = {
        "tar",    "--format=gnu", "--owner=0", "--group=0",  "--numeric-owner",
        "-I",     "gzip -n",      "-C",        walk->folder, "--no-recursion",
        "--null", "-T",           name,        "-cf",        "-",
        NULL};
    FILE *archive;
    pid_t pid;
    error_auto failed = NULL;
    if (fd < 0 || write(fd, walk->list.data, walk->list.size) != (ssize_t)walk->list.size)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot write %s", name);
    int result = local_tar(argv, &archive, &pid, err);
    if (result == 0) {
        result = keep_archive(context, archive, err);
        fclose(archive);
        if (local_tar_end(pid, &failed) < 0 && result == 0)
            result = error_move(err, &failed);
    }
    unlink(name);
    return result;
}

int context_pack(struct context *context, const char *folder, const char *ignore_file,
                 struct error **err)
{
    struct walk walk = {.folder = folder, .list = BUFFER_INIT(LIST_MAX)};
    autofree char *patterns = NULL;
    if (access(ignore_file, F_OK) == 0 &&
        input_file(ignore_file, IGNORE_FILE_MAX, &patterns, err) < 0)
        return -1;
    int result = ignore_read(&walk.ignore, patterns ? patterns : "", err);
    if (result == 0)
        result = walk_folder(&walk, "", 0, err);
    if (result == 0)
        result = pack_list(context, &walk, err);
    ignore_deinit(&walk.ignore);
    buffer_deinit(&walk.list);
    return result;
}

int context_upload(struct cli *cli, struct context *context, const char *team, struct error **err)
{
    autofree char *query = api_path("?team=", "", team ? team : "");
    autofree char *url =
        xasprintf("%s/v1/template_files/%s%s", cli->url, context->hash, team ? query : "");
    autowipe char *authorization = xasprintf("Authorization: Bearer %s", cli->key);
    rewind(context->archive);
    exchange_auto exchange = {
        .method = "PUT",
        .url = url,
        .headers = {authorization, "Content-Type: application/octet-stream"},
        .upload = context->archive,
        .upload_size = context->size,
        .shown = progress_is_wanted() ? "context" : NULL,
        .shown_size = context->size,
    };
    if (exchange_run(cli, &exchange, err) < 0)
        return -1;
    return exchange.status == 201 ? 0 : api_error(&exchange, err);
}

void context_deinit(struct context *context)
{
    if (context->archive)
        fclose(context->archive);
}
