/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "btrfs/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/btrfs.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "btrfs/files.h"

/* Where incusd makes what it sends, and what it receives: .migration-send, and below. */
#define FOLDER     "/migration."

#define FEATURES   "/sys/fs/btrfs/features"
#define VERSIONS   "send_stream_version"
#define VERSION    2

#define PIPE_SIZE  (1 << 20)
#define PIECE_SIZE (1 << 17)
#define GATHER_US  300

/* --- snapshots --- */

static bool is_moving(const char *path)
{
    return strstr(path, FOLDER);
}

int transfer_snapshot(const char *from, const char *to)
{
    if (!is_moving(to) || btrfs_subvolume_has_others(from))
        return -1;
    return btrfs_subvolume_copy_sealed(from, to) < 0 ? -1 : EXIT_SUCCESS;
}

int transfer_unseal(const char *path)
{
    return !is_moving(path) || btrfs_subvolume_unseal(path) < 0 ? -1 : EXIT_SUCCESS;
}

/* --- streams --- */

static uint32_t version(void)
{
    autofree char *line = files_read_line(FEATURES, VERSIONS);
    uint64_t newest;
    return line && str_parse_u64(line, 0, UINT32_MAX, &newest) == 0 && newest >= VERSION ? VERSION
                                                                                         : 1;
}

/* One that cannot be widened, or is no pipe, does as well. */
static void widen(int fd)
{
    fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
}

static int write_all(int to, const char *data, size_t size)
{
    while (size) {
        ssize_t written = write(to, data, size);
        if (written < 0 && errno != EINTR)
            return -1;
        if (written > 0) {
            data += written;
            size -= (size_t)written;
        }
    }
    return 0;
}

/* Less than the size only at the end; -1 with errno. */
static ssize_t read_full(int from, char *data, size_t size)
{
    size_t filled = 0;
    while (filled < size) {
        ssize_t count = read(from, data + filled, size - filled);
        if (count == 0)
            break;
        if (count < 0 && errno != EINTR)
            return -1;
        if (count > 0)
            filled += (size_t)count;
        /* Whoever is woken by each command writes no more at once than that. */
        if (filled < size)
            usleep(GATHER_US);
    }
    return (ssize_t)filled;
}

int transfer_gather(int from, int to)
{
    autofree char *data = xcalloc(1, PIECE_SIZE);
    ssize_t size;
    do {
        size = read_full(from, data, PIECE_SIZE);
        if (size < 0 || write_all(to, data, (size_t)size) < 0)
            return -1;
    } while (size == PIECE_SIZE);
    return 0;
}

static int send_to(const char *path, int out)
{
    if (btrfs_subvolume_send(path, out, version()) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "btrfs: %s cannot be sent: %s\n", path, strerror(errno));
    return EXIT_FAILURE;
}

static int finish(pid_t pid, bool passed_on)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return EXIT_FAILURE;
    return passed_on && WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int transfer_send(const char *path)
{
    int ends[2];
    if (btrfs_subvolume_is_sealed(path) != 1 || pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    widen(ends[1]);
    widen(STDOUT_FILENO);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(send_to(path, ends[1]));
    }
    close(ends[1]);
    bool passed_on = pid > 0 && transfer_gather(ends[0], STDOUT_FILENO) == 0;
    close(ends[0]);
    return pid < 0 ? -1 : finish(pid, passed_on);
}

void transfer_prepare_receive(void)
{
    widen(STDIN_FILENO);
}
