/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/btrfs/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "common/btrfs.h"
#include "helper/btrfs/files.h"
#include "helper/btrfs/parent.h"

/* incusd's temporary folders for a move: .migration-send, and below. */
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

/* Write a subvolume to the disk: the kernel does so before it makes a copy, and only for this
 * subvolume. incusd deletes the folder that contains the copy. */
static int write_out(const char *path)
{
    autofree char *copy = xasprintf("%s.written", path);
    return btrfs_subvolume_copy(path, copy) < 0 ? -1 : btrfs_subvolume_delete(copy);
}

int transfer_unseal(const char *path)
{
    struct btrfs_subvolume found;
    if (!is_moving(path) || btrfs_subvolume_look(path, &found) < 0)
        return -1;
    if (found.received && write_out(path) < 0) {
        fprintf(stderr, "btrfs: received %s, but cannot write it to the disk: %s\n", path,
                strerror(errno));
        return EXIT_FAILURE;
    }
    return btrfs_subvolume_unseal(path) < 0 ? -1 : EXIT_SUCCESS;
}

/* --- streams --- */

static uint32_t version(void)
{
    autofree char *line = files_read_line(FEATURES, VERSIONS);
    uint64_t newest;
    return line && str_parse_u64(line, 0, UINT32_MAX, &newest) == 0 && newest >= VERSION ? VERSION
                                                                                         : 1;
}

/* Enlarge a pipe. A failure, or another kind of file, does no harm. */
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

/* Read `size` bytes; less only at the end of the file. Returns -1 with errno. */
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
        /* Wait for more: a reader that wakes for each command would pass on single commands. */
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

/* --- the parent that the receiver has --- */

#define NOTE       "sandlot-parent "
#define NOTE_START (sizeof NOTE - 1)
/* The most time until the stream starts, and then until incusd has written a whole note. */
#define BEGIN_MS     (10 * 60 * 1000)
#define NOTE_WAIT_MS 10000

/* Sent before a stream: the name of the parent's source. */
struct note {
    char text[NOTE_START + PARENT_SOURCE_SIZE];
};

static int send_note(const char *source)
{
    struct note note = {{0}};
    snprintf(note.text, sizeof note.text, NOTE "%s", source);
    return write_all(STDOUT_FILENO, note.text, sizeof note.text);
}

/* Copy the next bytes of a pipe without consuming them. Returns -1 when the data ends before, or
 * the file is not a pipe. */
static int look_ahead(int from, char *data, size_t size)
{
    struct pollfd waits = {.fd = from, .events = POLLIN};
    int there = 0, ends[2];
    for (unsigned waited = 0; waited < NOTE_WAIT_MS && there < (int)size; waited++) {
        if (poll(&waits, 1, BEGIN_MS) <= 0 || ioctl(from, FIONREAD, &there) < 0)
            return -1;
        if (there < (int)size && waits.revents & POLLHUP)
            return -1;
        if (there < (int)size)
            usleep(1000);
    }
    if (there < (int)size || pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    bool seen =
        tee(from, ends[1], size, 0) == (ssize_t)size && read(ends[0], data, size) == (ssize_t)size;
    close(ends[0]);
    close(ends[1]);
    return seen ? 0 : -1;
}

void transfer_prepare_receive(const char *path)
{
    char start[NOTE_START];
    struct note note;
    widen(STDIN_FILENO);
    if (look_ahead(STDIN_FILENO, start, sizeof start) < 0 ||
        memcmp(start, NOTE, sizeof start) != 0 ||
        read_full(STDIN_FILENO, note.text, sizeof note.text) != sizeof note.text)
        return;
    note.text[sizeof note.text - 1] = '\0';
    /* Without the parent, btrfs receive reports which one is missing. */
    free(parent_make(path, note.text + NOTE_START));
}

/* Return the parent of a snapshot. NULL: send the whole snapshot. */
static char *parent_of(const char *path, const char *source)
{
    autofree char *parent = parent_make(path, source);
    return parent && parent_is_shared(parent, path) ? steal_pointer(&parent) : NULL;
}

/* --- sending --- */

static int send_to(const char *path, const char *parent, int out)
{
    if (btrfs_subvolume_send(path, parent, out, version()) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "btrfs: cannot send %s: %s\n", path, strerror(errno));
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

static int send_stream(const char *path, const char *parent)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return EXIT_FAILURE;
    widen(ends[1]);
    widen(STDOUT_FILENO);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(send_to(path, parent, ends[1]));
    }
    close(ends[1]);
    bool passed_on = pid > 0 && transfer_gather(ends[0], STDOUT_FILENO) == 0;
    close(ends[0]);
    return pid < 0 ? EXIT_FAILURE : finish(pid, passed_on);
}

int transfer_send(const char *path)
{
    char source[PARENT_SOURCE_SIZE];
    if (btrfs_subvolume_is_sealed(path) != 1)
        return -1;
    /* A copy for the archive must be whole. */
    if (!is_moving(path) || !parent_source_of(path, source))
        return send_stream(path, NULL);
    /* The receiver makes its own parent at the same time. */
    if (send_note(source) < 0)
        return EXIT_FAILURE;
    autofree char *parent = parent_of(path, source);
    return send_stream(path, parent);
}
