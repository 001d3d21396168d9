/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events in the form that clients of E2B know: the events of a sandbox's life under other names,
 * with the sandbox's present data. A webhook of the form WEBHOOK_E2B gets these, signed with
 * SHA-256 over secret and body.
 */
#pragma once

#include "webhook/webhook.h"

#define WEBHOOK_E2B_TYPES          5
#define WEBHOOK_E2B_SIGNATURE_SIZE 48

/* "sandbox.lifecycle.created" and so on. */
extern const char *const webhook_e2b_types[WEBHOOK_E2B_TYPES];
/* Add to the filter the kinds of events that have this E2B type. */
void webhook_e2b_kinds(const char *type, struct event_filter *filter);
/* Return whether events of a kind have an E2B type. */
bool webhook_e2b_has_type(enum event_kind kind);
/* Keep the kinds of a filter that have an E2B type; a filter for every kind gets all of these.
 * Returns whether there is one. */
bool webhook_e2b_narrow(struct event_filter *filter);

/* Return the event as a JSON object, a new reference. A sandbox whose row is gone is not an error.
 * Errors: those of the database. */
int webhook_e2b_event(struct db *db, const struct event *event, json_t **json, struct error **err);

/* Return the body to send; the caller frees it. Errors as above. */
int webhook_e2b_body(struct db *db, const struct event *event, char **body, struct error **err);

/* Sign the body with the newest secret. */
void webhook_e2b_sign(const struct webhook_secrets *secrets, const char *body,
                      char signature[WEBHOOK_E2B_SIGNATURE_SIZE]);
