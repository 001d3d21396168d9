/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What goes to another server: incusd sends a sealed snapshot of an instance and removes it
 * afterwards, and what is received is sealed until it is in its place. Each change between sealed
 * and not writes out all that the file system has not written yet, while the move waits; what goes
 * on the wire passes several pipes. Where nothing else is said functions return EXIT_SUCCESS, or -1
 * for what is left to btrfs, of which nothing has been done.
 */
#pragma once

/* `subvolume snapshot` of what is to be sent: it is sealed as it is made. One with other subvolumes
 * in it is left, as these need places in it. */
int transfer_snapshot(const char *from, const char *to);

/* `property set … ro false`: of what has been sent, which only goes, and of what was received, of
 * which incusd says next where it came from; btrfs would have that forgotten first, in a step more.
 * What was received is on the disk before: when the host loses power, the original may have gone.
 */
int transfer_unseal(const char *path);

/* `send`, in the second version of the stream, which has data in larger pieces. The kernel writes
 * each command by itself, of which there are several a file, and incusd makes a message of whatever
 * it can read at once: here they are gathered. Where incusd was told what the receiver has
 * (parent.h), a note of that goes ahead of what moves, and then the difference; copies for the
 * archive are whole. Returns the exit status. */
int transfer_send(const char *path);

/* Before `receive`: the note is taken, and the parent of what follows is made. path: where to. */
void transfer_prepare_receive(const char *path);

/* All that comes from one file goes to another, in large pieces. Returns 0, or -1 with errno. */
int transfer_gather(int from, int to);
