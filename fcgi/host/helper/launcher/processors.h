/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Set the processors of a container, in place of incusd (helper/prepare/preload.c). Their number
 * follows from its weight (base/sizing.h). Take those that the fewest other containers use.
 * sandlot-limits spreads the containers later, when others end.
 */
#pragma once

#include "helper/launcher/container_config.h"

#define PROCESSORS_ROOT "/sys/fs/cgroup"

/* Remove the covers of the lists of controllers. incusd has read them. liblxc needs all
 * controllers. The kernel mounts no /proc in a container while a part of the host's is covered. */
void processors_uncover(void);

/* Start: add the processors to the configuration, so that liblxc sets them before the first process
 * runs. A configuration without a weight is left as it is. Errors: ERR_CONFIG. */
int processors_configure(const char *root, const char *config_path,
                         const struct container_config *config, struct error **err);

/* Restore: CRIU has set the processors of the image, and perhaps its weight. Set the weight, and
 * other processors if the number is another one. A failure is ignored: the container runs. */
void processors_correct(const char *root, const char *name, const struct container_config *config);
