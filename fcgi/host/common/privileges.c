/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int privileges_keep(unsigned capability, const char *name, struct error **err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    unsigned kept = 1u << capability;
    if (syscall(SYS_capget, &header, data) < 0 || !(data[0].permitted & kept))
        return error_set(err, ERR_CONFIG,
                         "the capability %s is missing: start the program by its systemd unit, or "
                         "by setpriv with --inh-caps and --ambient-caps",
                         name);
    data[0] = (struct __user_cap_data_struct){kept, kept, 0};
    data[1] = (struct __user_cap_data_struct){0};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
        syscall(SYS_capset, &header, data) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot drop capabilities");
    return 0;
}
