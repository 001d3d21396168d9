/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a waiting instance (template/warm.h) becomes a sandbox. */
#pragma once

#include "sandbox/lifecycle_steps.h"
#include "template/warm.h"

/* Whether its host can give it what it lacks while Incus is told later (sandbox_size.h): it
 * was made in another one, or is to have volumes. warm->name "": none. */
bool hand_over_told_later(const struct sandbox *sandbox, const struct warm_instance *warm,
                          unsigned mount_count);

/* Before work_network_begin(): its host is to give the instance that size and those volumes. The
 * mounts are borrowed until work_network_end(). */
void hand_over_plan(struct work *work, const struct warm_instance *warm,
                    const struct runtime_mount *mounts, unsigned mount_count);

/* After work_network_begin(), and in place of the start of an instance. */
int hand_over(struct work *work, const struct warm_instance *warm,
              const struct runtime_mount *mounts, unsigned mount_count, struct error **err);

/* Wait, after a start, until commands find no more processors than the sandbox has. Incus limits
 * them some tenths of a second after the start, and a program that counts them only once would keep
 * the wrong number. */
int hand_over_wait(struct work *work, struct error **err);
