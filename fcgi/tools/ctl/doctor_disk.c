/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The storage pool of a host that is this machine, from the outside: its reserve, the space that
 * deleted sandboxes still occupy, its encryption, and the file system of a pool that is a file.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "base/mem.h"
#include "base/str.h"
#include "ctl/doctor.h"
#include "host/host.h"

#define BTRFS_DIR      "/sys/fs/btrfs"
#define GUARD_DIR      "/run/sandlot-pool" /* of fcgi/host/helper/guard */
#define STACKED_MAX    8                   /* devices upon devices, and files upon devices */
#define ROOM_SHARE     20                  /* less than the twentieth part is nearly nothing */
#define ORPHANS_NOTICE (UINT64_C(1) << 30)

/* Read the first line of a file of the kernel; "" without one. */
static const char *read_line(const char *path, char *out, size_t size)
{
    autofclose FILE *file = fopen(path, "re");
    if (!file || !fgets(out, (int)size, file))
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return out;
}

/* Incus mounts its pools beside its socket. *type and *source are of fixed size. Returns -1 when
 * the pool is not mounted there, a directory for one. */
static int find_mount(const struct host *host, char type[32], char source[256])
{
    autofree char *directory = xstrdup(host->url + strlen("unix://"));
    char *slash = strrchr(directory, '/');
    *slash = '\0';
    autofree char *wanted = xasprintf("%s/storage-pools/%s", directory, host->pool);
    char line[4096], target[2048];
    autofclose FILE *mounts = fopen("/proc/self/mounts", "re");
    while (mounts && fgets(line, sizeof line, mounts))
        if (sscanf(line, "%255s %2047s %31s", source, target, type) == 3 && !strcmp(target, wanted))
            return 0;
    return -1;
}

/* --- encryption --- */

static bool is_encrypted(dev_t device, unsigned depth);

static bool slave_is_encrypted(const char *directory, unsigned depth)
{
    struct dirent *entry;
    DIR *slaves = opendir(directory);
    bool found = false;
    while (slaves && !found && (entry = readdir(slaves))) {
        unsigned major_number, minor_number;
        char number[32];
        autofree char *path = xasprintf("%s/%s/dev", directory, entry->d_name);
        if (sscanf(read_line(path, number, sizeof number), "%u:%u", &major_number, &minor_number) ==
            2)
            found = is_encrypted(makedev(major_number, minor_number), depth + 1);
    }
    if (slaves)
        closedir(slaves);
    return found;
}

/* Whether a block device is one of dm-crypt, or lies on one, through volume groups and files. */
static bool is_encrypted(dev_t device, unsigned depth)
{
    autofree char *directory = xasprintf("/sys/dev/block/%u:%u", major(device), minor(device));
    autofree char *uuid = xasprintf("%s/dm/uuid", directory);
    autofree char *loop = xasprintf("%s/loop/backing_file", directory);
    autofree char *slaves = xasprintf("%s/slaves", directory);
    char text[4096];
    struct stat file;
    if (depth > STACKED_MAX)
        return false;
    if (str_starts_with(read_line(uuid, text, sizeof text), "CRYPT-"))
        return true;
    if (*read_line(loop, text, sizeof text) && stat(text, &file) == 0)
        return is_encrypted(file.st_dev, depth + 1);
    return slave_is_encrypted(slaves, depth);
}

static void check_encryption(struct doctor *doctor, const struct host *host, const char *source)
{
    struct stat device;
    if (stat(source, &device) < 0 || !S_ISBLK(device.st_mode))
        return;
    if (is_encrypted(device.st_rdev, 0))
        doctor_ok(doctor, "encryption",
                  "Storage pool %s of %s is encrypted, including the memory of paused sandboxes.",
                  host->pool, host->name);
    else
        doctor_note(doctor, "encryption",
                    "Storage pool %s of %s is not encrypted: the disks of sandboxes, and the "
                    "memory of paused sandboxes with their environments, are readable on %s. To "
                    "encrypt them, see doc/howto/encrypt-the-pool.md.",
                    host->pool, host->name, source);
}

/* --- a pool that is a file --- */

