/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the warm pool; for warm.c only. */
#pragma once

#include "template/warm.h"

/* Count the instances of the version and size that are starting or ready. */
int warm_row_count(struct db *db, const char *template_version_id,
                   const struct runtime_resources *resources, unsigned *count, struct error **err);

/* Insert an instance that is starting. */
int warm_row_insert(struct db *db, const struct warm_instance *warm, uint64_t lease_s,
                    struct error **err);

/* Renew the lease of a starting instance, for lease_s from now. Errors: as warm_row_ready(). */
int warm_row_renew(struct db *db, const char *instance_name, uint64_t lease_s, struct error **err);

/* Change an instance from starting to ready. Errors: ERR_LEASE_LOST when it was dismissed
 * meanwhile. */
int warm_row_ready(struct db *db, const char *instance_name, struct error **err);

/* List all instances, usable ones first: ready, or starting within their time, on a host that takes
 * sandboxes. The caller frees. */
struct warm_listed {
    struct warm_instance warm;
    bool leaves, fits;
};
int warm_row_list(struct db *db, struct warm_listed **list, size_t *count, struct error **err);

/* Inside a transaction: take a leaving instance, for lease_s. name "": none. */
int warm_row_take_leaving(struct db *db, uint64_t lease_s, struct warm_instance *warm,
                          struct error **err);

int warm_row_delete(struct db *db, const char *instance_name, struct error **err);

/* Return the smallest root disk of any plan, in GiB. It can be grown when an instance is
 * claimed. */
int warm_row_disk_gb(struct db *db, unsigned *disk_gb, struct error **err);
