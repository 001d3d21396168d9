/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of receivers whose name servers do not answer. */
#include "unit/unit.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "dispatcher/webhook_names.h"

#define TEAM  "team_a"
#define OTHER "team_b"

/* --- a resolver of our own, in the place of the C library's --- */

static pthread_mutex_t silence = PTHREAD_MUTEX_INITIALIZER; /* held: silent names wait */
static atomic_uint silent, asked;

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **list)
{
    static struct sockaddr_in address;
    (void)service;
    (void)hints;
    atomic_fetch_add(&asked, 1);
    if (!strncmp(host, "silent", 6)) {
        atomic_fetch_add(&silent, 1);
        pthread_mutex_lock(&silence);
        pthread_mutex_unlock(&silence);
        atomic_fetch_sub(&silent, 1);
        return EAI_AGAIN;
    }
    if (!strncmp(host, "unknown", 7))
        return EAI_NONAME;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(0xcb007107);
    *list = calloc(1, sizeof **list);
    (*list)->ai_family = AF_INET;
    (*list)->ai_addr = (struct sockaddr *)&address;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    free(list);
}

/* --- tests --- */

/* As the loop of the delivery does it. */
static enum webhook_name_state find(struct webhook_names *names, const char *team, const char *host,
                                    const char **text)
{
    enum webhook_name_state state;
    while ((state = webhook_names_find(names, team, host, text)) == WEBHOOK_NAME_WAITS) {
        webhook_names_turn(names);
        clock_sleep_ms(1);
    }
    return state;
}

TEST(names_are_found_and_kept)
{
    struct webhook_names *names = webhook_names_open();
    const char *text;
    unsigned before = asked;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(find(names, TEAM, "hooks.example", &text), WEBHOOK_NAME_FOUND);
        assert_string_equal(text, "203.0.113.7");
    }
    assert_int_equal(asked - before, 1);
    assert_int_equal(find(names, TEAM, "unknown.example", &text), WEBHOOK_NAME_FAILED);
    assert_non_null(strstr(text, "not known"));
    webhook_names_close(names);
}

TEST(silent_names_of_a_team_delay_that_team_alone)
{
    struct webhook_names *names = webhook_names_open();
    const char *text;
    char host[32];
    pthread_mutex_lock(&silence);
    for (unsigned i = 0; i < 5 * WEBHOOK_NAMES_TEAM; i++) {
        snprintf(host, sizeof host, "silent%u.example", i);
        assert_int_equal(webhook_names_find(names, TEAM, host, &text), WEBHOOK_NAME_WAITS);
    }
    webhook_names_turn(names);
    while (silent < WEBHOOK_NAMES_TEAM)
        clock_sleep_ms(1);
    assert_int_equal(find(names, OTHER, "hooks.example", &text), WEBHOOK_NAME_FOUND);
    assert_int_equal(silent, WEBHOOK_NAMES_TEAM);
    /* Nothing waits for the threads, which end later. */
    webhook_names_close(names);
    assert_int_equal(silent, WEBHOOK_NAMES_TEAM);
    pthread_mutex_unlock(&silence);
    while (silent)
        clock_sleep_ms(1);
}
