/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guessing is slowed: every attempt to sign in is charged before it is looked at, to the address,
 * to the account from this address, and to the account. Each may have some at once and then one at
 * a time. Guesses do not close an account to its user elsewhere: an address is refused before the
 * account is charged, and when the account is used up, each network still has one attempt an hour.
 */
#pragma once

#include "db/db.h"

/* Who tries. name: NULL when the attempt names no account; else a slug. */
struct attempt {
    const char *address; /* "" when unknown */
    const char *name;
};

/* Errors: ERR_RATE_LIMITED with the time to wait; nothing is charged then. */
int attempt_charge(struct db *db, const struct attempt *attempt, struct error **err);

/* The same for codes of the second factor, which come after the right password. */
int attempt_charge_code(struct db *db, const struct attempt *attempt, struct error **err);

/* It was no guess: give back what was charged. */
int attempt_refund(struct db *db, const struct attempt *attempt, struct error **err);
int attempt_refund_code(struct db *db, const struct attempt *attempt, struct error **err);

/* A program that asks to be let in is charged to its address, and a code that somebody types for it
 * to that user; the latter is given back when there is such a code. */
int attempt_charge_device(struct db *db, const char *address, struct error **err);
int attempt_charge_confirm(struct db *db, const char *user_name, struct error **err);
int attempt_refund_confirm(struct db *db, const char *user_name, struct error **err);

/* Drop rows that say nothing any more, at most a thousand a call. */
int attempt_purge(struct db *db, struct error **err);
