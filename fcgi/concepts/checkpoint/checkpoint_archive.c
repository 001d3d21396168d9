/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "checkpoint/checkpoint_archive.h"

#include <string.h>

#include "checkpoint/checkpoint.h"

int checkpoint_archive_look(struct db *db, const char *id, bool lock,
                            struct archive_subject *subject, struct error **err)
{
    struct checkpoint checkpoint;
    *subject = (struct archive_subject){.id = ""};
    if (checkpoint_get_any(db, id, lock, &checkpoint, err) < 0)
        return -1;
    subject->host_id = checkpoint.host_id;
    subject->incarnation = checkpoint.incarnation;
    subject->is_still = checkpoint.state == CHECKPOINT_READY;
    subject->fits = !checkpoint.virtual_machine;
    memcpy(subject->id, checkpoint.id, sizeof subject->id);
    memcpy(subject->team_id, checkpoint.team_id, sizeof subject->team_id);
    memcpy(subject->instance_name, checkpoint.instance_name, sizeof subject->instance_name);
    return 0;
}
