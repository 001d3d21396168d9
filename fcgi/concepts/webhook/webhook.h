/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Webhooks: where a team is told of its events, by Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks).
 *
 * A webhook has a cursor into the team's events. What is behind it was delivered, or failed once
 * and has a row of its own (a message), which is sent again until it is delivered or dead.
 */
#pragma once

#include <jansson.h>

#include "account/account.h"
#include "crypto/keyring.h"
#include "event/event.h"

#define WEBHOOK_URL_MAX         2000
#define WEBHOOK_MAIL_PORT       25 /* takes none */
#define WEBHOOKS_PER_TEAM       10
#define WEBHOOK_SECRET_BYTES    32
#define WEBHOOK_SECRET_MAX      128                  /* bytes of one that a client chose */
#define WEBHOOK_NAME_MAX        128                  /* bytes */
#define WEBHOOK_SECRET_SIZE     64                   /* "whsec_" and base64 of 32 bytes */
#define WEBHOOK_OVERLAP_MS      (24LL * 3600 * 1000) /* of two secrets */
#define WEBHOOK_BODY_MAX        6000
#define WEBHOOK_WAITING_MAX     1000 /* messages to be sent again; no new events are taken above */
#define WEBHOOK_DEAD_MAX        1000 /* dead letters that are kept, and tests */
#define WEBHOOK_SIGNATURES_SIZE 128

/* How its messages look: by Standard Webhooks, or as clients of E2B know them (webhook_e2b.h). */
enum webhook_form { WEBHOOK_STANDARD, WEBHOOK_E2B, WEBHOOK_FORM_COUNT };
extern const char *const webhook_form_names[WEBHOOK_FORM_COUNT];

struct webhook {
    char id[ID_SIZE];
    char team_id[ID_SIZE];
    char team_slug[SLUG_MAX + 1];
    char url[WEBHOOK_URL_MAX + 1];
    char kinds[EVENT_KINDS_BYTES]; /* separated by commas; "": all */
    enum webhook_form form;
    char name[WEBHOOK_NAME_MAX + 1]; /* "": none */
    bool enabled;
    uint64_t cursor_id;
    int64_t old_secret_until_ms, delivered_at_ms, failed_at_ms, created_at_ms; /* 0: none */
    int64_t deleted_at_ms;                                                     /* 0: it is there */
};

/* Whether a webhook may have it: http or https, a host, no user. Errors: ERR_INVALID_REQUEST at
 * pointer. */
int webhook_check_url(const char *url, const char *pointer, struct error **err);

/* Make one for a team, which hears what happens from now on. webhook: url, kinds and enabled are
 * given. secret: for the only time in the clear; the caller wipes it. Errors: ERR_INVALID_REQUEST
 * (the team has WEBHOOKS_PER_TEAM). */
int webhook_create(struct db *db, const struct keyring *ring, const struct team *team,
                   const char *user_id, struct webhook *webhook, char secret[WEBHOOK_SECRET_SIZE],
                   struct error **err);

/* The same of WEBHOOK_E2B, with a name and with a secret that the client chose. */
int webhook_create_e2b(struct db *db, const struct keyring *ring, const struct team *team,
                       const char *user_id, struct webhook *webhook, const char *secret,
                       struct error **err);

/* Another one of the client; that of before is forgotten. */
int webhook_set_secret(struct db *db, const struct keyring *ring, const char *id,
                       const char *secret, struct error **err);

/* A deleted one too. Errors: ERR_NOT_FOUND. */
int webhook_get(struct db *db, const char *id, struct webhook *webhook, struct error **err);

/* The newest before an id (NULL: of all); the caller frees. */
int webhook_list(struct db *db, const char *team_id, const char *before, unsigned limit,
                 struct webhook **list, unsigned *count, struct error **err);

/* Write url, kinds, enabled and name. */
int webhook_update(struct db *db, const struct webhook *webhook, struct error **err);

/* With all its messages. */
int webhook_delete(struct db *db, const char *id, struct error **err);

