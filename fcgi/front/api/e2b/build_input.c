/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Translate the builds of E2B's clients into steps of /v1. */
#include <string.h>

#include "api/e2b/builds.h"
#include "api/e2b/e2b.h"
#include "base/mem.h"
#include "base/str.h"
#include "recipe/recipe.h"
#include "template/template_tag.h"

#define BASE_IMAGE   "e2bdev/base" /* the base image of E2B's clients without an explicit base */
#define GOOGLE_USER  "_json_key"   /* at a registry of Google, where a key is the password */
#define BUSYBOX      "/usr/lib/sandlot/busybox " /* of each version from an image */

#define AWS_WORD_MAX 128
#define LOWER        "abcdefghijklmnopqrstuvwxyz"
#define UPPER        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS       "0123456789"

static const struct schema_member tag_item = {
    .type = SCHEMA_STRING, .min = 1, .max = TEMPLATE_TAG_MAX};
const struct schema_member e2b_build_schema[] = {
    {.name = "name", .type = SCHEMA_STRING, .min = 1, .max = 191},
    {.name = "alias", .type = SCHEMA_STRING, .min = 1, .max = 191},
    {.name = "tags", .type = SCHEMA_ARRAY, .max = TEMPLATE_TAGS_MAX, .item = &tag_item},
    {.name = "cpuCount", .type = SCHEMA_INTEGER, .min = 1, .max = 1024},
    {.name = "memoryMB", .type = SCHEMA_INTEGER, .min = 1, .max = 16777216},
    {.name = "minFreeDiskMb", .type = SCHEMA_INTEGER, .min = 0, .max = INT32_MAX},
    {.name = "teamID", .type = SCHEMA_STRING, .min = 1, .max = 191},
    {.name = NULL}};

static const struct schema_member arg_item = {.type = SCHEMA_STRING, .max = RECIPE_COMMAND_MAX};
/* E2B's clients send all members that they know for a step. */
static const struct schema_member step_members[] = {
    {.name = "type", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 32},
    {.name = "args", .type = SCHEMA_ARRAY, .max = 512, .item = &arg_item},
    {.name = "filesHash", .type = SCHEMA_STRING, .max = 64},
    {.name = "force", .type = SCHEMA_BOOLEAN},
    {.name = "forceUpload", .type = SCHEMA_BOOLEAN},
    {.name = "resolveSymlinks", .type = SCHEMA_BOOLEAN},
    {.name = "gzip", .type = SCHEMA_BOOLEAN},
    {.name = NULL}};
static const struct schema_member step_item = {.type = SCHEMA_OBJECT, .members = step_members};
static const struct schema_member login_members[] = {
    {.name = "type", .type = SCHEMA_STRING, .required = true, .min = 1, .max = 32},
    {.name = "username", .type = SCHEMA_STRING, .max = REGISTRY_USER_MAX},
    {.name = "password", .type = SCHEMA_STRING, .max = REGISTRY_PASSWORD_MAX},
    {.name = "serviceAccountJson", .type = SCHEMA_STRING, .max = REGISTRY_PASSWORD_MAX},
    {.name = "awsAccessKeyId", .type = SCHEMA_STRING, .max = AWS_WORD_MAX},
    {.name = "awsSecretAccessKey", .type = SCHEMA_STRING, .max = AWS_WORD_MAX},
    {.name = "awsRegion", .type = SCHEMA_STRING, .max = AWS_WORD_MAX},
    {.name = NULL}};
const struct schema_member e2b_build_start_schema[] = {
    {.name = "fromImage", .type = SCHEMA_STRING, .min = 1, .max = IMAGE_NAME_MAX},
    {.name = "fromTemplate", .type = SCHEMA_STRING, .min = 1, .max = 191},
    {.name = "fromImageRegistry", .type = SCHEMA_OBJECT, .members = login_members},
    {.name = "steps", .type = SCHEMA_ARRAY, .max = RECIPE_STEPS_MAX, .item = &step_item},
    {.name = "startCmd", .type = SCHEMA_STRING, .max = RECIPE_COMMAND_MAX},
    {.name = "readyCmd", .type = SCHEMA_STRING, .max = RECIPE_COMMAND_MAX},
    {.name = "force", .type = SCHEMA_BOOLEAN},
    {.name = NULL}};

