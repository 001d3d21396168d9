/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/btrfs/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <search.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"

#define ENTRIES_MOST (UINT64_C(4) << 20)
#define TIME_MAX_MS  120000
/* The size of a folder in btrfs: two bytes for each letter of its names. A folder is sorted in
 * memory, which takes about 300 bytes for each name. */
#define FOLDER_MOST (2 << 20)

#define PIECE_SIZE  (1 << 17)
#define XATTR_MOST  (1 << 16) /* of all names together, and of one value: the limits of Linux */

struct tree {
    crypto_generichash_state hash;
    size_t root_length; /* length of the root's path, which is not hashed */
    uint64_t entries, bytes, bytes_max;
    int64_t end_ms;
    void *linked; /* struct link, by number */
    char *piece;
};

/* A file with several names. It is hashed once; further names are hashed as the entry of the
 * first. */
struct link {
    ino_t number;
    uint64_t first;
};

static void tell(struct tree *tree, const void *data, size_t size)
{
    crypto_generichash_update(&tree->hash, data, size);
}

static void tell_number(struct tree *tree, uint64_t number)
{
    tell(tree, &number, sizeof number);
}

static void tell_text(struct tree *tree, const char *text)
{
    tell(tree, text, strlen(text) + 1);
}

static int too_big(void)
{
    errno = E2BIG;
    return -1;
}

/* --- hard links --- */

static int compare_links(const void *a, const void *b)
{
    ino_t one = ((const struct link *)a)->number, other = ((const struct link *)b)->number;
    return one < other ? -1 : one > other;
}

/* Find the first entry of a file: this one, or an earlier one. */
static int find_first(struct tree *tree, ino_t number, uint64_t own, uint64_t *first)
{
    struct link *link = xmalloc(sizeof *link);
    *link = (struct link){number, own};
    struct link **found = tsearch(link, &tree->linked, compare_links);
    *first = found ? (*found)->first : own;
    if (!found || *found != link)
        free(link);
    return found ? 0 : -1;
}

/* --- one entry --- */

static int tell_xattrs(struct tree *tree, const char *path)
{
    autofree char *names = xmalloc(XATTR_MOST), *value = xmalloc(XATTR_MOST);
    ssize_t size = llistxattr(path, names, XATTR_MOST);
    if (size < 0)
        return errno == ENOTSUP ? 0 : -1;
    for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1) {
        ssize_t length = lgetxattr(path, names + at, value, XATTR_MOST);
        if (length < 0)
            return -1;
        tell_text(tree, names + at);
        tell_number(tree, (uint64_t)length);
        tell(tree, value, (size_t)length);
    }
    return 0;
}

static int tell_extent(struct tree *tree, int fd, off_t from, off_t end)
{
    tell_number(tree, (uint64_t)from);
    tell_number(tree, (uint64_t)end);
    while (from < end) {
        size_t wanted = end - from < PIECE_SIZE ? (size_t)(end - from) : PIECE_SIZE;
        ssize_t count = pread(fd, tree->piece, wanted, from);
        if (count <= 0)
            return -1;
        tree->bytes += (uint64_t)count;
        if (tree->bytes > tree->bytes_max || clock_monotonic_ms() > tree->end_ms)
            return too_big();
        tell(tree, tree->piece, (size_t)count);
        from += count;
    }
    return 0;
}

/* Hash the data of a file. Holes are skipped, so their size does not matter. */
static int tell_data(struct tree *tree, const char *path)
{
    autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    off_t from = 0;
    if (fd < 0)
        return -1;
    for (;;) {
        off_t data = lseek(fd, from, SEEK_DATA);
        if (data < 0)
            return errno == ENXIO ? 0 : -1;
        from = lseek(fd, data, SEEK_HOLE);
        if (from < 0 || tell_extent(tree, fd, data, from) < 0)
            return -1;
    }
}

static int tell_target(struct tree *tree, const char *path)
{
    ssize_t size = readlink(path, tree->piece, PIECE_SIZE);
    if (size >= 0)
        tell(tree, tree->piece, (size_t)size);
    return size < 0 ? -1 : 0;
}

/* Hash the time of a file. The time of a folder depends on the copy, so it is set to the epoch. */
static int tell_time(struct tree *tree, const char *path, const struct stat *found)
{
    const struct timespec epoch[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 0}};
    if (S_ISDIR(found->st_mode))
        return utimensat(AT_FDCWD, path, epoch, AT_SYMLINK_NOFOLLOW);
    tell_number(tree, (uint64_t)found->st_mtim.tv_sec);
    tell_number(tree, (uint64_t)found->st_mtim.tv_nsec);
    return 0;
}

static int tell_inode(struct tree *tree, const char *path, const struct stat *found)
{
    tell_number(tree, found->st_mode);
    tell_number(tree, found->st_uid);
    tell_number(tree, found->st_gid);
    tell_number(tree, found->st_rdev);
    if (tell_time(tree, path, found) < 0 || tell_xattrs(tree, path) < 0)
        return -1;
    if (S_ISLNK(found->st_mode))
        return tell_target(tree, path);
    if (!S_ISREG(found->st_mode))
        return 0;
    tell_number(tree, (uint64_t)found->st_size);
    return tell_data(tree, path);
}

static int tell_entry(struct tree *tree, const FTSENT *entry)
{
    const struct stat *found = entry->fts_statp;
    uint64_t own = tree->entries++, first = own;
    if (tree->entries > ENTRIES_MOST || clock_monotonic_ms() > tree->end_ms ||
        (S_ISDIR(found->st_mode) && found->st_size > FOLDER_MOST))
        return too_big();
    tell_text(tree, entry->fts_path + tree->root_length);
    if (!S_ISDIR(found->st_mode) && found->st_nlink > 1) {
        if (find_first(tree, found->st_ino, own, &first) < 0)
            return -1;
        tell_number(tree, first);
    }
    return first != own ? 0 : tell_inode(tree, entry->fts_accpath, found);
}

/* --- all entries --- */

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int walk(struct tree *tree, FTS *files)
{
    FTSENT *entry;
    for (errno = 0; (entry = fts_read(files)); errno = 0) {
        switch (entry->fts_info) {
        case FTS_DP:
            break;
        case FTS_DNR:
        case FTS_ERR:
        case FTS_NS:
            errno = entry->fts_errno;
            return -1;
        default:
            if (tell_entry(tree, entry) < 0)
                return -1;
        }
    }
    return errno ? -1 : 0;
}

int tree_digest(const char *path, uint64_t bytes_max, unsigned char digest[TREE_DIGEST_SIZE])
{
    autofree char *root = xstrdup(path);
    autofree char *piece = xmalloc(PIECE_SIZE);
    char *const roots[] = {root, NULL};
    struct tree tree = {
        .root_length = strlen(path),
        .piece = piece,
        .bytes_max = bytes_max < TREE_BYTES_MAX ? bytes_max : TREE_BYTES_MAX,
        .end_ms = clock_monotonic_ms() + TIME_MAX_MS,
    };
    FTS *files = sodium_init() < 0 ? NULL : fts_open(roots, FTS_PHYSICAL | FTS_XDEV, by_name);
    if (!files)
        return -1;
    crypto_generichash_init(&tree.hash, NULL, 0, TREE_DIGEST_SIZE);
    int result = walk(&tree, files), saved = errno;
    crypto_generichash_final(&tree.hash, digest, TREE_DIGEST_SIZE);
    tdestroy(tree.linked, free);
    fts_close(files);
    errno = saved;
    return result;
}
