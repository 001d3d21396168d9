/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates, from which sandboxes start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

#define FOLLOW_S 1

const struct cli_option template_options[] = {
    {"team", 0, "TEAM", "whose it is"},
    {NULL, 0, NULL, NULL},
};

/* Return "/v1/templates/SLUG", the rest of the path and the team; the caller frees it. */
static char *template_path(const struct cli_call *call, const char *behind)
{
    const char *team = cli_value(call, "team");
    autofree char *path = api_path("/v1/templates/", behind, cli_operand(call, 0));
    autofree char *query = api_path("?team=", "", team ? team : "");
    return xasprintf("%s%s", path, team ? query : "");
}

int verb_template_list(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {{"NAME", "slug"},
                                                   {"TEAM", "team"},
                                                   {"VERSION", "latest_version"},
                                                   {"MIB", "size_mb"},
                                                   {"CREATED", "created_at"}};
    const char *team = cli_value(call, "team");
    autofree char *path = api_path("/v1/templates?team=", "", team ? team : "");
    json_auto_t *answer = NULL;
    if (api_call(call->cli, "GET", team ? path : "/v1/templates", NULL, &answer, err) < 0)
        return -1;
    output_rows(call->cli, "templates", json_incref(json_object_get(answer, "templates")), columns,
                ARRAY_SIZE(columns));
    return 0;
}

int verb_template_show(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {
        {"VERSION", "version"},
        {"ID", "id"},
        {"STATE", "state"},
        {"CPU", "runtime_baseline.cpu"},
        {"MEMORY", "runtime_baseline.memory_mb"},
        {"TAGS", "tags"},
        {"MIB", "size_mb"},
        {"CREATED", "created_at"},
    };
    autofree char *path = template_path(call, "/versions");
    json_auto_t *answer = NULL;
    if (api_call(call->cli, "GET", path, NULL, &answer, err) < 0)
        return -1;
    output_rows(call->cli, "versions", json_incref(json_object_get(answer, "versions")), columns,
                ARRAY_SIZE(columns));
    return 0;
}

/* --- builds --- */

const struct cli_option template_log_options[] = {
    {"team", 0, "TEAM", "whose it is"},
    {"follow", 'f', NULL, "print new lines until the build has ended"},
    {NULL, 0, NULL, NULL},
};

const struct cli_option template_build_options[] = {
    {"checkpoint", 0, "CHECKPOINT", "make it of this checkpoint"},
    {"image", 0, "IMAGE", "make it of this OCI image"},
    {"host-image", 0, "IMAGE", "make it of this image that the operator has allowed"},
    {"registry-user", 0, "USER", "sign in at the image's registry; the password is read"},
    {"start-image-command", 0, NULL, "sandboxes begin with the image's own command"},
    {"team", 0, "TEAM", "whose it is"},
    {"cpu", 0, "COUNT", "processors of its sandboxes"},
    {"memory", 'm', "MIB", "memory of its sandboxes"},
    {"follow", 'f', NULL, "show the log until the build has ended"},
    {NULL, 0, NULL, NULL},
};

/* Print the new lines of the log; fail when the build failed. */
static int print_log(struct cli_call *call, const char *version, bool follow, struct error **err)
{
    autofree char *behind = api_path("/versions/", "", version);
    autofree char *path = template_path(call, behind);
    size_t printed = 0;
    for (;;) {
        json_auto_t *answer = NULL;
        if (api_call(call->cli, "GET", path, NULL, &answer, err) < 0)
            return -1;
        const char *log = json_string_value(json_object_get(answer, "log"));
        const char *state = json_string_value(json_object_get(answer, "state"));
        size_t size = log ? strlen(log) : 0;
        autofree char *more = printable(size > printed ? log + printed : "", "\n\t");
        fputs(isatty(STDOUT_FILENO) ? more : size > printed ? log + printed : "", stdout);
        printed = size;
        fflush(stdout);
        if (str_equal(state, "failed"))
            return error_set(err, ERR_INTERNAL, "the build of version %s failed", version);
        if (!follow || !str_equal(state, "building"))
            return 0;
        sleep(FOLLOW_S);
    }
}

int verb_template_log(struct cli_call *call, struct error **err)
{
    const char *version = cli_operand(call, 1);
    autofree char *latest = NULL;
    if (!version) {
        json_auto_t *answer = NULL;
        autofree char *path = template_path(call, "/versions");
        json_int_t highest = 0;
        size_t index;
        json_t *row;
        if (api_call(call->cli, "GET", path, NULL, &answer, err) < 0)
            return -1;
        json_array_foreach (json_object_get(answer, "versions"), index, row) {
            json_int_t number = json_integer_value(json_object_get(row, "version"));
            highest = number > highest ? number : highest;
        }
        version = latest = xasprintf("%lld", (long long)highest);
    }
    return print_log(call, version, cli_flag(call, "follow"), err);
}