/* --- steps --- */

static const char *arg(const json_t *args, size_t at)
{
    const char *text = json_string_value(json_array_get(args, at));
    return text ? text : "";
}

static void set_text(json_t *step, const char *name, const char *text)
{
    if (*text)
        json_object_set_new(step, name, json_string(text));
}

static void read_envs(const json_t *args, json_t *step)
{
    json_t *envs = json_object();
    for (size_t i = 0; i + 1 < json_array_size(args); i += 2)
        json_object_set(envs, arg(args, i), json_array_get(args, i + 1));
    json_object_set_new(step, "envs", envs);
    json_object_set_new(step, "expand", json_true());
}

/* As at E2B, a pattern means the folder with which it begins: the archive has only the files that
 * match, with their folders. */
static void set_source(json_t *step, const char *pattern)
{
    size_t at = 0, length = 0;
    for (; pattern[at] && !strchr("*?[{", pattern[at]); at++) {
        if (pattern[at] == '/')
            length = at;
        else if (pattern[at] == '\\' && pattern[at + 1])
            at++;
    }
    autofree char *folder = pattern[at] ? xstrndup(pattern, length) : xstrdup(pattern);
    set_text(step, "source", *folder ? folder : ".");
}

/* The least and the most arguments of each type; most 0: pairs of arguments. */
static const struct step_kind {
    const char *theirs, *ours;
    size_t least, most;
} kinds[] = {
    {"RUN", "run", 1, 2},   {"COPY", "copy", 2, 4}, {"ADD", "copy", 2, 4},
    {"ENV", "env", 2, 0},   {"ARG", "env", 2, 0},   {"WORKDIR", "workdir", 1, 1},
    {"USER", "user", 1, 1},
};

static const struct step_kind *find_kind(const char *type)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (str_equal(kinds[i].theirs, type))
            return &kinds[i];
    return NULL;
}

static int refuse(struct error **err, size_t at, const char *member, const char *message)
{
    autofree char *field = xasprintf("/steps/%zu/%s", at, member);
    return error_set_field(err, ERR_INVALID_REQUEST, field, "%s", message);
}

static int check_args(const struct step_kind *kind, const json_t *args, size_t at,
                      struct error **err)
{
    size_t count = json_array_size(args);
    bool fits = count >= kind->least && (kind->most ? count <= kind->most : count % 2 == 0);
    for (size_t i = 0; i < kind->least && fits; i++)
        fits = *arg(args, i) || (str_equal(kind->ours, "env") && i);
    return fits
               ? 0
               : refuse(err, at, "args",
                        "A step of this type needs other arguments, and no argument can be empty.");
}

static int read_step(const json_t *theirs, size_t at, json_t *steps, struct error **err)
{
    const json_t *args = json_object_get(theirs, "args");
    const struct step_kind *kind = find_kind(json_string_value(json_object_get(theirs, "type")));
    const char *hash = json_string_value(json_object_get(theirs, "filesHash"));
    if (!kind)
        return refuse(err, at, "type", "The type must be RUN, COPY, ENV, WORKDIR or USER.");
    if (check_args(kind, args, at, err) < 0)
        return -1;
    if (str_equal(kind->ours, "copy") && !hash)
        return refuse(err, at, "filesHash", "A COPY step needs filesHash.");
    json_t *step = json_pack("{s:s}", "type", kind->ours);
    json_array_append_new(steps, step);
    if (str_equal(kind->ours, "run")) {
        set_text(step, "command", arg(args, 0));
        set_text(step, "user", arg(args, 1));
    } else if (str_equal(kind->ours, "copy")) {
        set_text(step, "files", hash);
        set_source(step, arg(args, 0));
        set_text(step, "destination", arg(args, 1));
        set_text(step, "user", arg(args, 2));
        set_text(step, "mode", arg(args, 3));
    } else if (str_equal(kind->ours, "env"))
        read_envs(args, step);
    else if (str_equal(kind->ours, "user")) {
        set_text(step, "user", arg(args, 0));
        set_text(step, "number", RECIPE_NEW_USER);
    } else
        set_text(step, "path", arg(args, 0));
    return 0;
}

