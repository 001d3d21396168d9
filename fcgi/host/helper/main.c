/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlot-incus: the wrappers and hooks between incusd and the kernel, in one static program.
 *
 * incusd, liblxc, CRIU and systemd call it by the links in its folder. `sandlot-incus NAME
 * [ARGUMENT]...` does the same. workarounds.def lists the reasons.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "helper/criu/hooks.h"
#include "helper/helper.h"

#define UNKNOWN 127

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} programs[] = {
    {"btrfs", helper_btrfs},
    {"criu", helper_criu},
    {"incusd-exec", helper_incusd_exec},
    {"incusd-prepare", helper_incusd_prepare},
    {"ip", helper_ip},
    {"nft", helper_nft},
    {"pool-guard", helper_pool_guard},
    {"sandlot-mount-lxcfs", helper_mount_lxcfs},
    {"tar", helper_tar},
};

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Run a program by name. Returns -1 when no program has the name. */
static int run(const char *name, int argc, char **argv)
{
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
        if (str_equal(programs[i].name, name))
            return programs[i].run(argc, argv);
    return -1;
}

static int explain(void)
{
    fputs("usage: sandlot-incus NAME [ARGUMENT]...\nnames:", stderr);
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
        fprintf(stderr, " %s", programs[i].name);
    fputs("\n", stderr);
    return UNKNOWN;
}

int main(int argc, char **argv)
{
    const char *action = getenv("CRTOOLS_SCRIPT_ACTION");
    int status = argc > 0 ? run(name_of(argv[0]), argc, argv) : -1;
    if (status >= 0)
        return status;
    /* CRIU calls the program by its own name during a restore. */
    if (action)
        return hooks_act(action);
    status = argc > 1 ? run(argv[1], argc - 1, argv + 1) : -1;
    return status < 0 ? explain() : status;
}
