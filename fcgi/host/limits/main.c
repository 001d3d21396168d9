/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sandlot-limits: change the size and volumes of this host's running instances, without Incus. */
#include <linux/capability.h>
#include <stdlib.h>

#include "base/disk_view.h"
#include "common/mount_note.h"
#include "common/privileges.h"
#include "config/program.h"
#include "limits/serve.h"

/* The time for work inside an instance. After it, Incus does the work. */
#define INSIDE_MS 250

static const struct program program = {
    .name = "sandlot-limits",
    .summary = "limits and volumes of this host's sandboxes, on the socket at file descriptor 0",
    .help = "Environment: SANDLOT_POOL, where the storage pool is mounted; SANDLOT_PROJECT, the\n"
            "project of Incus that the sandboxes are in.\n",
};

static const char *environment(const char *name, const char *usual)
{
    const char *value = getenv(name);
    return value && *value ? value : usual;
}

static void run(const struct settings *settings, struct error **err)
{
    (void)settings;
    struct limits limits = {
        .disks = {DISK_VIEW_LINKS,
                  environment("SANDLOT_POOL", "/var/lib/incus/storage-pools/sandlot")}};
    const char *project = environment("SANDLOT_PROJECT", "sandlot");
    limits.volumes = (struct volumes){limits.disks.pool, project, MOUNT_NOTES, INSIDE_MS};
    if (privileges_keep(CAP_SYS_ADMIN, "CAP_SYS_ADMIN", err) < 0 ||
        groups_open(&limits.groups, GROUPS_ROOT, project, err) < 0)
        return;
    int result = spread_open(&limits.spread, &limits.groups, err);
    limits.balance = balance_open(TEAM_NOTES);
    if (result == 0)
        limits_serve(&limits, err);
    balance_close(limits.balance);
    spread_close(limits.spread);
    groups_close(&limits.groups);
}

int main(int argc, char **argv)
{
    return program_main(argc, argv, &program, run);
}
