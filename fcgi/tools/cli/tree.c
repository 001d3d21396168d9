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

#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/places.h"

#define DEPTH_MAX       1000
#define ENTRIES_MAX     1000000
#define LINKS_TIMEOUT_S 300

/* The text of an entry has its type and mode, and of a file also the size and time. */
#define TEXT_SIZE   96
#define TEXT_LINK   "link"
#define TEXT_FOLDER "folder"

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

static json_t *text_of(const json_t *entry)
{
    const char *permissions = json_string_value(json_object_get(entry, "permissions"));
    const char *type = json_string_value(json_object_get(entry, "type"));
    const char *size = json_string_value(json_object_get(entry, "size"));
    const char *modified = json_string_value(json_object_get(entry, "modifiedTime"));
    unsigned mode = (unsigned)json_integer_value(json_object_get(entry, "mode"));
    if (permissions && permissions[0] == 'L')
        return json_string(TEXT_LINK);
    if (str_equal(type, "FILE_TYPE_DIRECTORY"))
        return json_sprintf(TEXT_FOLDER " %o", mode);
    if (str_equal(type, "FILE_TYPE_FILE"))
        return json_sprintf("file %o %.20s %.40s", mode, size ? size : "",
                            modified ? modified : "");
    return json_string("other");
}

/* Return the part of a path below there; NULL: the path is not below. */
static const char *below_there(const struct tree *tree, const char *path)
{
    size_t length = strlen(tree->there);
    if (str_ends_with(tree->there, "/")) /* the root */
        length--;
    return !strncmp(path, tree->there, length) && path[length] == '/' && path[length + 1]
               ? path + length + 1
               : NULL;
}

static int take_entry(struct tree *tree, const json_t *entry, json_t *folders, struct error **err)
{
    const char *whole = json_string_value(json_object_get(entry, "path"));
    const char *path = whole ? below_there(tree, whole) : NULL;
    if (!path || json_object_get(tree->entries, path))
        return 0;
    if (json_object_size(tree->entries) == ENTRIES_MAX)
        return error_set(err, ERR_INVALID_REQUEST, "%s in the sandbox has more than %d files",
                         tree->there, ENTRIES_MAX);
    json_object_set_new(tree->entries, path, text_of(entry));
    if (folders && tree_has_folder(tree, path))
        json_array_append_new(folders, json_string(path));
    return 0;
}

/* Find the end of the JSON object that begins at text; NULL: it is cut off. */
static const char *end_of_object(const char *text, const char *end)
{
    unsigned depth = 0;
    bool in_string = false;
    for (; text < end; text++) {
        if (in_string && *text == '\\')
            text++;
        else if (*text == '"')
            in_string = !in_string;
        else if (!in_string && *text == '{')
            depth++;
        else if (!in_string && *text == '}' && --depth == 0)
            return text + 1;
    }
    return NULL;
}

/* One by one: the whole has more values than a document from outside can have (base/json_read.h).
 */
int tree_take_list(struct tree *tree, const struct buffer *answer, json_t *folders,
                   struct error **err)
{
    const char *end = buffer_string(answer) + answer->size;
    const char *at = strchr(buffer_string(answer), '[');
    while (at && (at = memchr(at, '{', (size_t)(end - at)))) {
        const char *stop = end_of_object(at, end);
        json_auto_t *entry = stop ? json_read(at, (size_t)(stop - at), 0, NULL) : NULL;
        if (!entry)
            return error_set(err, ERR_INTERNAL, "the sandbox sent a list that is not JSON");
        if (take_entry(tree, entry, folders, err) < 0)
            return -1;
        at = stop;
    }
    return 0;
}

/* List a folder below there; "": the whole. If it has too many entries for one answer, list one
 * level; the folders of this level then wait for their turn. One that is gone has no entries. */
static int list_below(struct tree *tree, const char *below, json_t *waiting, struct error **err)
{
    buffer_auto answer = BUFFER_INIT(0);
    autofree char *path = xasprintf("%s%s%s", tree->there, *below ? "/" : "", below);
    if (remote_list(tree->cli, tree->session, path, DEPTH_MAX, &answer, err) == 0)
        return tree_take_list(tree, &answer, NULL, err);
    if (*below && error_clear_if(err, ERR_NOT_FOUND))
        return 0;
    if (!error_clear_if(err, ERR_BODY_TOO_LARGE))
        return -1;
    return remote_list(tree->cli, tree->session, path, 1, &answer, err) < 0
               ? -1
               : tree_take_list(tree, &answer, waiting, err);
}

bool tree_has_folder(const struct tree *tree, const char *path)
{
    const char *text = json_string_value(json_object_get(tree->entries, path));
    return text && str_starts_with(text, TEXT_FOLDER);
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
    const char *path;
    const json_t *text;
    bool has_links = false;
    json_auto_t *waiting = json_pack("[s]", "");
    for (size_t i = 0; i < json_array_size(waiting); i++)
        if (list_below(tree, json_string_value(json_array_get(waiting, i)), waiting, err) < 0)
            return -1;
    json_object_foreach (tree->entries, path, text)
        has_links |= str_equal(json_string_value(text), TEXT_LINK);
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

static void write_text(const struct stat *here, char text[TEXT_SIZE])
{
    char modified[48] = "";
    unsigned mode = here->st_mode & 0777;
    struct tm tm;
    if (gmtime_r(&here->st_mtim.tv_sec, &tm))
        strftime(modified, sizeof modified, "%Y-%m-%dT%H:%M:%S", &tm);
    if (S_ISLNK(here->st_mode))
        snprintf(text, TEXT_SIZE, TEXT_LINK);
    else if (S_ISDIR(here->st_mode))
        snprintf(text, TEXT_SIZE, TEXT_FOLDER " %o", mode);
    else
        snprintf(text, TEXT_SIZE, "file %o %lld %s.%09ldZ", mode, (long long)here->st_size,
                 modified, here->st_mtim.tv_nsec);
}

/* Whether the path below both is another here than there, or is missing there (no entry). */
static bool tree_differs(const struct tree *tree, const char *path, const struct stat *here)
{
    char text[TEXT_SIZE];
    write_text(here, text);
    return !str_equal(json_string_value(json_object_get(tree->entries, path)), text) ||
           (S_ISLNK(here->st_mode) && link_differs(tree, path));
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
