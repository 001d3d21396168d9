/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of a sandbox as the file commands see them, and the programs `tar` at both ends, which pack
 * here and unpack there. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/api.h"

/* Split "SANDBOX:PATH" into its two parts, which are the caller's. False: a path of this
 * machine. */
bool place_split(const char *word, char **sandbox, char **path);

struct remote_entry {
    char *path; /* absolute; of a folder without empty, "." and ".." parts, as listings have it */
    bool exists, is_folder;
    int64_t size;
    unsigned mode;
};

/* Stat a path, absolute or in the user's home. A missing path is not an error. */
int remote_look(struct cli *cli, const struct session *session, const char *path,
                struct remote_entry *entry, struct error **err);
void remote_entry_free(struct remote_entry *entry);
#define remote_entry_auto __attribute__((cleanup(remote_entry_free))) struct remote_entry

/* Run a unary call of filesystem.Filesystem; the message is taken over. ERR_NOT_FOUND as it
 * comes. */
int remote_call(struct cli *cli, const struct session *session, const char *method, json_t *message,
                json_t **answer, struct error **err);

/* List a folder: the text of the answer, which the caller frees. ERR_BODY_TOO_LARGE: the folder has
 * more entries at this depth than one answer can hold. */
int remote_list(struct cli *cli, const struct session *session, const char *path, int depth,
                struct buffer *answer, struct error **err);

/* List the processes that were started over the data plane: process.Process/List with details. */
int remote_processes(struct cli *cli, const struct session *session, json_t **answer,
                     struct error **err);

/* Return the address of a file of the data plane; the caller's. */
char *remote_file_url(const struct session *session, const char *path);

/* Start tar of this machine with a pipe from its standard output. */
int local_tar(const char *const argv[], FILE **pipe, pid_t *pid, struct error **err);
int local_tar_end(pid_t pid, struct error **err);

/* Send an archive that is read from a pipe, and unpack it below a folder, which is made. */
int remote_unpack(struct cli *cli, const struct session *session, FILE *archive, const char *folder,
                  struct error **err);

const char *path_base(const char *path); /* the part after the last slash */
