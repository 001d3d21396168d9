/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/device.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/client_network.h"
#include "base/clock.h"
#include "base/mem.h"
#include "login/attempt.h"
#include "login/device_row.h"

#define ID_PREFIX "dvc_"
/* Without vowels no code reads as a word; no letter looks like a digit. */
#define LETTERS      "BCDFGHJKLMNPQRSTVWXZ"
#define LETTER_COUNT (sizeof LETTERS - 1)
#define CODE_TRIES   5

/* Less than the interval, so that a client that keeps to it is never refused. */
#define POLL_WAIT_MS (DEVICE_INTERVAL_S * 1000 - 500)

static void make_code(char code[DEVICE_LETTERS + 1])
{
    unsigned char byte;
    for (unsigned i = 0; i < DEVICE_LETTERS;) {
        random_fill(&byte, 1);
        if (byte < 256 / LETTER_COUNT * LETTER_COUNT)
            code[i++] = LETTERS[byte % LETTER_COUNT];
    }
    code[DEVICE_LETTERS] = '\0';
}

/* Parse a code. Case, blanks and hyphens do not matter. Returns -1 for any other form. */
static int read_code(const char *text, char code[DEVICE_LETTERS + 1])
{
    size_t length = 0;
    for (; *text; text++) {
        char letter = (char)toupper((unsigned char)*text);
        if (letter == '-' || letter == ' ')
            continue;
        if (length == DEVICE_LETTERS || !strchr(LETTERS, letter))
            return -1;
        code[length++] = letter;
    }
    code[length] = '\0';
    return length == DEVICE_LETTERS ? 0 : -1;
}

static void show_code(const char *code, char shown[DEVICE_CODE_SIZE])
{
    snprintf(shown, DEVICE_CODE_SIZE, "%.4s-%.4s", code, code + 4);
}

static int check_client(const char *client, struct error **err)
{
    bool is_plain = *client && strlen(client) <= DEVICE_CLIENT_MAX;
    for (const char *at = client; *at; at++)
        is_plain &= isprint((unsigned char)*at) != 0;
    if (is_plain)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "/client_name",
                           "client_name has 1 to %d printable ASCII characters; the console shows "
                           "it to the user who confirms.",
                           DEVICE_CLIENT_MAX);
}

/* Limit the pending logins. When all places are taken, the network with the most logins loses its
 * oldest one. */
static int check_crowd(struct db *db, const char *address, struct error **err)
{
    uint64_t count;
    bool made_room;
    char network[CLIENT_NETWORK_SIZE];
    if (device_row_count(db, &count, err) < 0)
        return -1;
    if (count < DEVICES_MAX)
        return 0;
    client_network_wide(address, network);
    if (device_row_crowd_out(db, network, &made_room, err) < 0)
        return -1;
    if (made_room)
        return 0;
    return error_set(err, ERR_RATE_LIMITED,
                     "Too many logins wait for a confirmation; try again in some minutes.");
}

int device_begin(struct db *db, const struct keyring *ring, const char *client, const char *address,
                 struct device *device, char text[SECRET_TEXT_SIZE], struct error **err)
{
    char code[DEVICE_LETTERS + 1];
    struct secret_hash kept;
    if (check_client(client, err) < 0 || attempt_charge_device(db, address, err) < 0 ||
        check_crowd(db, address, err) < 0)
        return -1;
    *device =
        (struct device){.created_at_ms = clock_now_ms(), .expires_at_ms = clock_in_s(DEVICE_TTL_S)};
    snprintf(device->client, sizeof device->client, "%s", client);
    snprintf(device->address, sizeof device->address, "%s", address);
    for (int i = 0; i < CODE_TRIES; i++) {
        error_clear(err);
        make_code(code);
        show_code(code, device->user_code);
        if (secret_text_new(ring, ID_PREFIX, device->id, text, &kept, err) < 0)
            return -1;
        if (device_row_insert(db, device, code, &kept, err) == 0)
            return 0;
        if ((*err)->code != ERR_DB_DUPLICATE)
            return -1;
    }
    return -1;
}

