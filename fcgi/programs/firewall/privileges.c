/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEPT (1u << CAP_NET_ADMIN)

int privileges_check(struct error **err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &header, data) < 0 || !(data[0].permitted & KEPT))
        return error_set(err, ERR_CONFIG,
                         "CAP_NET_ADMIN is missing: start sandlot-firewall by its unit, or by "
                         "setpriv with --inh-caps and --ambient-caps");
    data[0] = (struct __user_cap_data_struct){KEPT, KEPT, 0};
    data[1] = (struct __user_cap_data_struct){0};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
        syscall(SYS_capset, &header, data) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "capabilities cannot be given up");
    return 0;
}
