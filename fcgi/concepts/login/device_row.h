/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows behind devices; for this folder only. Codes are without their hyphen here. */
#pragma once

#include "login/device.h"

#define DEVICE_LETTERS 8

enum device_state { DEVICE_ABSENT, DEVICE_WAITING, DEVICE_APPROVED, DEVICE_REFUSED };

/* A row as the program that asks with its secret finds it. */
struct device_row {
    enum device_state state;
    struct secret_hash kept;
    char user_id[ID_SIZE], login_id[ID_SIZE] /* "": the key is of its own */,
        client[DEVICE_CLIENT_MAX + 1];
    int64_t expires_at_ms, poll_at_ms;
    bool is_current; /* the user's credentials are what they were */
};

int device_row_count(struct db *db, uint64_t *count, struct error **err);

/* Delete the oldest one that waits of the network that has the most, if those are more than the
 * given network has; *made_room is false otherwise. */
int device_row_crowd_out(struct db *db, const char *network, bool *made_room, struct error **err);

/* Errors: ERR_DB_DUPLICATE (the code is another one's). */
int device_row_insert(struct db *db, const struct device *device, const char *code,
                      const struct secret_hash *kept, struct error **err);

/* One that waits and is not too old. */
int device_row_find_code(struct db *db, const char *code, bool *found, struct device *device,
                         struct error **err);
int device_row_decide(struct db *db, const char *code, const struct device_answer *answer,
                      bool *decided, struct error **err);

int device_row_find(struct db *db, const char *id, struct device_row *row, struct error **err);
int device_row_polled(struct db *db, const char *id, int64_t poll_at_ms, struct error **err);

/* False: somebody was quicker. */
int device_row_take(struct db *db, const char *id, bool *taken, struct error **err);
