/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds of templates: from an image, a checkpoint, or a Dockerfile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/context.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/verbs.h"

#define DOCKERFILE_BYTES_MAX 65536
#define SECRET_BYTES_MAX     65536

const struct cli_option template_build_options[] = {
    {"checkpoint", 0, "CHECKPOINT", "build it from this checkpoint"},
    {"image", 0, "IMAGE", "build it from this OCI image"},
    {"file", 'f', "FILE", "the Dockerfile; default: Dockerfile in DIRECTORY"},
    {"build-arg", 0, "NAME=VALUE", "the value of an ARG of the Dockerfile"},
    {"secret", 0, "id=NAME,src=FILE", "a secret for RUN --mount=type=secret,id=NAME"},
    {"target", 0, "STAGE", "the stage of the Dockerfile"},
    {"host-image", 0, "IMAGE",
     "build it from this image of the hosts, which the operator has allowed"},
    {"retry", 0, "VERSION", "repeat the failed build of this version"},
    {"registry-user", 0, "USER", "user at the image's registry; the program reads the password"},
    {"start-image-command", 0, NULL, "sandboxes run the image's own command at their start"},
    {"start-command", 0, "COMMAND", "sandboxes run this command at their start"},
    {"ready-command", 0, "COMMAND", "the build waits until this command succeeds"},
    {"services", 0, "FILE", "services of its sandboxes, a JSON array"},
    {"no-cache", 0, NULL, "run all steps, without the cached steps of earlier builds"},
    {"tag", 0, "TAG", "a tag of the version, once it is ready; may be repeated"},
    {"team", 0, "TEAM", "team of the template; default: your personal team"},
    {"cpu", 0, "COUNT", "processors of its sandboxes"},
    {"memory", 'm', "MIB", "memory of its sandboxes"},
    {"follow", 0, NULL, "show the log until the build has ended"},
    {NULL, 0, NULL, NULL},
};

/* The password is in no argument, where other users of the machine would see it. */
static int add_login(const struct cli_call *call, json_t *body, struct error **err)
{
    const char *user = cli_value(call, "registry-user");
    if (!user)
        return 0;
    if (cli_value(call, "checkpoint") || cli_value(call, "host-image"))
        return cli_misuse(err, "--registry-user needs --image or a Dockerfile");
    autowipe char *password = terminal_read_secret("Password at the registry: ");
    if (!password || !*password)
        return cli_misuse(err, "standard input has no password for --registry-user");
    json_object_set_new(body, "registry_login",
                        json_pack("{s:s, s:s}", "user", user, "password", password));
    return 0;
}

static void add_tags(const struct cli_call *call, json_t *body)
{
    json_auto_t *tags = json_array();
    const char *tag;
    size_t at = 0;
    while ((tag = cli_next_value(call, "tag", &at)))
        json_array_append_new(tags, json_string(tag));
    if (json_array_size(tags))
        json_object_set(body, "tags", tags);
}

/* --- Dockerfiles --- */

static const char *folder_of(const struct cli_call *call)
{
    const char *folder = cli_operand(call, 1);
    return folder ? folder : ".";
}

/* Return the path of the Dockerfile; the caller frees it. */
static char *dockerfile_of(const struct cli_call *call)
{
    const char *file = cli_value(call, "file");
    return file ? xstrdup(file) : xasprintf("%s/Dockerfile", folder_of(call));
}

/* "id=NAME,src=FILE": no value is in an argument, where other users of the machine would see it. */
static int add_secret(json_t *secrets, const char *given, struct error **err)
{
    const char *source = strstr(given, ",src=");
    autowipe char *text = NULL;
    if (!str_starts_with(given, "id=") || !source || source == given + strlen("id="))
        return cli_misuse(err, "write --secret as id=NAME,src=FILE, not '%s'", given);
    autofree char *name = xstrndup(given + strlen("id="), (size_t)(source - given) - strlen("id="));
    if (input_file(source + strlen(",src="), SECRET_BYTES_MAX, &text, err) < 0)
        return -1;
    json_t *value = json_string(text);
    if (!value)
        return cli_misuse(err, "the secret %s is not text in UTF-8", name);
    json_object_set_new(secrets, name, value);
    return 0;
}

