/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places in a volume. Strangers wrote the files of a volume, so the server never joins and checks a
 * path as text. The kernel resolves it below the volume's root, and refuses paths that lead out.
 * For this, openat2(2) has RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS and RESOLVE_NO_XDEV. The server
 * first opens a file as a mere place (O_PATH), which touches no device and waits for no FIFO. It
 * reads or writes the file only if it is a regular one.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "keeper/keeper_error.h"

/* The owner of new files in a volume: the user of a sandbox. */
#define OWNER_ID 1000

/* Where volumes are mounted, each under its id. Set once, at the start. */
extern const char *place_volumes;

/* Open the root of a volume, which must be a mount of its own. Returns a descriptor, which the
 * caller closes, or -1 with *error: KEEPER_NOT_MOUNTED and others. */
int place_open_volume(const char *volume_id, struct keeper_error *error);

/* Open the place of a path relative to the root ("" is the root itself), and follow links. flags
 * are added to O_PATH. Returns a descriptor, or -1 with errno. */
int place_open(int volume, const char *path, int flags);

/* Open the directory that a path lies in, and the last name in *name (borrowed from path). make:
 * create missing parts. Returns a file descriptor, or -1 with *error. */
int place_open_parent(int volume, const char *path, bool make, const char **name,
                      struct keeper_error *error);

/* Open the regular file at a path for reading. Returns a descriptor, or -1 with *error
 * (KEEPER_INVALID: not a regular file). */
int place_open_file(int volume, const char *path, struct stat *status, struct keeper_error *error);

/* Open the directory at a path for reading. Returns a descriptor, or -1 with *error. */
int place_open_directory(int volume, const char *path, struct keeper_error *error);

/* Write an unused name for an unfinished file: prefix and 16 random hexadecimal digits. */
#define PLACE_NAME_SIZE 40
void place_random_name(const char *prefix, char name[PLACE_NAME_SIZE]);