/* --- confirming --- */

static int no_device(struct error **err)
{
    return error_set(err, ERR_NOT_FOUND,
                     "This code is unknown, was used, or has expired; start the login again.");
}

int device_find(struct db *db, const char *user_name, const char *text, struct device *device,
                struct error **err)
{
    char code[DEVICE_LETTERS + 1];
    bool found;
    *device = (struct device){.id = ""};
    if (attempt_charge_confirm(db, user_name, err) < 0)
        return -1;
    if (read_code(text, code) < 0)
        return no_device(err);
    if (device_row_find_code(db, code, &found, device, err) < 0)
        return -1;
    if (!found)
        return no_device(err);
    show_code(code, device->user_code);
    return attempt_refund_confirm(db, user_name, err);
}

int device_decide(struct db *db, const struct device_answer *answer, const char *text,
                  struct error **err)
{
    struct device device;
    char code[DEVICE_LETTERS + 1];
    bool decided;
    if (device_find(db, answer->user_name, text, &device, err) < 0)
        return -1;
    if (read_code(text, code) < 0 || device_row_decide(db, code, answer, &decided, err) < 0)
        return -1;
    return decided ? 0 : no_device(err);
}

/* --- polling --- */

static int expired(struct error **err)
{
    return error_set(err, ERR_EXPIRED_TOKEN,
                     "This login is unknown, is complete, or has expired; start another one.");
}

static int judge(struct db *db, const char *id, const struct device_row *row, struct error **err)
{
    int64_t now_ms = clock_now_ms();
    if (row->state == DEVICE_REFUSED || (row->state == DEVICE_APPROVED && !row->is_current))
        return error_set(err, ERR_ACCESS_DENIED, "A user refused the login in the console.");
    if (now_ms > row->expires_at_ms)
        return expired(err);
    if (row->state == DEVICE_APPROVED)
        return 0;
    if (device_row_polled(db, id, now_ms + POLL_WAIT_MS, err) < 0)
        return -1;
    if (now_ms < row->poll_at_ms)
        return error_set(err, ERR_SLOW_DOWN, "Wait %d seconds between two requests.",
                         DEVICE_INTERVAL_S);
    return error_set(err, ERR_AUTHORIZATION_PENDING,
                     "The code is not confirmed yet; try again in %d seconds.", DEVICE_INTERVAL_S);
}

static int make_key(struct db *db, const struct keyring *ring, const struct settings *settings,
                    const struct device_row *row, struct api_key *key,
                    char key_text[API_KEY_TEXT_SIZE], struct error **err)
{
    autofree char *name = xasprintf("sandlot on %s", row->client);
    const struct api_key_request wanted = {
        .user_id = row->user.id,
        .name = name,
        .can_write = true,
        .expires_at_ms = clock_in_s(settings->device_key_ttl_s),
        .login_id = *row->login_id ? row->login_id : NULL,
    };
    return api_key_create(db, ring, &wanted, key, key_text, err);
}

int device_take_key(struct db *db, const struct keyring *ring, const struct settings *settings,
                    const char *text, struct api_key *key, char key_text[API_KEY_TEXT_SIZE],
                    struct device_user *user, struct error **err)
{
    char id[ID_SIZE];
    struct device_row row;
    bool taken;
    if (secret_text_id(ID_PREFIX, text, id) < 0)
        return expired(err);
    if (device_row_find(db, id, &row, err) < 0)
        return -1;
    if (row.state == DEVICE_ABSENT || !secret_text_matches(ring, text, &row.kept))
        return expired(err);
    *user = row.user;
    if (judge(db, id, &row, err) < 0 || device_row_take(db, id, &taken, err) < 0)
        return -1;
    return taken ? make_key(db, ring, settings, &row, key, key_text, err) : expired(err);
}
