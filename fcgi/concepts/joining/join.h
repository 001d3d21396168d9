/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Join a machine as a host. The operator makes a token on a front node, valid for one host's name.
 * The first machine that shows it gets the files that a host needs; all others are refused. The
 * same machine may ask again after an interruption.
 *
 * When the machine reports that it is set up, its row in `hosts` is made. A dispatcher runs a trial
 * sandbox there before it takes others (join_trial.h).
 */
#pragma once

#include <jansson.h>

#include "base/ulid.h"
#include "crypto/keyring.h"
#include "db/db.h"
#include "login/secret_text.h"

#define JOIN_TTL_S          3600  /* in which a machine must show the token */
#define JOIN_GOES_ON_S      86400 /* from then on, in which the host must be set up */
#define JOIN_MACHINE_LENGTH 64    /* of a machine's own secret, in hexadecimal */

enum join_state {
#define STATE(symbol, name) symbol,
#include "joining/join_state.def"
#undef STATE
    JOIN_STATE_COUNT
};
extern const char *const join_state_names[JOIN_STATE_COUNT];

struct join {
    char id[ID_SIZE];
    char name[64]; /* of the host */
    enum join_state state;
    int64_t since_ms, expires_at_ms;
    char address[46];   /* of the machine that has shown the token */
    char failure[1001]; /* the error of the last trial; "" */
    json_t *options;    /* "range", "nic_prefix" and so on, as host_add names them */
};
void join_deinit(struct join *join);
#define join_auto __attribute__((cleanup(join_deinit))) struct join
void joins_free(struct join *joins, unsigned count); /* of join_list() */

/* Make a token for a host; it replaces an earlier one. options: as in struct join. files: the files
 * for the machine, by names. Both are borrowed. text: the token, for the operator only; the caller
 * wipes it. Errors: ERR_INVALID_REQUEST with the field, also for a host that exists and does not
 * join. */
int join_new(struct db *db, const struct keyring *ring, const char *name, const json_t *options,
             const json_t *files, unsigned ttl_s, char text[SECRET_TEXT_SIZE], struct error **err);

/* The machine that shows a token. */
struct join_caller {
    const char *token;   /* as sent, unchecked */
    const char *machine; /* the machine's secret, JOIN_MACHINE_LENGTH digits */
    const char *address;
    const char *architecture; /* as `uname -m` prints it */
};

/* Take a token, or return its files again to the same machine. *taken: it was taken by this call.
 * *files: a new reference, or NULL when the host is active. Errors: ERR_UNAUTHORIZED, worded for
 * the user of the machine; ERR_INVALID_REQUEST with the field for another architecture than that of
 * the hosts, which does not use up the token. */
int join_take(struct db *db, const struct keyring *ring, const struct join_caller *caller,
              struct join *join, bool *taken, json_t **files, struct error **err);

/* The addresses of a machine that is set up. */
struct join_offer {
    const char *url, *server_cert, *relay_url, *architecture;
    uint32_t vcpus, memory_mb; /* used if the options do not set them */
};

/* Make the host's row after join_take(), and have a dispatcher try it. An active host stays as it
 * is. Errors: ERR_INVALID_REQUEST with the field. */
int join_offer(struct db *db, struct join *join, const struct join_offer *offer,
               struct error **err);

/* List all that are not active, by name; for joins_free(). */
int join_list(struct db *db, struct join **joins, unsigned *count, struct error **err);

/* Withdraw the token of a host that has no row yet. *forgotten: there was one. */
int join_forget(struct db *db, const char *name, bool *forgotten, struct error **err);

/* Delete tokens that were not shown in time. */
int join_purge(struct db *db, struct error **err);