/* A new secret; the one of now goes on beside it for WEBHOOK_OVERLAP_MS. */
int webhook_rotate(struct db *db, const struct keyring *ring, const char *id,
                   char secret[WEBHOOK_SECRET_SIZE], struct error **err);

/* --- messages --- */

enum webhook_message_state {
    MESSAGE_WAITING,
    MESSAGE_DEAD,
    MESSAGE_DELIVERED,
    MESSAGE_STATE_COUNT
};
extern const char *const webhook_message_state_names[MESSAGE_STATE_COUNT];
#define WEBHOOK_TEST_KIND "webhook.test" /* sent once; stays, whatever became of it */

struct webhook_message {
    char id[ID_SIZE];
    char webhook_id[ID_SIZE];
    char message_id[41];
    char kind[41];
    char *body; /* owned */
    enum webhook_message_state state;
    unsigned attempts, last_status; /* 0: no answer */
    int64_t created_at_ms, next_at_ms;
    char last_error[256];
};
void webhook_messages_free(struct webhook_message *list, unsigned count);

/* The body that is sent for an event, or NULL when it is too long; owned by the caller. */
char *webhook_body(const struct event *event);

/* A message that is due now. id may be NULL. */
int webhook_test(struct db *db, const char *webhook_id, char id[ID_SIZE], struct error **err);

/* Errors: ERR_NOT_FOUND. Owned as a list of one. */
int webhook_message_get(struct db *db, const char *webhook_id, const char *id,
                        struct webhook_message **message, struct error **err);
int webhook_message_list(struct db *db, const char *webhook_id, const char *before, unsigned limit,
                         struct webhook_message **list, unsigned *count, struct error **err);

/* Send a dead letter again, as if for the first time. Errors: ERR_NOT_FOUND. */
int webhook_message_resend(struct db *db, const char *webhook_id, const char *id,
                           struct error **err);

/* --- for the delivery --- */

struct webhook_due {
    char id[ID_SIZE];
    unsigned waiting; /* messages to be sent again */
    int64_t next_at_ms;
};

/* All that are enabled, and what of theirs is to be sent again; the caller frees both. */
int webhook_list_enabled(struct db *db, struct webhook **list, unsigned *count, struct error **err);
int webhook_list_due(struct db *db, struct webhook_due **list, unsigned *count, struct error **err);

int webhook_messages_due(struct db *db, const char *webhook_id, unsigned limit,
                         struct webhook_message **list, unsigned *count, struct error **err);

/* What a webhook's messages are signed with now. The caller wipes it (mem_wipe()). */
struct webhook_secrets {
    unsigned char keys[2][WEBHOOK_SECRET_MAX];
    size_t sizes[2];
    unsigned count;
};
/* Errors: ERR_NOT_FOUND. */
int webhook_secrets_load(struct db *db, const struct keyring *ring, const char *id,
                         struct webhook_secrets *secrets, struct error **err);

/* The value of the header webhook-signature, by all of them. */
void webhook_sign(const struct webhook_secrets *secrets, const char *message_id, int64_t at_s,
                  const char *body, char signatures[WEBHOOK_SIGNATURES_SIZE]);

/* An event that was not delivered at its first attempt. */
int webhook_message_add(struct db *db, const struct webhook_message *message, struct error **err);

/* What became of an attempt of a message: delivered, due again, or dead. */
int webhook_message_settle(struct db *db, const struct webhook_message *message,
                           struct error **err);

/* Everything up to the cursor is settled. delivered, failed: whether that was among it. */
int webhook_advance(struct db *db, const char *id, uint64_t cursor_id, bool delivered, bool failed,
                    struct error **err);

/* Forget what there is of dead letters and tests above WEBHOOK_DEAD_MAX, and webhooks that were
 * deleted days ago. */
int webhook_purge(struct db *db, struct error **err);

/* Events that webhooks have not been sent yet, of the one that is furthest behind, and dead letters
 * in all. */
int webhook_backlog(struct db *db, uint64_t *behind, uint64_t *dead, struct error **err);

/* How long after its attempt number `attempts` (from 1) a message is sent again; 0: it is dead. */
int64_t webhook_retry_ms(unsigned attempts);
