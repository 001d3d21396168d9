/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A host and a template, as most tests of what a database has need them. */
#pragma once

#include "host/host.h"
#include "template/template.h"
#include "unit/unit.h"

/* Members of a struct host besides its name, address range and size. */
#define UNIT_HOST                                                                                \
    .url = (char *)(uintptr_t) "unix:///run/incus.socket", .project = "sandlot", .pool = "pool", \
    .nic_prefix = "sl", .memory_overcommit = 100

/* A version of the template "python" of all teams, which is ready. */
static inline int unit_template(struct db *db, struct template_version *version, struct error **err)
{
    return template_version_add(db, TEAM_DEPLOYMENT_ID, "python", "image", 1, 512, false, version,
                                err) < 0 ||
                   template_version_finish(db, version->id, true, false, "f00d", err) < 0
               ? -1
               : 0;
}
