/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of volumes from outside of sandboxes, through the keeper of their host. A change is
 * allowed under the lock of the volume's row, while no sandbox that may run has the volume; the
 * keeper refuses it if a sandbox has started with the volume since (keeper/fence.h).
 */
#pragma once

#include "volume/keeper.h"

struct volume_files_call {
    const char *method;
    const char *resource; /* file, directory, path or move: see keeper/serve.h */
    const char *query;    /* percent-encoded, such as "path=%2Fa" */
    const char *field;    /* the input that the path is in, for errors */
    bool changes;
    struct keeper_upload *upload;     /* NULL: none */
    struct keeper_download *download; /* NULL: the answer is JSON */
};

/* The answer is one of success; its text is JSON, or empty. Errors: ERR_NOT_FOUND,
 * ERR_INVALID_REQUEST (what is there does not fit the call), ERR_NAME_TAKEN (something is there
 * already), ERR_VOLUME_ATTACHED, ERR_PLAN_RESTRICTS_RESOURCES (the volume is full),
 * ERR_RUNTIME_UNAVAILABLE. A change whose answer is an error was not made, but for the last, where
 * it may have been. */
int volume_files_call(struct worker *worker, struct volume *volume,
                      const struct volume_files_call *call, struct keeper_answer *answer,
                      struct error **err);
