/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Speed up moves to another server.
 *
 * incusd sends a sealed snapshot of an instance and deletes it afterwards. A received subvolume is
 * sealed until it is at its place. Each change between sealed and writable writes out all dirty
 * data of the file system, while the move waits. The stream passes several pipes on its way to the
 * network. Unless stated otherwise, functions return EXIT_SUCCESS, or -1, with nothing done, for
 * calls that are left to btrfs.
 */
#pragma once

/* Handle `subvolume snapshot` for a snapshot to send: seal it as it is created. A subvolume with
 * others inside is left to btrfs, because these need places in the snapshot. */
int transfer_snapshot(const char *from, const char *to);

/* Handle `property set … ro false` for two kinds of subvolumes. (1) A sent snapshot, which is
 * deleted next. (2) A received subvolume. incusd sets its origin next, and btrfs would require an
 * extra step to clear the origin first. A received subvolume is written to the disk before: the
 * original may be deleted when this host loses power. */
int transfer_unseal(const char *path);

/* Handle `send`, in version 2 of the stream, which has larger pieces of data.
 *
 * The kernel writes several commands for each file, one by one. incusd makes a message of each
 * read. This call therefore gathers commands. When incusd knows a parent that the receiver has
 * (parent.h), a move starts with a note of its source, followed by the difference. Copies for the
 * archive are whole. Returns the exit status. */
int transfer_send(const char *path);

/* Read the note before `receive`, and make the parent that the stream needs. path: the
 * destination. */
void transfer_prepare_receive(const char *path);

/* Copy all data from one file to another in large pieces. Returns 0, or -1 with errno. */
int transfer_gather(int from, int to);
