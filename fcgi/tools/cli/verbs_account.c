/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deployments, keys and usage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/deployments.h"
#include "cli/device_login.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

/* --- deployments --- */

const struct cli_option login_options[] = {
    {"name", 'n', "NAME", "name for the deployment; default: its host name"},
    {"key", 'k', NULL, "read an API key, also at a terminal"},
    {"device", 0, NULL, "confirm the login in the console, also without a terminal"},
    {NULL, 0, NULL, NULL},
};

static char *host_of(const char *url)
{
    const char *host = strstr(url, "://");
    host = host ? host + 3 : url;
    return xstrndup(host, strcspn(host, "/"));
}

/* A user at a terminal confirms a code in the console, if there is one; scripts have keys. */
static int get_key(struct cli_call *call, struct error **err)
{
    struct cli *cli = call->cli;
    error_auto failed = NULL;
    bool is_forced = cli_flag(call, "device");
    mem_wipe_free(cli->key);
    cli->key = NULL;
    if (is_forced || (isatty(STDIN_FILENO) && !cli_flag(call, "key"))) {
        if (device_login(cli, &failed) == 0)
            return 0;
        if (is_forced || failed->code != ERR_NOT_FOUND)
            return error_move(err, &failed);
    }
    cli->key = terminal_read_secret("API key: ");
    if (!cli->key || !*cli->key)
        return cli_misuse(err, "standard input has no key");
    return 0;
}

static int keep(const struct cli *cli, const char *name, struct error **err)
{
    json_auto_t *document = NULL;
    autofree char *ca_file = cli->ca_file ? realpath(cli->ca_file, NULL) : NULL;
    if (deployments_load(&document, err) < 0)
        return -1;
    json_t *entry = json_pack("{s:s, s:s}", "url", cli->url, "key", cli->key);
    input_text(entry, "ca_file", ca_file);
    json_object_set_new(json_object_get(document, "deployments"), name, entry);
    json_object_set_new(document, "default", json_string(name));
    return deployments_save(document, err);
}

int verb_login(struct cli_call *call, struct error **err)
{
    struct cli *cli = call->cli;
    json_auto_t *me = NULL;
    const char *given = cli_operand(call, 0);
    free(cli->url);
    cli->url = str_starts_with(given, "https://") ? xstrdup(given) : xasprintf("https://%s", given);
    size_t length = strlen(cli->url);
    if (cli->url[length - 1] == '/')
        cli->url[length - 1] = '\0';
    if (!cli->ca_file)
        cli->ca_file = xstrdup_or_null(getenv("SANDLOT_CA"));
    if (get_key(call, err) < 0 || api_call(cli, "GET", "/v1/me", NULL, &me, err) < 0)
        return -1;
    autofree char *host = host_of(cli->url);
    const char *name = cli_value(call, "name");
    name = name ? name : cli->deployment ? cli->deployment : host;
    if (keep(cli, name, err) < 0)
        return -1;
    output_note(cli, "Logged in to %s as %s.", name,
                json_string_value(json_object_get(json_object_get(me, "user"), "name")));
    return 0;
}

int verb_logout(struct cli_call *call, struct error **err)
{
    json_auto_t *document = NULL;
    if (deployments_load(&document, err) < 0)
        return -1;
    json_t *entries = json_object_get(document, "deployments");
    const char *usual = json_string_value(json_object_get(document, "default"));
    const char *name = cli_operand(call, 0);
    name = name ? name : call->cli->deployment ? call->cli->deployment : usual;
    if (!name)
        return error_set(err, ERR_NOT_FOUND,
                         "you have not logged in; `sandlot deployments` lists the deployments");
    if (!json_object_get(entries, name))
        return error_set(err, ERR_NOT_FOUND, "there is no deployment '%s'", name);
    autofree char *gone = xstrdup(name);
    if (str_equal(usual, gone))
        json_object_del(document, "default");
    json_object_del(entries, gone);
    return deployments_save(document, err);
}

int verb_deployments(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {
        {"NAME", "name"}, {"URL", "url"}, {"CA", "ca_file"}, {"DEFAULT", "default"}};
    json_auto_t *document = NULL;
    json_t *rows = json_array();
    const char *name;
    json_t *entry;
    if (deployments_load(&document, err) < 0) {
        json_decref(rows);
        return -1;
    }
    const char *usual = json_string_value(json_object_get(document, "default"));
    json_object_foreach (json_object_get(document, "deployments"), name, entry) {
        json_t *row = json_pack("{s:s, s:b}", "name", name, "default", str_equal(name, usual));
        input_text(row, "url", json_string_value(json_object_get(entry, "url")));
        input_text(row, "ca_file", json_string_value(json_object_get(entry, "ca_file")));
        json_array_append_new(rows, row);
    }
    output_rows(call->cli, "deployments", rows, columns, ARRAY_SIZE(columns));
    return 0;
}