/* The file has holes, which other files of its file system may fill first. */
void doctor_report_growth(struct doctor *doctor, const struct host *host, uint64_t growth,
                          uint64_t free_bytes, uint64_t total)
{
    static const char format[] =
        "The file of storage pool %s of %s can grow by %.1f GiB, and its file system has %.1f GiB "
        "left. When this is full, writes of all sandboxes of the host fail.";
    double growth_gb = (double)growth / (1 << 30), free_gb = (double)free_bytes / (1 << 30);
    if (growth <= free_bytes)
        return;
    if (free_bytes < total / ROOM_SHARE)
        doctor_wrong(doctor, "pool",
                     "Free or add space on the file system with the disks of Incus "
                     "(/var/lib/incus/disks).",
                     format, host->pool, host->name, growth_gb, free_gb);
    else
        doctor_note(doctor, "pool", format, host->pool, host->name, growth_gb, free_gb);
}

static void check_growth(struct doctor *doctor, const struct host *host, const char *source)
{
    char path[4096];
    struct stat device, file;
    struct statvfs room;
    if (stat(source, &device) < 0 || !S_ISBLK(device.st_mode))
        return;
    autofree char *backing = xasprintf("/sys/dev/block/%u:%u/loop/backing_file",
                                       major(device.st_rdev), minor(device.st_rdev));
    if (!*read_line(backing, path, sizeof path) || stat(path, &file) < 0 ||
        statvfs(path, &room) < 0)
        return;
    uint64_t size = (uint64_t)file.st_size, used = (uint64_t)file.st_blocks * 512;
    doctor_report_growth(doctor, host, size > used ? size - used : 0,
                         (uint64_t)room.f_bavail * room.f_frsize,
                         (uint64_t)room.f_blocks * room.f_frsize);
}

/* --- quota groups --- */

/* The file system of a block device, as the kernel names it. Returns -1 when it is not there. */
static int find_uuid(const char *source, char uuid[64])
{
    struct dirent *entry;
    const char *name = strrchr(source, '/');
    char resolved[64] = "";
    struct stat device;
    if (!name || stat(source, &device) < 0)
        return -1;
    /* /dev/mapper/x is known as dm-0. */
    autofree char *link =
        xasprintf("/sys/dev/block/%u:%u/dm/name", major(device.st_rdev), minor(device.st_rdev));
    if (*read_line(link, resolved, sizeof resolved))
        snprintf(resolved, sizeof resolved, "dm-%u", minor(device.st_rdev));
    else
        snprintf(resolved, sizeof resolved, "%s", name + 1);
    DIR *all = opendir(BTRFS_DIR);
    int result = -1;
    while (all && result < 0 && (entry = readdir(all))) {
        autofree char *path = xasprintf(BTRFS_DIR "/%s/devices/%s", entry->d_name, resolved);
        if (strlen(entry->d_name) < 64 && stat(path, &device) == 0) {
            memcpy(uuid, entry->d_name, strlen(entry->d_name) + 1);
            result = 0;
        }
    }
    if (all)
        closedir(all);
    return result;
}

static void check_guard(struct doctor *doctor, const struct host *host, const char *uuid)
{
    char text[64];
    autofree char *path = xasprintf(BTRFS_DIR "/%s/qgroups/1_0/max_referenced", uuid);
    uint64_t limit = strtoull(read_line(path, text, sizeof text), NULL, 10);
    if (limit)
        doctor_ok(doctor, "reserve",
                  "Storage pool %s of %s has a reserve that sandboxes cannot use.", host->pool,
                  host->name);
    else
        doctor_wrong(doctor, "reserve",
                     "Start sandlot-pool on the host. The storage pool needs simple quotas (`btrfs "
                     "quota enable --simple`).",
                     "Storage pool %s of %s has no reserve: one sandbox can fill it. Then pauses "
                     "of all other sandboxes lose their memory.",
                     host->pool, host->name);
}

static void check_orphans(struct doctor *doctor, const struct host *host, const char *uuid)
{
    char text[64];
    autofree char *path = xasprintf(GUARD_DIR "/%s", uuid);
    uint64_t orphans = strtoull(read_line(path, text, sizeof text), NULL, 10);
    if (orphans >= ORPHANS_NOTICE)
        doctor_note(doctor, "quota",
                    "%.1f GiB of storage pool %s of %s were written by deleted sandboxes; "
                    "checkpoints and templates still use them.",
                    (double)orphans / (1 << 30), host->pool, host->name);
}

void doctor_check_disk(struct doctor *doctor, const struct host *host)
{
    char type[32], source[256], uuid[64];
    if (!str_starts_with(host->url, "unix:///") || find_mount(host, type, source) < 0)
        return;
    check_encryption(doctor, host, source);
    check_growth(doctor, host, source);
    if (strcmp(type, "btrfs") != 0 || find_uuid(source, uuid) < 0)
        return;
    check_guard(doctor, host, uuid);
    check_orphans(doctor, host, uuid);
}
