/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limit guesses of passwords and codes. Every attempt to sign in is charged before it is checked:
 * to the address, to the account from this address, and to the account. Each has a number of
 * attempts at once, and then one at a time. An address is one of IPv4, or a /64 of IPv6, whose /48
 * is charged too.
 *
 * Guesses do not lock a user out elsewhere. An address is refused before the account is charged.
 * When the account has no attempts left, each network still has one attempt an hour.
 */
#pragma once

#include "db/db.h"

/* The source and the target of an attempt. name: a slug, or NULL when the attempt names no
 * account. */
struct attempt {
    const char *address; /* "": unknown */
    const char *name;
    bool is_spare; /* attempt_charge() sets it: it took the hourly attempt of the network */
};

/* Charge an attempt. Errors: ERR_RATE_LIMITED with the time to wait; then nothing is charged. */
int attempt_charge(struct db *db, struct attempt *attempt, struct error **err);

/* Charge a code of the second factor, which follows the right password. Errors: as
 * attempt_charge(). */
int attempt_charge_code(struct db *db, const struct attempt *attempt, struct error **err);

/* Give back the charge of an attempt that was not a guess. */
int attempt_refund(struct db *db, const struct attempt *attempt, struct error **err);
int attempt_refund_code(struct db *db, const struct attempt *attempt, struct error **err);

/* Charge a program that asks to sign in, to its address, and a code that a user types for it, to
 * that user. Refund the code if it was right. */
int attempt_charge_device(struct db *db, const char *address, struct error **err);
int attempt_charge_confirm(struct db *db, const char *user_name, struct error **err);
int attempt_refund_confirm(struct db *db, const char *user_name, struct error **err);

/* Delete rows that limit nothing any more, in batches, for 10 s at most. */
int attempt_purge(struct db *db, struct error **err);
