/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "helper/criu/tar_pack.h"

/* An entry that was read from an archive. */
struct entry {
    const struct tar_header *header;
    const char *data;
    size_t size;
    char name[TAR_NAME_SIZE + 1], target[TAR_NAME_SIZE + 1];
};

/* --- reading --- */

/* Return whether a name has the form of tar_pack(), which tar writes too. */
static bool name_is_plain(const char *name)
{
    return str_starts_with(name, "./") && !strstr(name, "/../") && !str_ends_with(name, "/..") &&
           !strstr(name, "//");
}

static bool numbers_are_plain(const struct tar_header *header)
{
    unsigned long value;
    return tar_number(header->mode, sizeof header->mode, &value) &&
           tar_number(header->uid, sizeof header->uid, &value) &&
           tar_number(header->gid, sizeof header->gid, &value) &&
           tar_number(header->mtime, sizeof header->mtime, &value) &&
           tar_number(header->checksum, sizeof header->checksum, &value) &&
           value == tar_checksum(header);
}

/* Read the next entry, and move offset behind it. Returns false when this code cannot create its
 * kind. */
static bool take_entry(const char *archive, size_t size, size_t *offset, struct entry *entry)
{
    const struct tar_header *header = (const void *)(archive + *offset);
    unsigned long length;
    *entry = (struct entry){.header = header, .data = archive + *offset + TAR_BLOCK};
    memcpy(entry->name, header->name, TAR_NAME_SIZE);
    memcpy(entry->target, header->target, TAR_NAME_SIZE);
    if (memcmp(header->magic, "ustar", strlen("ustar")) != 0 || !strchr("025", header->type) ||
        !header->type || header->user[0] || header->prefix[0] || !name_is_plain(entry->name) ||
        !numbers_are_plain(header) || !tar_number(header->size, sizeof header->size, &length) ||
        length > size - *offset - TAR_BLOCK || (header->type != '0' && length))
        return false;
    entry->size = length;
    *offset += TAR_BLOCK + (length + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
    return true;
}

static bool is_end(const char *archive, size_t size, size_t offset)
{
    static const char zeros[TAR_BLOCK];
    return offset + TAR_BLOCK <= size && !memcmp(archive + offset, zeros, TAR_BLOCK);
}

/* Call act() for each entry; act may be NULL. Returns 1 when an entry has another kind. */
static int for_each(const char *archive, size_t size, int (*act)(int root, const struct entry *),
                    int root)
{
    size_t offset = 0;
    struct entry entry;
    int result = 0;
    while (result == 0 && !is_end(archive, size, offset)) {
        if (offset + TAR_BLOCK > size || !take_entry(archive, size, &offset, &entry))
            return 1;
        result = act ? act(root, &entry) : 0;
    }
    return result;
}

/* --- making --- */

/* Open the folder of an entry, without following links. *last: the entry's name there. */
static int open_parent(int root, const char *name, const char **last)
{
    const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    autofree char *path = xstrdup(name);
    size_t length = strlen(path);
    if (length > 2 && path[length - 1] == '/')
        path[--length] = '\0';
    char *slash = strrchr(path, '/');
    *last = name + (slash - path) + 1;
    slash[1] = '\0';
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

static unsigned long number(const char *field, size_t size)
{
    unsigned long value;
    return tar_number(field, size, &value) ? value : 0;
}

static int write_data(int parent, const char *name, const struct entry *entry)
{
    autoclose int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd >= 0 && write(fd, entry->data, entry->size) == (ssize_t)entry->size ? 0 : -1;
}

static int make_at(int parent, const char *name, const struct entry *entry)
{
    switch (entry->header->type) {
    case '5':
        return mkdirat(parent, name, 0700) < 0 && errno != EEXIST ? -1 : 0;
    case '2':
        unlinkat(parent, name, 0);
        return symlinkat(entry->target, parent, name);
    default:
        unlinkat(parent, name, 0);
        return write_data(parent, name, entry);
    }
}

static int own_at(int parent, const char *name, const struct tar_header *header)
{
    mode_t mode = (mode_t)number(header->mode, sizeof header->mode);
    if (fchownat(parent, name, (uid_t)number(header->uid, sizeof header->uid),
                 (gid_t)number(header->gid, sizeof header->gid), AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    return header->type == '2' ? 0 : fchmodat(parent, name, mode, 0);
}

/* Return the name of an entry in its folder; the name of "./" itself is ".". */
static const char *name_in(const char *last, char out[TAR_NAME_SIZE + 1])
{
    size_t length = strcspn(last, "/");
    memcpy(out, length ? last : ".", length ? length : 1);
    out[length ? length : 1] = '\0';
    return out;
}

static int make(int root, const struct entry *entry)
{
    char name[TAR_NAME_SIZE + 1];
    const char *last;
    autoclose int parent = open_parent(root, entry->name, &last);
    if (parent < 0)
        return -1;
    name_in(last, name);
    if (!str_equal(name, ".") && make_at(parent, name, entry) < 0)
        return -1;
    return own_at(parent, name, entry->header);
}

/* Set the time of an entry. This comes last, because creating files changes the times of
 * folders. */
static int set_time(int root, const struct entry *entry)
{
    char name[TAR_NAME_SIZE + 1];
    const char *last;
    const struct tar_header *header = entry->header;
    autoclose int parent = open_parent(root, entry->name, &last);
    struct timespec times[2] = {{.tv_nsec = UTIME_NOW},
                                {.tv_sec = (time_t)number(header->mtime, sizeof header->mtime)}};
    if (parent < 0)
        return -1;
    return utimensat(parent, name_in(last, name), times, AT_SYMLINK_NOFOLLOW);
}

int tar_unpack(const char *folder, const char *archive, size_t size)
{
    int result = for_each(archive, size, NULL, -1);
    if (result)
        return result;
    autoclose int root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return root >= 0 && for_each(archive, size, make, root) == 0 &&
                   for_each(archive, size, set_time, root) == 0
               ? 0
               : -1;
}
