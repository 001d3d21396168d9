/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/device_login.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/printable.h"
#include "cli/api.h"

#define GRANT_TYPE     "urn:ietf:params:oauth:grant-type:device_code"
#define CLIENT_MAX     40
#define SLOWER_S       5
#define INTERVAL_MAX_S 60

/* Without a key, which there is not yet. */
static int call(struct cli *cli, const char *path, json_t *body, json_t **answer,
                struct error **err)
{
    autofree char *url = xasprintf("%s%s", cli->url, path);
    autowipe char *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    exchange_auto exchange = {.method = "POST",
                              .url = url,
                              .headers = {"Content-Type: application/json"},
                              .body = text,
                              .body_size = strlen(text)};
    if (exchange_run(cli, &exchange, err) < 0)
        return -1;
    if (exchange.status != 200)
        return api_error(&exchange, err);
    *answer = json_loadb(exchange.answer.data, exchange.answer.size, 0, NULL);
    mem_wipe(exchange.answer.data, exchange.answer.size);
    return json_is_object(*answer)
               ? 0
               : error_set(err, ERR_INTERNAL, "%s answered a text that is not JSON", url);
}

static void name_client(char name[CLIENT_MAX + 1])
{
    if (gethostname(name, CLIENT_MAX) < 0)
        name[0] = '\0';
    name[CLIENT_MAX] = '\0';
    for (char *at = name; *at; at++)
        if (!isgraph((unsigned char)*at))
            *at = '-';
    if (!*name)
        snprintf(name, CLIENT_MAX + 1, "a machine");
}

static void tell(const json_t *begun)
{
    printable_print(stderr, "Open %s\nand confirm the code %s there, within %d minutes.\n",
                    json_string_value(json_object_get(begun, "verification_uri_complete")),
                    json_string_value(json_object_get(begun, "user_code")),
                    (int)json_integer_value(json_object_get(begun, "expires_in")) / 60);
}

static int take_key(struct cli *cli, const json_t *answer, struct error **err)
{
    json_t *key = json_object_get(answer, "access_token");
    if (!json_is_string(key))
        return error_set(err, ERR_INTERNAL, "the answer of %s has no key", cli->url);
    cli->key = xstrdup(json_string_value(key));
    mem_wipe((char *)json_string_value(key), json_string_length(key));
    return 0;
}

/* The service has its own bound for how long this may take, and says so. */
static int wait_for_key(struct cli *cli, const json_t *begun, struct error **err)
{
    json_int_t interval_s = json_integer_value(json_object_get(begun, "interval"));
    interval_s = interval_s < 1 ? 1 : interval_s > INTERVAL_MAX_S ? INTERVAL_MAX_S : interval_s;
    for (;;) {
        json_auto_t *answer = NULL;
        error_auto failed = NULL;
        clock_sleep_ms((unsigned)interval_s * 1000);
        json_t *question = json_pack("{s:s, s:O}", "grant_type", GRANT_TYPE, "device_code",
                                     json_object_get(begun, "device_code"));
        if (call(cli, "/v1/device/token", question, &answer, &failed) == 0)
            return take_key(cli, answer, err);
        if (failed->code == ERR_SLOW_DOWN && interval_s < INTERVAL_MAX_S)
            interval_s += SLOWER_S;
        else if (failed->code != ERR_AUTHORIZATION_PENDING && failed->code != ERR_RATE_LIMITED &&
                 failed->code != ERR_RUNTIME_UNAVAILABLE)
            return error_move(err, &failed);
    }
}

int device_login(struct cli *cli, struct error **err)
{
    char name[CLIENT_MAX + 1];
    json_auto_t *begun = NULL;
    name_client(name);
    if (call(cli, "/v1/device/authorize", json_pack("{s:s}", "client_name", name), &begun, err) < 0)
        return -1;
    tell(begun);
    return wait_for_key(cli, begun, err);
}
