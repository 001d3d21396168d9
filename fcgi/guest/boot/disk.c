/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The image of a template has a partition table, a partition for the firmware, and one with the
 * root's ext4. The machine's disk is larger, by the size of its sandbox, and may grow between two
 * boots. The entry of the root's partition stays as it is: only the kernel learns the new end, at
 * each boot. (So the table has the form of the MBR. The firmware rewrites the second copy of a GPT,
 * which would be in the middle of the file system.)
 */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/blkpg.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "boot/boot.h"

/* linux/ext4.h is not among the kernel's public headers. */
#define RESIZE_EXT4    _IOW('f', 16, uint64_t)

#define ROOT_PARTITION 2
#define BLOCK_BYTES    4096 /* of the file system, as scripts/lib/template-machine.sh makes it */
#define SECTOR_BYTES   512  /* the unit of /sys/block */
#define WAIT_MS        60000
#define STEP_MS        10

/* Where Incus shows the root disk: on a SCSI controller, or as a virtio disk. */
static const char *const disks[] = {"sda", "vda"};

static void say(const char *what, const char *name)
{
    fprintf(stderr, "sandlot-boot: cannot %s %s: %m\n", what, name);
}

static const char *find_disk(void)
{
    char path[32];
    for (size_t i = 0; i < sizeof disks / sizeof *disks; i++) {
        snprintf(path, sizeof path, "/dev/%s%d", disks[i], ROOT_PARTITION);
        if (access(path, F_OK) == 0)
            return disks[i];
    }
    return NULL;
}

static const char *wait_for_disk(void)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
    const char *disk = find_disk();
    for (int waited_ms = 0; !disk && waited_ms < WAIT_MS; waited_ms += STEP_MS) {
        nanosleep(&step, NULL);
        disk = find_disk();
    }
    if (!disk)
        fprintf(stderr, "sandlot-boot: no disk with two partitions after %d s\n", WAIT_MS / 1000);
    return disk;
}

static int read_number(const char *path, uint64_t *number)
{
    autofclose FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%" SCNu64, number) == 1)
        return 0;
    say("read", path);
    return -1;
}

/* Let the root's partition end with the disk. bytes: its size then. */
static int grow_partition(const char *disk, uint64_t *bytes)
{
    char path[64];
    uint64_t disk_sectors, first;
    snprintf(path, sizeof path, "/sys/block/%s/size", disk);
    if (read_number(path, &disk_sectors) < 0)
        return -1;
    snprintf(path, sizeof path, "/sys/block/%s/%s%d/start", disk, disk, ROOT_PARTITION);
    if (read_number(path, &first) < 0)
        return -1;
    *bytes = (disk_sectors - first) / (BLOCK_BYTES / SECTOR_BYTES) * BLOCK_BYTES;
    struct blkpg_partition partition = {.start = (long long)(first * SECTOR_BYTES),
                                        .length = (long long)*bytes,
                                        .pno = ROOT_PARTITION};
    struct blkpg_ioctl_arg order = {
        .op = BLKPG_RESIZE_PARTITION, .datalen = sizeof partition, .data = &partition};
    snprintf(path, sizeof path, "/dev/%s", disk);
    autoclose int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && ioctl(fd, BLKPG, &order) == 0)
        return 0;
    say("grow the partition of", path);
    return -1;
}

/* The kernel leaves a file system alone that has this size already. */
static int grow_file_system(uint64_t bytes)
{
    uint64_t blocks = bytes / BLOCK_BYTES;
    autoclose int fd = open(BOOT_ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && ioctl(fd, RESIZE_EXT4, &blocks) == 0)
        return 0;
    say("grow the file system of", BOOT_ROOT);
    return -1;
}

int boot_mount_disk(void)
{
    char path[32];
    uint64_t bytes;
    const char *disk = wait_for_disk();
    if (!disk || grow_partition(disk, &bytes) < 0)
        return -1;
    snprintf(path, sizeof path, "/dev/%s%d", disk, ROOT_PARTITION);
    /* Deleted files give their space back to the pool of the host. */
    if (mount(path, BOOT_ROOT, "ext4", MS_NOATIME, "discard") < 0) {
        say("mount", path);
        return -1;
    }
    return grow_file_system(bytes);
}
