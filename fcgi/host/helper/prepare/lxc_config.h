/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copy liblxc's own configuration, with changes for the containers of Incus. */
#pragma once

#define LXC_CONFIG_MOUNT_HOOK "/usr/share/lxcfs/lxc.mount.hook"

/* Return the changed line; the caller frees it. mount_hook replaces lxcfs' hook for mounts. NULL:
 * the line is dropped, as lxcfs' hook for the end of a container is. */
char *lxc_config_line(const char *line, const char *mount_hook);

/* Copy the configuration from one folder to another. Returns 0, or -1 with errno. */
int lxc_config_copy(const char *from, const char *to, const char *mount_hook);
