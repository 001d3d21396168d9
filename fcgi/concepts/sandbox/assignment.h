/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assign an instance of the warm pool (template/warm.h) to a sandbox. */
#pragma once

#include "sandbox/lifecycle_steps.h"
#include "template/warm.h"

/* Check whether the host can set the size and volumes of the instance itself, so that Incus is
 * updated later (sandbox_size.h). True for a container when it has another size than the sandbox,
 * or the sandbox has volumes. False without a warm instance (warm->name ""). */
bool assignment_updates_incus_later(const struct sandbox *sandbox, const struct warm_instance *warm,
                                    unsigned mount_count);

/* Plan that the host gives the instance the sandbox's size and volumes. Call it before
 * work_network_begin(). The mounts are borrowed until work_network_end(). */
void assignment_plan(struct work *work, const struct warm_instance *warm,
                     const struct runtime_mount *mounts, unsigned mount_count);

/* Assign the instance, instead of starting one. former: of an instance that was started from
 * memory, otherwise NULL. Call it after work_network_begin(). */
int assignment_make(struct work *work, const struct warm_instance *warm,
                    const struct former_agent *former, const struct runtime_mount *mounts,
                    unsigned mount_count, struct error **err);

/* Wait, after a start, until commands find no more processors than the sandbox has. Incus limits
 * them some tenths of a second after the start. A program that counts them only once would keep the
 * wrong number. */
int assignment_wait(struct work *work, struct error **err);
