/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as clients of E2B know them: those of a sandbox's life under other names, about the
 * sandbox as it is now. A webhook of theirs is told them in that form, with a signature that is
 * SHA-256 of the secret and the body.
 */
#pragma once

#include "webhook/webhook.h"

#define WEBHOOK_E2B_TYPES          5
#define WEBHOOK_E2B_SIGNATURE_SIZE 48

/* "sandbox.lifecycle.created" and so on. */
extern const char *const webhook_e2b_types[WEBHOOK_E2B_TYPES];
/* Add which of ours mean one of these. */
void webhook_e2b_kinds(const char *type, struct event_filter *filter);
/* The type that tells of a kind, or NULL. */
const char *webhook_e2b_type(enum event_kind kind);

/* Errors: those of the database; a sandbox whose row is gone is none. */
int webhook_e2b_event(struct db *db, const struct event *event, json_t **json, struct error **err);

/* The body that is sent; the caller's. Errors as above. */
int webhook_e2b_body(struct db *db, const struct event *event, char **body, struct error **err);

/* By the newest of the secrets. */
void webhook_e2b_sign(const struct webhook_secrets *secrets, const char *body,
                      char signature[WEBHOOK_E2B_SIGNATURE_SIZE]);