static void add_command(const json_t *body, const char *name, json_t *recipe, const char *ours)
{
    const json_t *command = json_object_get(body, name);
    if (command && json_string_length(command))
        json_object_set(recipe, ours, (json_t *)(uintptr_t)command);
}

/* The ready commands that E2B's packages make need tools that many images lack. At E2B all images
 * get them. Each function here answers as its tool does to the words of this command. */
static const struct {
    const char *begin, *function;
} helpers[] = {
    {"[ -n \"$(ss -Htuln sport = :", "command -v ss >/dev/null || ss() { " BUSYBOX
                                     "netstat -tuln | " BUSYBOX "grep -e \"$4 \"; }\n"},
    {"curl -s -o /dev/null -w \"%{http_code}\" ",
     "command -v curl >/dev/null || curl() { " BUSYBOX "wget -S -O /dev/null \"$6\" 2>&1 | " BUSYBOX
     "sed -n '/HTTP\\//{s/.*HTTP\\/[0-9.]* \\([0-9]*\\).*/\\1/p;q}'; }\n"},
    {"pgrep ", "command -v pgrep >/dev/null || pgrep() { " BUSYBOX
               "cat /proc/[0-9]*/comm 2>/dev/null | " BUSYBOX "grep -e \"$1\"; }\n"},
};

static void add_ready_command(const json_t *body, json_t *recipe)
{
    const char *command = json_string_value(json_object_get(body, "readyCmd"));
    add_command(body, "readyCmd", recipe, "ready_command");
    for (size_t i = 0; command && i < ARRAY_SIZE(helpers); i++)
        if (str_starts_with(command, helpers[i].begin)) {
            autofree char *whole = xasprintf("%s%s", helpers[i].function, command);
            json_object_set_new(recipe, "ready_command", json_string(whole));
        }
}

int e2b_build_recipe(const json_t *body, json_t **recipe, struct error **err)
{
    json_auto_t *steps = json_array();
    size_t at;
    json_t *step;
    bool forced = json_is_true(json_object_get(body, "force"));
    json_array_foreach (json_object_get(body, "steps"), at, step) {
        if (read_step(step, at, steps, err) < 0)
            return -1;
        forced = forced || json_is_true(json_object_get(step, "force"));
    }
    *recipe = json_pack("{s:O, s:b, s:b}", "steps", steps, "no_cache", (int)forced,
                        RECIPE_KEEPS_START, 1);
    add_command(body, "startCmd", *recipe, "start_command");
    add_ready_command(body, *recipe);
    return 0;
}

/* Rename the members of /v1 in the refusal of a step. */
void e2b_build_rename(struct error *error)
{
    char *member = error->field ? strrchr(error->field, '/') : NULL;
    if (!member || !str_starts_with(error->field, "/steps/"))
        return;
    autofree char *old = error->field;
    bool is_type = str_equal(member, "/type"), is_files = str_equal(member, "/files");
    error->field = xasprintf("%.*s/%s", (int)(member - old), old,
                             is_type    ? "type"
                             : is_files ? "filesHash"
                                        : "args");
}

/* --- the base --- */

static bool is_their_base(const char *image)
{
    size_t length = strlen(BASE_IMAGE);
    return !strncmp(image, BASE_IMAGE, length) && (!image[length] || image[length] == ':');
}