static int read_dockerfile(const struct cli_call *call, json_t *body, struct error **err)
{
    autofree char *path = dockerfile_of(call), *text = NULL;
    json_auto_t *args = json_object(), *secrets = json_object();
    const char *value;
    size_t at = 0, next = 0;
    if (access(path, F_OK) < 0)
        return cli_misuse(err,
                          "there is no file %s: give a directory with a Dockerfile, --image, "
                          "--checkpoint or --host-image",
                          path);
    if (input_file(path, DOCKERFILE_BYTES_MAX, &text, err) < 0)
        return -1;
    json_t *content = json_string(text);
    if (!content)
        return error_set(err, ERR_INVALID_REQUEST, "%s is not text in UTF-8", path);
    json_object_set_new(body, "dockerfile", content);
    while ((value = cli_next_value(call, "build-arg", &at)))
        if (input_pair(args, value, err) < 0)
            return -1;
    while ((value = cli_next_value(call, "secret", &next)))
        if (add_secret(secrets, value, err) < 0)
            return -1;
    if (json_object_size(args))
        json_object_set(body, "build_args", args);
    if (json_object_size(secrets))
        json_object_set(body, "secrets", secrets);
    input_text(body, "target", cli_value(call, "target"));
    return 0;
}

static int pack(const struct cli_call *call, struct context *context, struct error **err)
{
    autofree char *dockerfile = dockerfile_of(call);
    autofree char *own = xasprintf("%s.dockerignore", dockerfile);
    autofree char *common = xasprintf("%s/.dockerignore", folder_of(call));
    return context_pack(context, folder_of(call), access(own, F_OK) == 0 ? own : common, err);
}

static int build_body(const struct cli_call *call, json_t *body, struct error **err)
{
    json_auto_t *baseline = json_object();
    unsigned origins = !!cli_value(call, "checkpoint") + !!cli_value(call, "image") +
                       !!cli_value(call, "host-image") + !!cli_value(call, "retry");
    bool has_folder = cli_operand(call, 1) || cli_value(call, "file");
    if (origins + has_folder > 1)
        return cli_misuse(err, "give exactly one source: a directory with a Dockerfile, --image, "
                               "--checkpoint, --host-image or --retry");
    if (!origins && read_dockerfile(call, body, err) < 0)
        return -1;
    if (origins &&
        (cli_value(call, "build-arg") || cli_value(call, "target") || cli_value(call, "secret")))
        return cli_misuse(err, "--build-arg, --secret and --target need a Dockerfile");
    input_text(body, "checkpoint_id", cli_value(call, "checkpoint"));
    input_text(body, "from_image", cli_value(call, "image"));
    input_text(body, "image", cli_value(call, "host-image"));
    if (input_number(body, "retry", cli_value(call, "retry"), "--retry", err) < 0)
        return -1;
    if (cli_flag(call, "start-image-command"))
        json_object_set_new(body, "start_image_command", json_true());
    input_text(body, "start_command", cli_value(call, "start-command"));
    input_text(body, "ready_command", cli_value(call, "ready-command"));
    if (cli_flag(call, "no-cache"))
        json_object_set_new(body, "no_cache", json_true());
    if (add_login(call, body, err) < 0 ||
        input_json(body, "services", cli_value(call, "services"), JSON_ARRAY, err) < 0)
        return -1;
    add_tags(call, body);
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
    if (failed->code != ERR_NOT_FOUND || cli_value(call, "retry"))
        return error_move(err, &failed);
    input_text(body, "slug", cli_operand(call, 0));
    if (api_call(call->cli, "POST", "/v1/templates", json_incref(body), &made, err) < 0)
        return -1;
    *version = json_incref(json_object_get(made, "version"));
    return 0;
}

/* Start the build of a Dockerfile. The deployment refuses it as long as it lacks the context: then
 * pack the context; then upload it, unless the deployment has this archive. */
static int start_with_context(struct cli_call *call, json_t *body, json_t **version,
                              struct error **err)
{
    struct context context = {.archive = NULL};
    bool uploaded = false;
    int result;
    for (;;) {
        error_auto refused = NULL;
        result = start_build(call, body, version, &refused);
        if (result == 0)
            break;
        if (uploaded || !str_equal(refused->field, "/context")) {
            error_move(err, &refused);
            break;
        }
        uploaded = context.archive != NULL;
        result = context.archive ? context_upload(call->cli, &context, cli_value(call, "team"), err)
                                 : pack(call, &context, err);
        if (result < 0)
            break;
        input_text(body, "context", context.hash);
    }
    context_deinit(&context);
    return result;
}

int verb_template_build(struct cli_call *call, struct error **err)
{
    json_auto_t *body = json_object();
    json_t *version = NULL;
    if (build_body(call, body, err) < 0 || start_with_context(call, body, &version, err) < 0)
        return -1;
    autofree char *number =
        xasprintf("%lld", (long long)json_integer_value(json_object_get(version, "version")));
    output_result(call->cli, version, "version");
    output_flush();
    return cli_flag(call, "follow") ? template_print_log(call, number, true, err) : 0;
}