int verb_whoami(struct cli_call *call, struct error **err)
{
    json_t *me;
    if (api_call(call->cli, "GET", "/v1/me", NULL, &me, err) < 0)
        return -1;
    output_object(call->cli, me);
    return 0;
}

/* --- keys --- */

const struct cli_option key_create_options[] = {
    {"scope", 0, "read|write", "rights of the key; default: the rights of your key"},
    {"team", 0, "TEAM", "a team that the key reaches; may be repeated; default: those of your key"},
    {"expires", 0, "TIME|DURATION",
     "time at which the key expires: 2027-01-31T12:00:00Z, or a span such as 90d"},
    {NULL, 0, NULL, NULL},
};

/* The rights of --scope, or else those of the key that asks. */
static int find_scopes(struct cli_call *call, json_t **scopes, struct error **err)
{
    const char *asked = cli_value(call, "scope");
    json_auto_t *me = NULL;
    if (!asked && api_call(call->cli, "GET", "/v1/me", NULL, &me, err) < 0)
        return -1;
    const json_t *key = json_object_get(me, "key");
    *scopes = asked ? json_pack("[s]", asked) : json_deep_copy(json_object_get(key, "scopes"));
    if (*scopes)
        return 0;
    return error_set(err, ERR_INTERNAL, "the answer has no rights of your key");
}

int verb_key_create(struct cli_call *call, struct error **err)
{
    json_t *body, *key, *scopes;
    if (find_scopes(call, &scopes, err) < 0)
        return -1;
    body = json_pack("{s:o}", "scopes", scopes);
    input_text(body, "name", cli_operand(call, 0));
    input_time(body, "expires_at", cli_value(call, "expires"));
    input_texts(call, "team", body, "teams");
    if (api_call(call->cli, "POST", "/v1/keys", body, &key, err) < 0)
        return -1;
    output_result(call->cli, key, "key");
    output_note(call->cli, "sandlot shows the key only once.");
    return 0;
}

int verb_key_list(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {{"ID", "id"},
                                                   {"NAME", "name"},
                                                   {"SCOPES", "scopes"},
                                                   {"TEAMS", "teams"},
                                                   {"CREATED BY", "created_by"},
                                                   {"CREATED", "created_at"},
                                                   {"EXPIRES", "expires_at"},
                                                   {"USED", "last_used_at"}};
    return output_answer(call->cli, "/v1/keys", "keys", columns, ARRAY_SIZE(columns), err);
}

const struct cli_option key_revoke_options[] = {
    {"with-created", 0, NULL, "also revoke the API keys and SSH keys that this key created"},
    {NULL, 0, NULL, NULL},
};

int verb_key_revoke(struct cli_call *call, struct error **err)
{
    const char *query = cli_flag(call, "with-created") ? "?with_created=true" : "";
    autofree char *path = api_path("/v1/keys/", query, cli_operand(call, 0));
    return api_call(call->cli, "DELETE", path, NULL, NULL, err);
}

/* --- usage --- */

const struct cli_option usage_options[] = {
    {"team", 0, "TEAM", "this team; default: your personal team"},
    {"from", 0, "TIME|DURATION",
     "from this time on: 2026-11-01T00:00:00Z, or 30d ago; default: the first of this month"},
    {"to", 0, "TIME|DURATION", "until this time, or this span ago; default: now"},
    {NULL, 0, NULL, NULL},
};

int verb_usage(struct cli_call *call, struct error **err)
{
    buffer_auto path = BUFFER_INIT(4096);
    json_t *answer;
    buffer_append_string(&path, "/v1/usage");
    api_add_query(&path, "team", cli_value(call, "team"));
    api_add_time(&path, "from", cli_value(call, "from"));
    api_add_time(&path, "to", cli_value(call, "to"));
    if (api_call(call->cli, "GET", buffer_string(&path), NULL, &answer, err) < 0)
        return -1;
    if (!call->cli->json) {
        json_object_del(json_object_get(answer, "runtime"), "sizes");
        json_object_del(json_object_get(answer, "storage"), "sizes");
    }
    output_object(call->cli, answer);
    return 0;
}

/* --- limits --- */

const struct cli_option limits_options[] = {
    {"team", 0, "TEAM", "this team; default: your personal team"},
    {NULL, 0, NULL, NULL},
};

int verb_limits(struct cli_call *call, struct error **err)
{
    buffer_auto path = BUFFER_INIT(4096);
    json_t *answer;
    buffer_append_string(&path, "/v1/sandbox_limits");
    api_add_query(&path, "team", cli_value(call, "team"));
    if (api_call(call->cli, "GET", buffer_string(&path), NULL, &answer, err) < 0)
        return -1;
    if (!call->cli->json)
        json_object_del(answer, "plans");
    output_object(call->cli, answer);
    return 0;
}