/* The members of a login of each type. */
static const struct login_kind {
    const char *type, *user, *password, *region, *needed;
} login_kinds[] = {
    {"registry", "username", "password", NULL, "username and password"},
    {"gcp", NULL, "serviceAccountJson", NULL, "serviceAccountJson"},
    {"aws", "awsAccessKeyId", "awsSecretAccessKey", "awsRegion",
     "awsAccessKeyId, awsSecretAccessKey and awsRegion"},
};

static const struct login_kind *find_login_kind(const char *type)
{
    for (size_t i = 0; i < ARRAY_SIZE(login_kinds); i++)
        if (str_equal(login_kinds[i].type, type))
            return &login_kinds[i];
    return NULL;
}

static const char *login_text(const json_t *login, const char *member)
{
    return member ? json_string_value(json_object_get(login, member)) : NULL;
}

static bool is_word(const char *text, const char *characters)
{
    return *text && !text[strspn(text, characters)];
}

/* Check a login at AWS. Both words go into the request for the password, and the password is for
 * AWS's own registries. */
static int check_aws(const struct api *api, const struct recipe_image *image, struct error **err)
{
    struct image_reference place;
    error_auto later = NULL; /* the name of the image is refused with the steps */
    if (!is_word(image->user, LOWER UPPER DIGITS) || !is_word(image->aws_region, LOWER DIGITS "-"))
        return error_set_field(err, ERR_INVALID_REQUEST, "fromImageRegistry",
                               "awsAccessKeyId must be letters and digits, and awsRegion the name "
                               "of a region, such as us-east-1.");
    if (image_reference_parse(image->name, api->settings->image_registry_default, &place, &later) <
            0 ||
        str_ends_with(place.registry, ".amazonaws.com") ||
        str_ends_with(place.registry, ".amazonaws.com.cn"))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "fromImageRegistry",
                           "A login of type aws is for images of ACCOUNT.dkr.ecr.REGION.amazonaws"
                           ".com, and not of %.200s.",
                           place.registry);
}

static int read_login(const struct api *api, const json_t *body, struct template_origin *origin,
                      struct error **err)
{
    const json_t *login = json_object_get(body, "fromImageRegistry");
    struct recipe_image *image = &origin->image;
    if (!login)
        return 0;
    const struct login_kind *kind = find_login_kind(login_text(login, "type"));
    if (!kind)
        return error_set_field(err, ERR_NOT_SERVED, "fromImageRegistry",
                               "This deployment supports logins of type registry, gcp and aws "
                               "only.");
    image->user = kind->user ? login_text(login, kind->user) : GOOGLE_USER;
    image->password = login_text(login, kind->password);
    image->aws_region = login_text(login, kind->region);
    if (!image->user || !image->password || !image->aws_region != !kind->region)
        return error_set_field(err, ERR_INVALID_REQUEST, "fromImageRegistry",
                               "A login of this type needs %s.", kind->needed);
    return kind->region ? check_aws(api, image, err) : 0;
}

int e2b_build_origin(struct api *api, const json_t *body, char **base,
                     struct template_origin *origin, struct error **err)
{
    const char *image = json_string_value(json_object_get(body, "fromImage"));
    const char *template = json_string_value(json_object_get(body, "fromTemplate"));
    *origin = (struct template_origin){.field = template ? "fromTemplate" : "fromImage"};
    *base = NULL;
    if (!image == !template)
        return error_set_field(
            err, ERR_INVALID_REQUEST, origin->field,
            "Give one of fromTemplate and fromImage: the source of the template.");
    if (image && !is_their_base(image)) {
        origin->image.name = image;
        return read_login(api, body, origin, err);
    }
    if (template && e2b_template_of(api, template, base, err) < 0)
        return -1;
    if (image)
        *base = xstrdup(api->settings->default_template);
    origin->template = *base;
    return 0;
}
