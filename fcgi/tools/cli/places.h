/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the files of a sandbox for the commands that copy files, and run the `tar` programs of both
 * ends. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/api.h"

/* Split "SANDBOX:PATH" into its two parts, which the caller frees. Returns false for a path of this
 * machine. */
bool place_split(const char *word, char **sandbox, char **path);

struct remote_entry {
    /* Absolute; also of a missing file. Of a folder without empty, "." and ".." parts, as listings
     * have it. */
    char *path;
    bool exists, is_folder;
    int64_t size;
    unsigned mode;
};

/* Stat a path, absolute or in the user's home. A missing path is not an error. */
int remote_look(struct cli *cli, const struct session *session, const char *path,
                struct remote_entry *entry, struct error **err);
void remote_entry_free(struct remote_entry *entry);
#define remote_entry_auto __attribute__((cleanup(remote_entry_free))) struct remote_entry

/* Make a unary call of filesystem.Filesystem; the message is taken over. *answer: a new reference.
 * Errors: as api_call(), such as ERR_NOT_FOUND (the path does not exist). */
int remote_call(struct cli *cli, const struct session *session, const char *method, json_t *message,
                json_t **answer, struct error **err);

/* List a folder: the text of the answer, which the caller frees. ERR_BODY_TOO_LARGE: the folder has
 * more entries at this depth than one answer can hold. */
int remote_list(struct cli *cli, const struct session *session, const char *path, int depth,
                struct buffer *answer, struct error **err);

/* List the processes that were started over the data plane: process.Process/List with details. */
int remote_processes(struct cli *cli, const struct session *session, json_t **answer,
                     struct error **err);

/* Return the URL of a file of the data plane. The caller frees it. */
char *remote_file_url(const struct session *session, const char *path);

/* Start tar of this machine. *pipe: its standard output, which the caller closes before
 * local_tar_end(). Errors: ERR_INTERNAL. */
int local_tar(const char *const argv[], FILE **pipe, pid_t *pid, struct error **err);
/* Wait for the end of tar. Errors: ERR_INTERNAL (tar failed). */
int local_tar_end(pid_t pid, struct error **err);

/* Send an archive from a pipe to the sandbox, and unpack it there below a folder, which is created
 * if it is missing. */
int remote_unpack(struct cli *cli, const struct session *session, FILE *archive, const char *folder,
                  struct error **err);

const char *path_base(const char *path); /* the part after the last slash */
