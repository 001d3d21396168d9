/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/attempt.h"

#include <stdio.h>
#include <string.h>

#include "base/client_network.h"
#include "base/clock.h"

#define SUBJECT_SIZE 129

DB_STATEMENT(insert_statement) = {
    "attempt.insert", "INSERT IGNORE INTO login_attempts (subject, due_at_ms) VALUES (?, 0)"};
DB_STATEMENT(lock_statement) = {
    "attempt.lock", "SELECT due_at_ms FROM login_attempts WHERE subject = ? FOR UPDATE"};
DB_STATEMENT(charge_statement) = {"attempt.charge",
                                  "UPDATE login_attempts SET due_at_ms = ? WHERE subject = ?"};
DB_STATEMENT(refund_statement) = {
    "attempt.refund", "UPDATE login_attempts SET due_at_ms = due_at_ms - ? WHERE subject = ?"};
DB_STATEMENT(purge_statement) = {
    "attempt.purge",
    "DELETE FROM login_attempts WHERE due_at_ms < ? ORDER BY due_at_ms LIMIT 1000"};

/* `burst` attempts at once, and then one in each interval_ms. */
struct rate {
    unsigned burst;
    int64_t interval_ms;
};
static const struct rate address_rate = {50, 5000}, pair_rate = {10, 30000},
                         account_rate = {100, 5000}, code_rate = {10, 60000},
                         device_rate = {20, 15000}, confirm_rate = {10, 30000},
                         spare_rate = {1, 3600000}, site_rate = {200, 1250};

struct charge {
    const struct rate *rate;
    char subject[SUBJECT_SIZE];
};

#define CHARGES_MAX 4

static void name_spare(const struct attempt *attempt, struct charge *charge)
{
    char network[CLIENT_NETWORK_SIZE];
    charge->rate = &spare_rate;
    snprintf(charge->subject, SUBJECT_SIZE, "spare %s %s", attempt->name,
             client_network_wide(attempt->address, network));
}

/* Charge the /48 of an IPv6 address too, because it has 65,536 networks. Returns the number of
 * charges: 0 for other addresses. */
static unsigned charge_site(const struct attempt *attempt, struct charge *charge)
{
    char network[CLIENT_NETWORK_SIZE], site[CLIENT_NETWORK_SIZE];
    client_network_wide(attempt->address, site);
    charge->rate = &site_rate;
    snprintf(charge->subject, SUBJECT_SIZE, "site %s", site);
    return strchr(client_network(attempt->address, network), ':') ? 1 : 0;
}

/* List the charges of an attempt, in the order in which they are locked. */
static unsigned list_charges(const struct attempt *attempt, struct charge charges[CHARGES_MAX])
{
    char network[CLIENT_NETWORK_SIZE];
    unsigned count = charge_site(attempt, charges);
    client_network(attempt->address, network);
    charges[count].rate = &address_rate;
    snprintf(charges[count++].subject, SUBJECT_SIZE, "address %s", network);
    if (!attempt->name)
        return count;
    charges[count].rate = &pair_rate;
    snprintf(charges[count++].subject, SUBJECT_SIZE, "both %s %s", attempt->name, network);
    if (attempt->is_spare) {
        name_spare(attempt, &charges[count++]);
        return count;
    }
    charges[count].rate = &account_rate;
    snprintf(charges[count++].subject, SUBJECT_SIZE, "account %s", attempt->name);
    return count;
}

static unsigned list_code_charges(const struct attempt *attempt, struct charge charges[CHARGES_MAX])
{
    charges[0].rate = &code_rate;
    snprintf(charges[0].subject, SUBJECT_SIZE, "code %s", attempt->name);
    return 1;
}

static int refuse(int64_t wait_ms, struct error **err)
{
    error_set(err, ERR_RATE_LIMITED,
              "Too many attempts to sign in with this name or from this address; wait a moment.");
    (*err)->retry_after_s = (unsigned)((wait_ms + 999) / 1000);
    return -1;
}

/* Return the time at which all earlier attempts are forgotten. A time that no attempts can lead to
 * was written before the clock was set back: then one attempt is left. The clocks of two front
 * nodes differ by less. */
static int64_t due_after(const struct rate *rate, int64_t due_ms, int64_t now_ms)
{
    int64_t all_ms = rate->interval_ms * rate->burst;
    if (due_ms - now_ms > 2 * all_ms)
        return now_ms + all_ms - rate->interval_ms;
    return due_ms > now_ms ? due_ms : now_ms;
}

