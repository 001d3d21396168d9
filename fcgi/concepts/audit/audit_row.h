/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SQL of audit.c; for this folder. */
#pragma once

#include "audit/audit.h"
#include "crypto/mac.h"

int audit_row_insert(struct db *db, const struct audit_entry *entry, uint16_t mac_key_id,
                     const unsigned char mac[MAC_BYTES], struct error **err);

/* Compute the MAC of a row over all its columns. */
int audit_mac(const struct keyring *ring, uint16_t key_id, const struct audit_entry *entry,
              unsigned char mac[MAC_BYTES], struct error **err);

#define AUDIT_COLUMNS                                                                      \
    "a.id, a.at_ms, a.team_id, a.action, a.resource, a.actor_kind, a.actor_id, a.user_id," \
    " a.address, a.request_id, a.result, a.error, a.begun_id"
#define AUDIT_COLUMN_COUNT 13

/* Read AUDIT_COLUMNS, starting at column `first`. */
void audit_row_read(const struct db_rows *rows, unsigned first, struct audit_entry *entry);
