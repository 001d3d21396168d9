/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Idempotency keys: a repeated request with the same key gets the answer of the first one that
 * succeeded. The request makes at most one sandbox, also when workers crash. Refusals are not kept:
 * the cause may be gone a moment later, and a cause that stays refuses the next attempt as well.
 *
 * A request claims its key by inserting a row; the unique index decides between parallel requests.
 * The claim has a lease, after which a retry may take it over.
 *
 * An attempt that makes a sandbox writes the sandbox's id into the row, in the same transaction
 * that inserts the sandbox. It does so only if the row still names this attempt. After a takeover
 * the former attempt can therefore make nothing more.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/ulid.h"
#include "crypto/keyring.h"
#include "db/db.h"

#define IDEMPOTENCY_KEEP_MS 86400000 /* 24 hours */
/* Enough for a sandbox with all its metadata, in JSON's escapes. */
#define IDEMPOTENCY_ANSWER_MAX (1024 * 1024)

/* Limits for one user. Above them the oldest rows whose requests have ended are deleted. */
#define IDEMPOTENCY_ROWS_MAX  50000
#define IDEMPOTENCY_BYTES_MAX (64u * 1024 * 1024)

/* The request to which a key is bound. */
struct idempotency_scope {
    const char *user_id;
    const char *method;
    const char *path; /* at most 255 bytes */
    const char *key;  /* 1 to 255 printable ASCII characters; checked here */
    const void *body;
    size_t body_size;
};

enum idempotency_verdict {
    IDEMPOTENCY_RUN,    /* no answer is kept: run the request */
    IDEMPOTENCY_REPLAY, /* status and answer are those of the first request */
};

struct idempotency {
    char id[ID_SIZE];
    char attempt[ID_SIZE];
    enum idempotency_verdict verdict;
    unsigned attempts;     /* 1: the first */
    char made_id[ID_SIZE]; /* the object that this or an earlier attempt made, or "" */
    int status;
    struct buffer answer; /* may contain the request's environment variables; wiped by _deinit() */
    char user_id[ID_SIZE];
};
void idempotency_deinit(struct idempotency *idempotency);

/* Claim the key, or find its answer. Errors: ERR_INVALID_REQUEST (the key's form),
 * ERR_IDEMPOTENCY_KEY_REUSED (another body), ERR_REQUEST_IN_PROGRESS. */
int idempotency_begin(struct db *db, const struct keyring *ring,
                      const struct idempotency_scope *scope, uint64_t lease_s,
                      struct idempotency *idempotency, struct error **err);

/* Note the id of the object, inside the transaction that inserts it. Errors:
 * ERR_REQUEST_IN_PROGRESS when another attempt has taken over. */
int idempotency_attach(struct db *db, const struct idempotency *idempotency, const char *made_id,
                       struct error **err);

/* Take the note back, after all that was made for it has been given up. */
int idempotency_detach(struct db *db, const struct idempotency *idempotency, struct error **err);

/* Keep the answer. Does nothing after a takeover. */
int idempotency_finish(struct db *db, const struct keyring *ring,
                       const struct idempotency *idempotency, int status, const char *made_id,
                       const char *answer, size_t size, struct error **err);

/* Let the next attempt with the key run at once, and keep the object that this attempt made for it.
 * For a request that failed with an unknown outcome, or after it made an object. */
int idempotency_abandon(struct db *db, const struct idempotency *idempotency, struct error **err);

/* Free the key, for any body, after a refusal that changed nothing. If this or an earlier attempt
 * has made an object, do as idempotency_abandon(). */
int idempotency_release(struct db *db, const struct idempotency *idempotency, struct error **err);

/* Delete rows older than IDEMPOTENCY_KEEP_MS. */
int idempotency_purge(struct db *db, struct error **err);