static int charge_one(struct db *db, const struct charge *charge, int64_t now_ms,
                      struct error **err)
{
    db_rows_auto *rows = NULL;
    const struct rate *rate = charge->rate;
    struct db_value subject = db_text(charge->subject);
    if (db_exec(db, &insert_statement, DB_ARGS(subject), NULL, err) < 0 ||
        db_query(db, &lock_statement, DB_ARGS(subject), &rows, err) < 0)
        return -1;
    int64_t due_ms = db_rows_next(rows) ? db_get_i64(rows, 0) : 0;
    due_ms = due_after(rate, due_ms, now_ms) + rate->interval_ms;
    int64_t wait_ms = due_ms - now_ms - rate->interval_ms * rate->burst;
    if (wait_ms > 0)
        return refuse(wait_ms, err);
    return db_exec(db, &charge_statement, DB_ARGS(db_i64(due_ms), subject), NULL, err);
}

struct charges {
    struct charge list[CHARGES_MAX];
    struct charge spare; /* charged instead of an account without attempts; "": none */
    bool took_spare;
    unsigned count;
};

/* Accept the attempt of a network that has had none for an hour, although others have used up the
 * account's attempts. So the user can sign in with the right password. */
static int charge_spare(struct db *db, struct charges *charges, int64_t now_ms, struct error **err)
{
    error_auto refused = NULL;
    if (!*charges->spare.subject || (*err)->code != ERR_RATE_LIMITED)
        return -1;
    if (charge_one(db, &charges->spare, now_ms, &refused) < 0)
        return refused->code == ERR_RATE_LIMITED ? -1
                                                 : (error_clear(err), error_move(err, &refused));
    error_clear(err);
    charges->took_spare = true;
    return 0;
}

static int charge_body(struct db *db, void *context, struct error **err)
{
    struct charges *charges = context;
    int64_t now_ms = clock_now_ms();
    charges->took_spare = false;
    for (unsigned i = 0; i < charges->count; i++)
        if (charge_one(db, &charges->list[i], now_ms, err) < 0 &&
            (charges->list[i].rate != &account_rate || charge_spare(db, charges, now_ms, err) < 0))
            return -1;
    return 0;
}

static int refund_body(struct db *db, void *context, struct error **err)
{
    const struct charges *charges = context;
    for (unsigned i = 0; i < charges->count; i++)
        if (db_exec(db, &refund_statement,
                    DB_ARGS(db_i64(charges->list[i].rate->interval_ms),
                            db_text(charges->list[i].subject)),
                    NULL, err) < 0)
            return -1;
    return 0;
}

int attempt_charge(struct db *db, struct attempt *attempt, struct error **err)
{
    struct charges charges = {0};
    attempt->is_spare = false;
    charges.count = list_charges(attempt, charges.list);
    if (attempt->name)
        name_spare(attempt, &charges.spare);
    if (db_transaction(db, charge_body, &charges, err) < 0)
        return -1;
    attempt->is_spare = charges.took_spare;
    return 0;
}

int attempt_charge_code(struct db *db, const struct attempt *attempt, struct error **err)
{
    struct charges charges = {0};
    charges.count = list_code_charges(attempt, charges.list);
    return db_transaction(db, charge_body, &charges, err);
}

int attempt_refund(struct db *db, const struct attempt *attempt, struct error **err)
{
    struct charges charges = {0};
    charges.count = list_charges(attempt, charges.list);
    return db_transaction(db, refund_body, &charges, err);
}

int attempt_refund_code(struct db *db, const struct attempt *attempt, struct error **err)
{
    struct charges charges = {0};
    charges.count = list_code_charges(attempt, charges.list);
    return db_transaction(db, refund_body, &charges, err);
}

static void charge_for_device(const char *address, struct charges *charges)
{
    char network[CLIENT_NETWORK_SIZE];
    client_network(address, network);
    charges->count = 1;
    charges->list[0].rate = &device_rate;
    snprintf(charges->list[0].subject, SUBJECT_SIZE, "device %s", network);
}

static void charge_for_confirm(const char *user_name, struct charges *charges)
{
    charges->count = 1;
    charges->list[0].rate = &confirm_rate;
    snprintf(charges->list[0].subject, SUBJECT_SIZE, "confirm %s", user_name);
}

int attempt_charge_device(struct db *db, const char *address, struct error **err)
{
    struct charges charges = {0};
    charge_for_device(address, &charges);
    return db_transaction(db, charge_body, &charges, err);
}

int attempt_charge_confirm(struct db *db, const char *user_name, struct error **err)
{
    struct charges charges = {0};
    charge_for_confirm(user_name, &charges);
    return db_transaction(db, charge_body, &charges, err);
}

int attempt_refund_confirm(struct db *db, const char *user_name, struct error **err)
{
    struct charges charges = {0};
    charge_for_confirm(user_name, &charges);
    return db_transaction(db, refund_body, &charges, err);
}

int attempt_purge(struct db *db, struct error **err)
{
    return db_exec_all(db, &purge_statement, DB_ARGS(db_i64(clock_now_ms())), 1000, err);
}
