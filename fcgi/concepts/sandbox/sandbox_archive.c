/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/sandbox_archive.h"

#include <string.h>

int sandbox_archive_look(struct db *db, const char *id, bool lock, struct archive_subject *subject,
                         struct error **err)
{
    sandbox_auto sandbox = {0};
    *subject = (struct archive_subject){.id = ""};
    if (sandbox_get_any(db, id, lock, &sandbox, err) < 0)
        return -1;
    subject->host_id = sandbox.host_id;
    subject->incarnation = sandbox.incarnation;
    subject->is_still = sandbox.state == SANDBOX_STOPPED;
    subject->fits = !sandbox.virtual_machine && !sandbox_has_volumes(&sandbox);
    memcpy(subject->id, sandbox.id, sizeof subject->id);
    memcpy(subject->team_id, sandbox.team_id, sizeof subject->team_id);
    memcpy(subject->instance_name, sandbox.instance_name, sizeof subject->instance_name);
    return 0;
}

int sandbox_archive_settle(struct db *db, const struct sandbox *row, enum sandbox_event event,
                           struct error **err)
{
    switch (event) {
    case SANDBOX_EVENT_RESUMED:
    case SANDBOX_EVENT_DESTROYED:
        return archive_outdate(db, ARCHIVE_SANDBOX, row->id, err);
    case SANDBOX_EVENT_MOVED:
    case SANDBOX_EVENT_MOVE_FAILED:
    case SANDBOX_EVENT_CHECKPOINTED:
    case SANDBOX_EVENT_CHECKPOINT_FAILED:
        return row->state == SANDBOX_STOPPED ? archive_follow(db, row->id, row->incarnation, err)
                                             : 0;
    default:
        return 0;
    }
}
