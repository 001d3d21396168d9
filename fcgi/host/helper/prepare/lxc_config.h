/* SPDX-License-Identifier: GPL-2.0-or-later */
/* liblxc's own configuration, changed for the containers of Incus. */
#pragma once

#define LXC_CONFIG_MOUNT_HOOK "/usr/share/lxcfs/lxc.mount.hook"

/* A line as it is to be; the caller frees it. NULL: it is left out. lxcfs' hook for the end of a
 * container goes, and mount_hook takes the place of its other one. */
char *lxc_config_line(const char *line, const char *mount_hook);

/* Copy the configuration from one folder to another. Returns 0, or -1 with errno. */
int lxc_config_copy(const char *from, const char *to, const char *mount_hook);
