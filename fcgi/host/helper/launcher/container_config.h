/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a start, and the end of one, needs to know of the configuration that incusd writes for
 * liblxc (lxc.conf). */
#pragma once

#include <stdbool.h>

#include "base/error.h"

#define CONTAINER_MOUNTS_MAX 256
#define CONTAINER_LINKS_MAX  8

/* One `lxc.mount.entry`. */
struct container_mount {
    char *source;
    char *target; /* relative to the root file system, without a leading slash */
    bool is_file; /* mounted on a file */
};

struct container_config {
    char *rootfs;     /* directory on the host */
    char *log_file;   /* NULL when it names none */
    char *run_folder; /* of the container: where the configuration itself is */
    struct container_mount mounts[CONTAINER_MOUNTS_MAX];
    unsigned mount_count;
    char *
        links[CONTAINER_LINKS_MAX]; /* that become its network interfaces, as the host names them */
    unsigned link_count;
    bool goes_on; /* its first start is a restore of another one's memory */
};

/* Zero-initialised by this. Errors: ERR_CONFIG when the file cannot be read or has too much. */
int container_config_read(const char *path, struct container_config *config, struct error **err);
void container_config_deinit(struct container_config *config);

static inline void container_config_autodeinit_(struct container_config *config)
{
    container_config_deinit(config);
}
#define container_config_auto \
    __attribute__((cleanup(container_config_autodeinit_))) struct container_config
