/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/places.h"

#define DEPTH_MAX       1000
#define LINKS_TIMEOUT_S 300

void tree_init(struct tree *tree, struct cli *cli, const struct session *session, const char *here,
               const char *there)
{
    *tree = (struct tree){cli, session, here, there, json_object(), json_object()};
}

void tree_deinit(struct tree *tree)
{
    json_decref(tree->entries);
    json_decref(tree->links);
}

/* --- the remote folder --- */

static bool tree_is_link(const json_t *entry)
{
    const char *permissions = json_string_value(json_object_get(entry, "permissions"));
    return permissions && permissions[0] == 'L';
}

/* The targets of the remote links, in pairs of lines; a link with a line break is left out. */
#define LIST_LINKS                                                   \
    "cd \"$1\" && find . -type l -exec /bin/sh -c '"                 \
    "for p; do t=$(readlink \"$p\"); case \"$p$t\" in *\"\n\"*) ;; " \
    "*) printf \"%s\\n%s\\n\" \"${p#./}\" \"$t\" ;; esac; done' sh {} +"

/* Links without a known target are sent again, so a failure here does not end the copy. */
static void list_links(struct tree *tree)
{
    autofree char *said = NULL;
    error_auto ignored = NULL;
    json_t *call = json_pack("{s:s, s:[s, s, s, s], s:i}", "cmd", "/bin/sh", "args", "-c",
                             LIST_LINKS, "sh", tree->there, "timeout", LINKS_TIMEOUT_S);
    if (session_run(tree->cli, tree->session, call, "cannot read the links in the sandbox", &said,
                    &ignored) < 0)
        return;
    for (char *path = said, *says, *end; path && (says = strchr(path, '\n')); path = end + 1) {
        *says++ = '\0';
        end = strchr(says, '\n');
        if (!end)
            return;
        *end = '\0';
        json_object_set_new(tree->links, path, json_string(says));
    }
}

int tree_list(struct tree *tree, struct error **err)
{
    json_auto_t *answer = NULL;
    size_t index, length = strlen(tree->there);
    json_t *entry;
    bool has_links = false;
    json_t *message = json_pack("{s:s, s:i}", "path", tree->there, "depth", DEPTH_MAX);
    if (remote_call(tree->cli, tree->session, "ListDir", message, &answer, err) < 0)
        return -1;
    json_array_foreach (json_object_get(answer, "entries"), index, entry) {
        const char *path = json_string_value(json_object_get(entry, "path"));
        if (path && strlen(path) > length + 1)
            json_object_set(tree->entries, path + length + 1, entry);
        has_links |= tree_is_link(entry);
    }
    if (has_links)
        list_links(tree);
    return 0;
}

/* --- differences --- */

static bool link_differs(const struct tree *tree, const char *path)
{
    char says[PATH_MAX];
    autofree char *whole = xasprintf("%s/%s", tree->here, path);
    ssize_t size = readlink(whole, says, sizeof says - 1);
    if (size < 0)
        return true;
    says[size] = '\0';
    return !str_equal(json_string_value(json_object_get(tree->links, path)), says);
}

/* Modes of files and folders, sizes and times of files. */
static bool entry_differs(const struct stat *here, const json_t *there)
{
    const char *type = json_string_value(json_object_get(there, "type"));
    const char *size = json_string_value(json_object_get(there, "size"));
    const char *modified = json_string_value(json_object_get(there, "modifiedTime"));
    char text[48] = "";
    struct tm tm;
    if (!there || S_ISLNK(here->st_mode) || tree_is_link(there) ||
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

/* Whether the path below both is another here than there, or is missing there (no entry). */
static bool tree_differs(const struct tree *tree, const char *path, const struct stat *here)
{
    const json_t *there = json_object_get(tree->entries, path);
    bool are_links = S_ISLNK(here->st_mode) && there && tree_is_link(there);
    return are_links ? link_differs(tree, path) : entry_differs(here, there);
}

/* --- the local folder --- */

struct walk {
    struct tree *tree;
    tree_take *take;
    void *context;
};

static int walk(const struct walk *how, const char *below, struct error **err);

static int look(const struct walk *how, const char *path, struct error **err)
{
    struct tree *tree = how->tree;
    struct stat status;
    autofree char *whole = xasprintf("%s/%s", tree->here, path);
    if (lstat(whole, &status) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot read %s", whole);
    if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode) && !S_ISLNK(status.st_mode))
        return 0;
    if (how->take(how->context, path, &status, tree_differs(tree, path, &status), err) < 0)
        return -1;
    json_object_del(tree->entries, path);
    return S_ISDIR(status.st_mode) ? walk(how, path, err) : 0;
}

static int walk(const struct walk *how, const char *below, struct error **err)
{
    autofree char *folder = xasprintf("%s/%s", how->tree->here, below);
    DIR *stream = opendir(folder);
    const struct dirent *entry;
    int rc = 0;
    if (!stream)
        return error_set_errno(err, ERR_NOT_FOUND, errno, "cannot read %s", folder);
    while (rc == 0 && (entry = readdir(stream))) {
        if (str_is_choice(".|..", entry->d_name))
            continue;
        autofree char *path = xasprintf("%s%s%s", below, *below ? "/" : "", entry->d_name);
        rc = look(how, path, err);
    }
    closedir(stream);
    return rc;
}

int tree_walk(struct tree *tree, tree_take *take, void *context, struct error **err)
{
    const struct walk how = {tree, take, context};
    return walk(&how, "", err);
}

/* --- sending --- */

int tree_send(const struct tree *tree, const struct buffer *list, struct error **err)
{
    char name[32];
    /* tar inherits the descriptor, and opens the list again. A killed command leaves no file. */
    autoclose int fd = memfd_create("sandlot-sync", 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const char *const argv[] = {"tar",
                                "--format=posix",
                                "-C",
                                tree->here,
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
    if (fd < 0 || write(fd, list->data, list->size) != (ssize_t)list->size)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot list the files");
    int rc = local_tar(argv, &archive, &pid, err);
    if (rc == 0) {
        rc = remote_unpack(tree->cli, tree->session, archive, tree->there, err);
        fclose(archive);
        if (local_tar_end(pid, &failed) < 0 && rc == 0)
            rc = error_move(err, &failed);
    }
    return rc;
}
