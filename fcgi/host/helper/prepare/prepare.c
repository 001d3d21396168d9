/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * incusd-prepare: prepare the start of incusd. It runs in incusd's environment, and never while
 * incusd runs.
 *
 * It copies liblxc's configuration to the folder in INCUS_LXC_TEMPLATE_CONFIG, and deletes the
 * leftovers of a killed incusd.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "helper/helper.h"
#include "helper/prepare/kernel_data.h"
#include "helper/prepare/lxc_config.h"
#include "helper/prepare/stale_link.h"

#define PREFIX "sl"

static int fail(const char *what)
{
    fprintf(stderr, "incusd-prepare: %s\n", what);
    return EXIT_FAILURE;
}

static const char *lxc_folder(void)
{
    static const char other[] = "/opt/incus/share/lxc/config";
    return access(other, F_OK) == 0 ? other : "/usr/share/lxc/config";
}

/* Return the path of the hook in the folder of incusd's helper, or of lxcfs' own hook. The caller
 * frees it. */
static char *mount_hook(void)
{
    const char *helper = getenv("INCUS_EXEC_PATH");
    const char *slash = helper ? strrchr(helper, '/') : NULL;
    autofree char *hook = xasprintf("%.*s/sandlot-mount-lxcfs", (int)(slash ? slash - helper : 0),
                                    helper ? helper : "");
    return access(hook, X_OK) == 0 ? steal_pointer(&hook) : xstrdup(LXC_CONFIG_MOUNT_HOOK);
}

int helper_incusd_prepare(int argc, char **argv)
{
    const char *folder = getenv("INCUS_LXC_TEMPLATE_CONFIG");
    const char *prefix = getenv("SANDLOT_NIC_PREFIX");
    (void)argc, (void)argv;
    if (!folder || !*folder)
        return fail("INCUS_LXC_TEMPLATE_CONFIG is not set to the folder to create");
    autofree char *real = realpath(folder, NULL);
    if (real && str_equal(real, lxc_folder()))
        return fail("INCUS_LXC_TEMPLATE_CONFIG must be a folder for sandlot alone");
    autofree char *hook = mount_hook();
    if (lxc_config_copy(lxc_folder(), folder, hook) < 0)
        return fail(strerror(errno));
    stale_links_remove(prefix && *prefix ? prefix : PREFIX);
    kernel_data_keep();
    return EXIT_SUCCESS;
}