/* The password is in no argument, where other users of the machine would see it. */
static int add_login(const struct cli_call *call, json_t *body, struct error **err)
{
    const char *user = cli_value(call, "registry-user");
    if (!user)
        return 0;
    if (!cli_value(call, "image"))
        return cli_misuse(err, "--registry-user goes with --image");
    autowipe char *password = terminal_read_secret("Password at the registry: ");
    if (!password || !*password)
        return cli_misuse(err, "--registry-user needs a password on the standard input");
    json_object_set_new(body, "registry_login",
                        json_pack("{s:s, s:s}", "user", user, "password", password));
    return 0;
}

static int build_body(const struct cli_call *call, json_t *body, struct error **err)
{
    json_auto_t *baseline = json_object();
    unsigned origins = !!cli_value(call, "checkpoint") + !!cli_value(call, "image") +
                       !!cli_value(call, "host-image");
    if (origins != 1)
        return cli_misuse(err, "a template is made of one of --image, --checkpoint and "
                               "--host-image");
    input_text(body, "checkpoint_id", cli_value(call, "checkpoint"));
    input_text(body, "from_image", cli_value(call, "image"));
    input_text(body, "image", cli_value(call, "host-image"));
    if (cli_flag(call, "start-image-command"))
        json_object_set_new(body, "start_image_command", json_true());
    if (add_login(call, body, err) < 0)
        return -1;
    input_text(body, "team", cli_value(call, "team"));
    if (input_number(baseline, "cpu", cli_value(call, "cpu"), "--cpu", err) < 0 ||
        input_number(baseline, "memory_mb", cli_value(call, "memory"), "--memory", err) < 0)
        return -1;
    if (json_object_size(baseline))
        json_object_set(body, "runtime_baseline", baseline);
    return 0;
}

/* Another version where there is such a template, otherwise its first one. */
static int start_build(struct cli_call *call, json_t *body, json_t **version, struct error **err)
{
    autofree char *path = api_path("/v1/templates/", "/versions", cli_operand(call, 0));
    error_auto failed = NULL;
    json_auto_t *made = NULL;
    if (api_call(call->cli, "POST", path, json_incref(body), version, &failed) == 0)
        return 0;
    if (failed->code != ERR_NOT_FOUND)
        return error_move(err, &failed);
    input_text(body, "slug", cli_operand(call, 0));
    if (api_call(call->cli, "POST", "/v1/templates", json_incref(body), &made, err) < 0)
        return -1;
    *version = json_incref(json_object_get(made, "version"));
    return 0;
}

int verb_template_build(struct cli_call *call, struct error **err)
{
    json_auto_t *body = json_object();
    json_t *version = NULL;
    if (build_body(call, body, err) < 0 || start_build(call, body, &version, err) < 0)
        return -1;
    autofree char *number =
        xasprintf("%lld", (long long)json_integer_value(json_object_get(version, "version")));
    output_result(call->cli, version, "version");
    fflush(stdout);
    return cli_flag(call, "follow") ? print_log(call, number, true, err) : 0;
}

int verb_template_tag(struct cli_call *call, struct error **err)
{
    autofree char *behind = api_path("/tags/", "", cli_operand(call, 1));
    autofree char *path = api_path("/v1/templates/", behind, cli_operand(call, 0));
    json_t *body = json_object();
    input_text(body, "team", cli_value(call, "team"));
    if (input_number(body, "version", cli_operand(call, 2), "VERSION", err) < 0) {
        json_decref(body);
        return -1;
    }
    return api_call(call->cli, "PUT", path, body, NULL, err);
}

int verb_template_untag(struct cli_call *call, struct error **err)
{
    autofree char *behind = api_path("/tags/", "", cli_operand(call, 1));
    autofree char *path = template_path(call, behind);
    return api_call(call->cli, "DELETE", path, NULL, NULL, err);
}

int verb_template_rm(struct cli_call *call, struct error **err)
{
    const char *version = cli_operand(call, 1);
    autofree char *behind = version ? api_path("/versions/", "", version) : xstrdup("");
    autofree char *path = template_path(call, behind);
    return api_call(call->cli, "DELETE", path, NULL, NULL, err);
}
