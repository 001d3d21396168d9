/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "login/login.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "login/login_row.h"

#define ID_PREFIX          "lgn_"
#define SEEN_RESOLUTION_MS 60000

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t login_ends_at_ms(const struct login *login)
{
    return earlier(login->idle_at_ms, login->expires_at_ms);
}

/* Copy the printable ASCII characters, cut to size; others become '?'. */
static void copy_agent(const char *agent, char out[LOGIN_AGENT_SIZE])
{
    size_t length = 0;
    for (; agent && *agent && length < LOGIN_AGENT_SIZE - 1; agent++)
        out[length++] = *agent >= ' ' && *agent < 0x7f ? *agent : '?';
    out[length] = '\0';
}

/* The idle end is never after the absolute end, so one column shows when a row is over. */
static int64_t next_idle_ms(const struct settings *settings, int64_t now_ms, int64_t expires_at_ms)
{
    return earlier(now_ms + (int64_t)settings->login_idle_s * 1000, expires_at_ms);
}

int login_begin(struct db *db, const struct keyring *ring, const struct settings *settings,
                const struct login_request *request, struct login *login,
                char text[SECRET_TEXT_SIZE], struct error **err)
{
    struct secret_hash kept;
    int64_t now_ms = clock_now_ms();
    *login = (struct login){
        .method = request->method,
        .created_at_ms = now_ms,
        .last_seen_at_ms = now_ms,
        .expires_at_ms = now_ms + (int64_t)settings->login_max_s * 1000,
    };
    login->idle_at_ms = next_idle_ms(settings, now_ms, login->expires_at_ms);
    snprintf(login->user_id, sizeof login->user_id, "%s", request->user_id);
    snprintf(login->user_name, sizeof login->user_name, "%s", request->user_name);
    snprintf(login->address, sizeof login->address, "%s", request->address);
    copy_agent(request->user_agent, login->user_agent);
    int result = secret_text_new(ring, ID_PREFIX, login->id, text, &kept, err);
    if (result == 0)
        result = login_row_insert(db, login, request->epoch, &kept, err);
    if (result < 0)
        mem_wipe(text, SECRET_TEXT_SIZE);
    mem_wipe(&kept, sizeof kept);
    return result;
}

static int refuse(struct error **err)
{
    return error_set(err, ERR_UNAUTHORIZED,
                     "Sign in: the request has no sign-in, or the sign-in has ended.");
}

/* Record the request. A failure does not refuse the request. */
static void note_seen(struct db *db, const struct settings *settings, struct login *login)
{
    error_auto err = NULL;
    int64_t now_ms = clock_now_ms();
    /* A short idle time needs a finer resolution. */
    int64_t resolution_ms =
        earlier(SEEN_RESOLUTION_MS, (int64_t)settings->login_idle_s * 1000 / 60);
    if (login->last_seen_at_ms > now_ms - resolution_ms)
        return;
    login->last_seen_at_ms = now_ms;
    login->idle_at_ms = next_idle_ms(settings, now_ms, login->expires_at_ms);
    if (login_row_seen(db, login->id, now_ms, login->idle_at_ms, &err) < 0)
        log_warning("cannot record the last request of a sign-in; it may end early",
                    LOG_STR("login", login->id), LOG_ERROR(err));
}

int login_check(struct db *db, const struct keyring *ring, const char *text,
                struct principal *principal, struct login *login, struct error **err)
{
    char id[ID_SIZE];
    struct secret_hash kept = {0};
    bool found = false;
    *principal = (struct principal){0};
    if (!text || secret_text_id(ID_PREFIX, text, id) < 0)
        return refuse(err);
    int result = login_row_find(db, id, &found, login, &kept, principal, err);
    if (result == 0 && (!found || !secret_text_matches(ring, text, &kept) ||
                        login_ends_at_ms(login) <= clock_now_ms()))
        result = refuse(err);
    mem_wipe(&kept, sizeof kept);
    if (result < 0)
        principal_deinit(principal);
    return result;
}

int login_authenticate(struct db *db, const struct keyring *ring, const struct settings *settings,
                       const char *text, struct principal *principal, struct login *login,
                       struct error **err)
{
    if (login_check(db, ring, text, principal, login, err) < 0)
        return -1;
    note_seen(db, settings, login);
    return 0;
}
