/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the configuration that incusd writes for liblxc (lxc.conf), as far as the start and end of a
 * container need it. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

#define CONTAINER_MOUNTS_MAX 256
#define CONTAINER_LINKS_MAX  8

/* One `lxc.mount.entry`. */
struct container_mount {
    char *source;
    char *target; /* relative to the root file system, without leading slash */
    bool is_file; /* mounted on a file */
};

struct container_config {
    char *rootfs;     /* directory on the host */
    char *log_file;   /* NULL: not set */
    char *run_folder; /* of the container: the folder of the configuration itself */
    struct container_mount mounts[CONTAINER_MOUNTS_MAX];
    unsigned mount_count;
    char *links[CONTAINER_LINKS_MAX]; /* names on the host of the links that become its network
                                         interfaces */
    unsigned link_count;
    unsigned vcpus; /* that its weight is worth; 0: it has none */
    bool goes_on;   /* its first start restores the memory of another container */
};

/* Read a configuration. config is overwritten, and must be freed after an error too. Errors:
 * ERR_CONFIG: the file cannot be read, or has too many entries. */
int container_config_read(const char *path, struct container_config *config, struct error **err);
void container_config_deinit(struct container_config *config);

static inline void container_config_autodeinit_(struct container_config *config)
{
    container_config_deinit(config);
}
#define container_config_auto \
    __attribute__((cleanup(container_config_autodeinit_))) struct container_config
