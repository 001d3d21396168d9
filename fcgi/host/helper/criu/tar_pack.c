/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/tar_pack.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define FILE_MOST  (64 << 10)
#define DEPTH_MOST 16
#define ID_MOST    07777777u /* the most that a header's field can hold */
#define TIME_MOST  077777777777

struct packing {
    struct buffer out;
    dev_t device;
};

/* Fill the last block, or record, with zeros. */
static void fill_up(struct packing *packing, size_t block)
{
    static const char zeros[TAR_RECORD];
    size_t over = packing->out.size % block;
    if (over)
        buffer_append(&packing->out, zeros, block - over);
}

static void put_number(char *field, size_t size, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%0*llo", (int)size - 1, (unsigned long long)value);
    memcpy(field, text, size);
}

static char type_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return '5';
    case S_IFLNK:
        return '2';
    case S_IFREG:
        return '0';
    default:
        return '\0';
    }
}

/* Return whether a file can be described by this short header. */
static bool is_plain(const struct packing *packing, const char *name, const struct stat *found)
{
    bool folder = S_ISDIR(found->st_mode);
    return type_of(found->st_mode) && strlen(name) < TAR_NAME_SIZE && found->st_uid <= ID_MOST &&
           found->st_gid <= ID_MOST && found->st_mtime >= 0 && found->st_mtime <= TIME_MOST &&
           found->st_dev == packing->device && (folder || found->st_nlink == 1) &&
           (!S_ISREG(found->st_mode) || found->st_size <= FILE_MOST);
}

static void put_header(struct packing *packing, const char *name, const struct stat *found,
                       const char *target)
{
    struct tar_header header = {.type = type_of(found->st_mode), .magic = "ustar", .version = "00"};
    memcpy(header.name, name, strlen(name));
    memcpy(header.target, target, strlen(target));
    put_number(header.mode, sizeof header.mode, found->st_mode & 07777);
    put_number(header.uid, sizeof header.uid, found->st_uid);
    put_number(header.gid, sizeof header.gid, found->st_gid);
    put_number(header.size, sizeof header.size,
               S_ISREG(found->st_mode) ? (uint64_t)found->st_size : 0);
    put_number(header.mtime, sizeof header.mtime, (uint64_t)found->st_mtime);
    put_number(header.checksum, sizeof header.checksum - 1, tar_checksum(&header));
    header.checksum[sizeof header.checksum - 1] = ' ';
    buffer_append(&packing->out, &header, sizeof header);
}

static int pack_folder(struct packing *packing, int fd, const char *path, unsigned depth);

static int pack_file(struct packing *packing, int parent, const char *name, const char *path,
                     const struct stat *found)
{
    size_t size = (size_t)found->st_size;
    autofree char *data = xmalloc(size + 1);
    autoclose int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, data, size + 1);
    if (got != found->st_size)
        return got < 0 ? -1 : 1;
    put_header(packing, path, found, "");
    buffer_append(&packing->out, data, size);
    fill_up(packing, TAR_BLOCK);
    return 0;
}

static int pack_link(struct packing *packing, int parent, const char *name, const char *path,
                     const struct stat *found)
{
    char target[TAR_NAME_SIZE] = "";
    ssize_t size = readlinkat(parent, name, target, sizeof target);
    if (size < 0 || size == sizeof target)
        return size < 0 ? -1 : 1;
    put_header(packing, path, found, target);
    return 0;
}

static int pack_entry(struct packing *packing, int parent, const char *name, const char *path,
                      unsigned depth)
{
    struct stat found;
    if (fstatat(parent, name, &found, AT_SYMLINK_NOFOLLOW) < 0)
        return -1;
    if (packing->out.size > TAR_MOST / 2 || !is_plain(packing, path, &found))
        return 1;
    if (S_ISLNK(found.st_mode))
        return pack_link(packing, parent, name, path, &found);
    if (S_ISREG(found.st_mode))
        return pack_file(packing, parent, name, path, &found);
    autofree char *folder = xasprintf("%s/", path);
    autoclose int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -1 : pack_folder(packing, fd, folder, depth + 1);
}

static int pack_folder(struct packing *packing, int fd, const char *path, unsigned depth)
{
    struct stat found;
    int result = 0;
    if (fstat(fd, &found) < 0)
        return -1;
    if (depth > DEPTH_MOST || !is_plain(packing, path, &found))
        return 1;
    put_header(packing, path, &found, "");
    DIR *entries = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!entries)
        return -1;
    for (const struct dirent *entry; result == 0 && (entry = readdir(entries));) {
        if (str_equal(entry->d_name, ".") || str_equal(entry->d_name, ".."))
            continue;
        autofree char *inner = xasprintf("%s%s", path, entry->d_name);
        result = pack_entry(packing, fd, entry->d_name, inner, depth);
    }
    closedir(entries);
    return result;
}

int tar_pack(const char *folder, char **archive, size_t *size)
{
    static const char end[2 * TAR_BLOCK];
    struct packing packing = {.out = BUFFER_INIT(TAR_MOST)};
    struct stat found;
    autoclose int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &found) < 0)
        return -1;
    packing.device = found.st_dev;
    int result = pack_folder(&packing, fd, "./", 0);
    buffer_append(&packing.out, end, sizeof end);
    fill_up(&packing, TAR_RECORD);
    if (result == 0 && buffer_overflowed(&packing.out))
        result = 1;
    if (result == 0) {
        *size = packing.out.size;
        *archive = xmemdup(packing.out.data, packing.out.size);
    }
    buffer_deinit(&packing.out);
    return result;
}
