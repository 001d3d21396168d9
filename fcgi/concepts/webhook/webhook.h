/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Webhooks send a team's events to its URLs, by Standard Webhooks
 * (https://github.com/standard-webhooks/standard-webhooks).
 *
 * A webhook has a cursor into the team's events. Each event before the cursor was delivered, or
 * failed once and got a row of its own (a message). Messages are sent again until they are
 * delivered or dead.
 */
#pragma once

#include <jansson.h>

#include "account/account.h"
#include "crypto/keyring.h"
#include "event/event.h"

#define WEBHOOK_URL_MAX         2000
#define WEBHOOK_MAIL_PORT       25 /* refused in URLs */
#define WEBHOOKS_PER_TEAM       10
#define WEBHOOKS_DELETED_MAX    100 /* of a team; for repeated deletions */
#define WEBHOOK_SECRET_BYTES    32
#define WEBHOOK_SECRET_MAX      128                  /* bytes of a secret that a client chose */
#define WEBHOOK_NAME_MAX        128                  /* bytes */
#define WEBHOOK_SECRET_SIZE     64                   /* "whsec_" and base64 of 32 bytes */
#define WEBHOOK_OVERLAP_MS      (24LL * 3600 * 1000) /* how long the previous secret stays valid */
#define WEBHOOK_BODY_MAX        6000
#define WEBHOOK_WAITING_MAX     1000 /* messages to send again; above it no new events are taken */
#define WEBHOOK_DEAD_MAX        1000 /* dead letters and tests that a webhook keeps */
#define WEBHOOK_SIGNATURES_SIZE 128

/* The form of its messages: Standard Webhooks, or that of E2B (webhook_e2b.h). */
enum webhook_form { WEBHOOK_STANDARD, WEBHOOK_E2B, WEBHOOK_FORM_COUNT };
extern const char *const webhook_form_names[WEBHOOK_FORM_COUNT];

struct webhook {
    char id[ID_SIZE];
    char team_id[ID_SIZE];
    char team_slug[SLUG_MAX + 1];
    char created_by[ID_SIZE]; /* a user */
    char url[WEBHOOK_URL_MAX + 1];
    char kinds[EVENT_KINDS_BYTES]; /* separated by commas; "": all */
    enum webhook_form form;
    char name[WEBHOOK_NAME_MAX + 1]; /* "": none */
    bool enabled;
    uint64_t cursor_id;
    int64_t old_secret_until_ms, delivered_at_ms, failed_at_ms, created_at_ms; /* 0: never */
    int64_t deleted_at_ms;                                                     /* 0: it exists */
};

/* Check that a webhook may have this URL: http or https, a host, no user, password or fragment, and
 * not the port for mail. Errors: ERR_INVALID_REQUEST at pointer. */
int webhook_check_url(const char *url, const char *pointer, struct error **err);

/* Create a webhook for a team; it gets the events from now on. Errors: ERR_INVALID_REQUEST (the
 * team has WEBHOOKS_PER_TEAM).
 *
 * webhook: the caller sets url, kinds and enabled. secret: its text, which no later call returns;
 * the caller wipes it. */
int webhook_create(struct db *db, const struct keyring *ring, const struct team *team,
                   const char *user_id, struct webhook *webhook, char secret[WEBHOOK_SECRET_SIZE],
                   struct error **err);

/* Create a webhook of the form WEBHOOK_E2B, with a name and a secret that the client chose. Errors:
 * those of webhook_create(). */
int webhook_create_e2b(struct db *db, const struct keyring *ring, const struct team *team,
                       const char *user_id, struct webhook *webhook, const char *secret,
                       struct error **err);

/* Read a webhook, also a deleted one. Errors: ERR_NOT_FOUND. */
int webhook_get(struct db *db, const char *id, struct webhook *webhook, struct error **err);

/* List the team's webhooks that are older than the id `before`, newest first; NULL: from the
 * newest. The caller frees. */
int webhook_list(struct db *db, const char *team_id, const char *before, unsigned limit,
                 struct webhook **list, unsigned *count, struct error **err);

/* The members that a change sets; NULL leaves a member as it is. */
struct webhook_change {
    const char *url, *kinds, *name;
    const bool *enabled;
    const char *secret; /* chosen by the client; the previous secret becomes invalid at once */
};

/* Change a webhook in one statement, so that changes of other members at the same time stay.
 * *webhook: returns the webhook after the change. Errors: ERR_NOT_FOUND (also of a deleted one). */
int webhook_update(struct db *db, const struct keyring *ring, const char *id,
                   const struct webhook_change *change, struct webhook *webhook,
                   struct error **err);

/* Delete a webhook and its messages. Its row stays, without its secret; of these rows a team keeps
 * the newest WEBHOOKS_DELETED_MAX. Errors: ERR_NOT_FOUND, also when it is deleted already. */
int webhook_delete(struct db *db, const char *id, struct error **err);

/* Make a new secret. The present one stays valid for WEBHOOK_OVERLAP_MS. */
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
#define WEBHOOK_TEST_KIND "webhook.test" /* sent once; its row stays in any case */

struct webhook_message {
    char id[ID_SIZE];
    char webhook_id[ID_SIZE];
    char message_id[41];
    char kind[41];
    char *body; /* owned */
    enum webhook_message_state state;
    unsigned attempts, last_status; /* last_status 0: no answer */
    int64_t created_at_ms, next_at_ms;
    char last_error[256];
};
void webhook_messages_free(struct webhook_message *list, unsigned count);

/* Return the body to send for an event, or NULL when it is longer than WEBHOOK_BODY_MAX. The caller
 * frees it. */
char *webhook_body(const struct event *event);

/* Add a test message that is due now. id: returns the message's id. Errors: ERR_RATE_LIMITED
 * (WEBHOOK_WAITING_MAX messages wait). */
int webhook_test(struct db *db, const char *webhook_id, char id[ID_SIZE], struct error **err);

/* Read one message, as a list of one, or list messages older than the id `before` (NULL: from the
 * newest), newest first. The caller ends with webhook_messages_free(). Errors: ERR_NOT_FOUND. */
int webhook_message_get(struct db *db, const char *webhook_id, const char *id,
                        struct webhook_message **message, struct error **err);
int webhook_message_list(struct db *db, const char *webhook_id, const char *before, unsigned limit,
                         struct webhook_message **list, unsigned *count, struct error **err);

/* Send a dead letter again, with all attempts. Errors: ERR_NOT_FOUND. */
int webhook_message_resend(struct db *db, const char *webhook_id, const char *id,
                           struct error **err);

/* Send dead letters again, the oldest first, with all attempts, until WEBHOOK_WAITING_MAX messages
 * of the webhook wait; tests stay. *resent, *left: how many were resent, and how many are still
 * dead. Errors: ERR_RATE_LIMITED (WEBHOOK_WAITING_MAX messages wait already). */
int webhook_resend_dead(struct db *db, const char *webhook_id, unsigned *resent, unsigned *left,
                        struct error **err);

/* --- for the delivery --- */

/* List all enabled webhooks, or all that were created, changed or deleted within the last minute.
 * The caller frees the list. */
int webhook_list_enabled(struct db *db, struct webhook **list, unsigned *count, struct error **err);
int webhook_list_changed(struct db *db, struct webhook **list, unsigned *count, struct error **err);

/* List the enabled webhooks with messages to send again now, the one that has waited longest first.
 * Reads these webhooks and no messages. ids has room for limit. */
int webhook_list_due(struct db *db, unsigned limit, char (*ids)[ID_SIZE], unsigned *count,
                     struct error **err);

/* Find the time of the webhook's next message, after messages were sent. */
int webhook_due_next(struct db *db, const char *id, struct error **err);

/* Count the messages to send again. */
int webhook_waiting(struct db *db, const char *id, unsigned *count, struct error **err);

/* List the webhook's messages that are due now, the first due first, at most limit. The caller ends
 * with webhook_messages_free(). */
int webhook_messages_due(struct db *db, const char *webhook_id, unsigned limit,
                         struct webhook_message **list, unsigned *count, struct error **err);

/* The secrets that sign a webhook's messages now. The caller wipes it (mem_wipe()). */
struct webhook_secrets {
    unsigned char keys[2][WEBHOOK_SECRET_MAX];
    size_t sizes[2];
    unsigned count;
};
/* Load the present secret, and the previous one while it is valid. Errors: ERR_NOT_FOUND. */
int webhook_secrets_load(struct db *db, const struct keyring *ring, const char *id,
                         struct webhook_secrets *secrets, struct error **err);

/* Write the value of the header webhook-signature: one signature for each secret. */
void webhook_sign(const struct webhook_secrets *secrets, const char *message_id, int64_t at_s,
                  const char *body, char signatures[WEBHOOK_SIGNATURES_SIZE]);

/* Add an event whose first delivery failed. A deleted webhook gets no message. */
int webhook_message_add(struct db *db, const struct webhook_message *message, struct error **err);

/* Store the result of an attempt: delivered, due again, or dead. A delivered message is deleted,
 * unless it is a test. */
int webhook_message_settle(struct db *db, const struct webhook_message *message,
                           struct error **err);

/* Advance the cursor: all events up to it are settled. delivered, failed: whether some event was
 * delivered, or failed. */
int webhook_advance(struct db *db, const char *id, uint64_t cursor_id, bool delivered, bool failed,
                    struct error **err);

/* Delete the webhook's oldest dead letters and tests above WEBHOOK_DEAD_MAX. */
int webhook_trim(struct db *db, const char *id, struct error **err);

/* Delete webhooks that were deleted days ago. */
int webhook_purge(struct db *db, struct error **err);

/* Count the undelivered events of the webhook that is furthest behind, and all dead letters. */
int webhook_backlog(struct db *db, uint64_t *behind, uint64_t *dead, struct error **err);

/* Return the time in ms until a message is sent again after its attempt number `attempts` (from 1).
 * 0: it is dead. */
int64_t webhook_retry_ms(unsigned attempts);
