/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows behind devices; for this folder only. Codes have no hyphen here. */
#pragma once

#include "login/device.h"

#define DEVICE_LETTERS 8

enum device_state { DEVICE_ABSENT, DEVICE_WAITING, DEVICE_APPROVED, DEVICE_REFUSED };

/* A row as a polling program finds it by its secret. */
struct device_row {
    enum device_state state;
    struct secret_hash kept;
    struct device_user user;
    char login_id[ID_SIZE] /* "": the key ends on its own */, client[DEVICE_CLIENT_MAX + 1];
    int64_t expires_at_ms, poll_at_ms;
    bool is_current; /* the user's credentials have not changed since the confirmation */
};

int device_row_count(struct db *db, uint64_t *count, struct error **err);

/* Delete the oldest login of the network with the most, if it has more than the given network.
 * *made_room: a row was deleted. */
int device_row_crowd_out(struct db *db, const char *network, bool *made_room, struct error **err);

/* Insert a login. Errors: ERR_DB_DUPLICATE (another login has this code). */
int device_row_insert(struct db *db, const struct device *device, const char *code,
                      const struct secret_hash *kept, struct error **err);

/* Find a pending login that has not expired. */
int device_row_find_code(struct db *db, const char *code, bool *found, struct device *device,
                         struct error **err);
int device_row_decide(struct db *db, const char *code, const struct device_answer *answer,
                      bool *decided, struct error **err);

int device_row_find(struct db *db, const char *id, struct device_row *row, struct error **err);
int device_row_polled(struct db *db, const char *id, int64_t poll_at_ms, struct error **err);

/* Delete a confirmed login. *taken false: another request was faster. */
int device_row_take(struct db *db, const char *id, bool *taken, struct error **err);
