/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Read and change files of volumes from outside sandboxes, through the volume server of their host.
 * A change is allowed under the lock of the volume's row, while no sandbox that may run has the
 * volume. The volume server refuses the change if a sandbox has started with the volume since
 * (keeper/fence.h).
 */
#pragma once

#include "volume/keeper.h"

struct volume_files_call {
    const char *method;
    const char *resource; /* file, directory, path or move: see keeper/serve.h */
    const char *query;    /* percent-encoded, such as "path=%2Fa" */
    const char *field;    /* the input that has the path, for errors */
    const char *from;     /* the input that has the query's path "from"; NULL: it has none */
    bool changes;
    struct keeper_upload *upload;     /* NULL: none */
    struct keeper_download *download; /* NULL: the answer is JSON */
};

/* Send a request to the volume server. On success, the answer's text is JSON, or empty. Errors:
 * ERR_NOT_FOUND, ERR_INVALID_REQUEST (the call does not fit the file), ERR_NAME_TAKEN (the target
 * exists), ERR_VOLUME_ATTACHED, ERR_PLAN_RESTRICTS_RESOURCES (the volume is full),
 * ERR_RUNTIME_UNAVAILABLE. After the last error a change may have happened, after the others it has
 * not. */
int volume_files_call(struct worker *worker, struct volume *volume,
                      const struct volume_files_call *call, struct keeper_answer *answer,
                      struct error **err);
