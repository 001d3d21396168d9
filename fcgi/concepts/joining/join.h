/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine becomes a host. The operator makes a token on a front, which is good for one host's
 * name. The first machine that shows it gets what a host needs, and no other machine gets anything
 * by it; that one may ask again, however often it was interrupted. When it says that it is set up,
 * its row in `hosts` is made, and a dispatcher tries a sandbox there before it takes any
 * (join_trial.h).
 */
#pragma once

#include <jansson.h>

#include "base/ulid.h"
#include "crypto/keyring.h"
#include "db/db.h"
#include "login/secret_text.h"

#define JOIN_TTL_S          3600  /* until a token must have been shown */
#define JOIN_GOES_ON_S      86400 /* from then on, until the host must be set up */
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
    char address[46];   /* of the machine that has taken it */
    char failure[1001]; /* why the last trial ended; "" */
    json_t *options;    /* "range", "nic_prefix" and so on, as host_add has them */
};
void join_deinit(struct join *join);
#define join_auto __attribute__((cleanup(join_deinit))) struct join
void joins_free(struct join *joins, unsigned count); /* of join_list() */

/* Make a token for a host, in place of the one that there is. options: as in struct join; files:
 * what the machine is given, by names. Both are borrowed. text: for the operator alone; the caller
 * wipes it. Errors: ERR_INVALID_REQUEST with the field, also for a host that is there and does not
 * join. */
int join_new(struct db *db, const struct keyring *ring, const char *name, const json_t *options,
             const json_t *files, unsigned ttl_s, char text[SECRET_TEXT_SIZE], struct error **err);

/* Who shows a token. */
struct join_caller {
    const char *token;   /* whatever was sent */
    const char *machine; /* the machine's secret, JOIN_MACHINE_LENGTH digits */
    const char *address;
};

/* Take it, or say again what it is good for. *taken: just now. *files: a new reference, NULL when
 * the host is active. Errors: ERR_UNAUTHORIZED, in words for who sits in front of that machine. */
int join_take(struct db *db, const struct keyring *ring, const struct join_caller *caller,
              struct join *join, bool *taken, json_t **files, struct error **err);

/* Where the machine is reached that says that it is set up. */
struct join_offer {
    const char *url, *server_cert, *relay_url;
    uint32_t vcpus, memory_mb; /* where the options do not say them */
};

/* After join_take(): make the host's row, and have it tried. An active one is left alone. Errors:
 * ERR_INVALID_REQUEST with the field. */
int join_offer(struct db *db, struct join *join, const struct join_offer *offer,
               struct error **err);

/* All that are not active, by name; for joins_free(). */
int join_list(struct db *db, struct join **joins, unsigned *count, struct error **err);

/* Withdraw the token of a host that has no row yet. *forgotten: there was one. */
int join_forget(struct db *db, const char *name, bool *forgotten, struct error **err);

/* Drop tokens that nobody has shown in time. */
int join_purge(struct db *db, struct error **err);
