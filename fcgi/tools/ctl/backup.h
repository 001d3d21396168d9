/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A backup is a folder: manifest.json names every other file in it with size and SHA-256. It is
 * written under another name and renamed when all files are on the disk, the manifest last. A
 * folder with a manifest is therefore a complete backup.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define BACKUP_SHA256_SIZE 65

enum backup_kind { BACKUP_DATABASE, BACKUP_KEYRING, BACKUP_VOLUME, BACKUP_INSTANCE };

struct backup_file {
    enum backup_kind kind;
    char *path;  /* below the folder */
    char *host;  /* of a volume or an instance; "" otherwise, also in the next members */
    char *name;  /* on that host */
    char *of;    /* the id of its object: sbx_…, ckp_…, vol_…, tpv_… */
    char *stamp; /* an equal stamp means an equal file; "": unknown */
    bool reused; /* it is a file of the backup before */
    uint64_t size;
    char sha256[BACKUP_SHA256_SIZE];
};

struct backup {
    char *directory;
    char *made_at;
    unsigned schema_version;
    struct backup_file *files;
    size_t count;
    json_t *left_out; /* [{"id": …, "reason": …}] */
};
/* Zero-initialise before the first use. */
void backup_deinit(struct backup *backup);
#define backup_auto __attribute__((cleanup(backup_deinit))) struct backup

/* Start a backup in an existing folder. */
void backup_begin(struct backup *backup, const char *directory, unsigned schema_version);

/* Add a file; its strings are taken over. */
void backup_add(struct backup *backup, const struct backup_file *file);
void backup_leave_out(struct backup *backup, const char *id, const char *reason);

/* Return the file of an object on a host; borrowed. NULL: the backup does not have it. */
const struct backup_file *backup_find(const struct backup *backup, enum backup_kind kind,
                                      const char *host, const char *name);

/* Return the whole path of a file; owned by the caller. */
char *backup_path(const struct backup *backup, const char *path);

/* Write the file to the disk (fsync), and set its size and hash. Errors: ERR_CONFIG. */
int backup_seal_file(const struct backup *backup, struct backup_file *file, struct error **err);

/* Write the manifest, and rename the folder to `directory`, which does not exist or is empty.
 * Errors: ERR_CONFIG. */
int backup_finish(struct backup *backup, const char *directory, struct error **err);

/* Read the manifest of a backup. Errors: ERR_CONFIG (there is no manifest, or this version does not
 * know its form). */
int backup_load(struct backup *backup, const char *directory, struct error **err);

/* Print on standard error that a command does its work on a file, and the file's place in the
 * backup. */
void backup_show_work(const struct backup *backup, const struct backup_file *file,
                      const char *work);

/* Read each file, and compare its size and hash. Errors: ERR_CONFIG; the message names the first
 * file that differs. */
int backup_verify(const struct backup *backup, struct error **err);
