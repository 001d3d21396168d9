/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "recipe/recipe_file.h"
#include "template/template_tag.h"

#define ENVS_MAX 256

/* Of requests. */
static const char *const types[] = {"run", "copy", "env", "workdir", "user", NULL};
static const struct schema_member env_item = {.type = SCHEMA_STRING, .max = 32768};

#define TEXT(name_, max_)                                             \
    {                                                                 \
        .name = name_, .type = SCHEMA_STRING, .min = 1, .max = (max_) \
    }
static const struct schema_member step_members[] = {
    {.name = "type", .type = SCHEMA_STRING, .required = true, .choices = types},
    TEXT("command", RECIPE_COMMAND_MAX),
    TEXT("user", RECIPE_USER_MAX),
    TEXT("files", RECIPE_HASH_MAX),
    TEXT("source", RECIPE_PATH_MAX),
    TEXT("destination", RECIPE_PATH_MAX),
    TEXT("mode", DOCKERFILE_MODE_MAX),
    TEXT("path", RECIPE_PATH_MAX),
    {.name = "envs", .type = SCHEMA_MAP, .min = 1, .max = ENVS_MAX, .item = &env_item},
    {.name = "expand", .type = SCHEMA_BOOLEAN},
    {.name = NULL}};
const struct schema_member recipe_step_item = {.type = SCHEMA_OBJECT, .members = step_members};

/* The members that a type needs, and those that it may have. The schema lets a request have the
 * members of step_members only; the others are those of Dockerfiles. */
static const struct {
    const char *type;
    const char *needed[4], *allowed[11];
} kinds[] = {
    {"run",
     {"command"},
     {"user", "arguments", "shell_at", "variables", "open_variables", "proxies", "secrets",
      "caches", "open_at", "line"}},
    {"copy",
     {"files", "source", "destination"},
     {"user", "mode", "open", "exact", "excludes", "parents", "unpack", "line"}},
    {"copy_stage",
     {"stage", "source", "destination"},
     {"user", "mode", "open", "exact", "excludes", "parents", "unpack", "line"}},
    {"env", {"envs"}, {"expand", "line"}},
    {"workdir", {"path"}, {"open", "line"}},
    {"user", {"user"}, {"number", "group", "open", "line"}},
    {"stage", {"number", "path"}, {"files_only", "line"}},
    {"save", {"stage", "sources"}, {"path", "line"}},
};

static bool is_among(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (str_equal(*names, name))
            return true;
    return false;
}

static int refuse(struct error **err, size_t at, const char *member, const char *message)
{
    autofree char *field = xasprintf("/steps/%zu/%s", at, member);
    return error_set_field(err, ERR_INVALID_REQUEST, field, "%s", message);
}

static int check_members(const json_t *step, size_t at, struct error **err)
{
    const char *type = json_string_value(json_object_get(step, "type"));
    const char *name;
    json_t *value;
    size_t kind = 0;
    while (!str_equal(kinds[kind].type, type))
        kind++;
    for (const char *const *needed = kinds[kind].needed; *needed; needed++)
        if (!json_object_get(step, *needed))
            return refuse(err, at, *needed,
                          "This member is missing; a step of this type needs it.");
    json_object_foreach ((json_t *)(uintptr_t)step, name, value) {
        if (!str_equal(name, "type") && !is_among(kinds[kind].needed, name) &&
            !is_among(kinds[kind].allowed, name))
            return refuse(err, at, name, "A step of this type does not have this member.");
    }
    return 0;
}

/* Check the name of a user, or with_group also user:group. */
static bool is_user(const char *text, bool with_group)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    size_t length = strspn(text, letters);
    /* Without a name behind the colon, chown takes the user's own group. */
    if (length && with_group && text[length] == ':')
        length += 1 + strspn(text + length + 1, letters);
    return length && !text[length] && *text != '-';
}

bool recipe_owner_is_valid(const char *text)
{
    return is_user(text, true);
}

bool recipe_path_is_inside(const char *path)
{
    for (const char *at = path;; at++) {
        size_t length = strcspn(at, "/");
        if (length == 2 && !strncmp(at, "..", 2))
            return false;
        at += length;
        if (!*at)
            return *path != '/';
    }
}

static int check_envs(const json_t *envs, size_t at, struct error **err)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)envs, name, value) {
        if (!*name || strchr(name, '='))
            return refuse(err, at, "envs", "A variable's name is not empty and has no \"=\".");
    }
    return 0;
}

static int check_texts(const json_t *step, size_t at, struct error **err)
{
    const char *user = json_string_value(json_object_get(step, "user"));
    const char *mode = json_string_value(json_object_get(step, "mode"));
    const char *files = json_string_value(json_object_get(step, "files"));
    const char *source = json_string_value(json_object_get(step, "source"));
    bool is_open = json_is_true(json_object_get(step, "open"));
    if (user && !is_open && !is_user(user, json_object_get(step, "destination") != NULL))
        return refuse(err, at, "user", "This is not a valid user name.");
    if (mode && !dockerfile_mode_is_valid(mode))
        return refuse(err, at, "mode",
                      "The mode is three to five octal digits, such as 0755, or changes such as "
                      "u+x,go-w.");
    if (files && !recipe_hash_is_valid(files))
        return refuse(err, at, "files", "A hash has 32 to 64 lower-case hexadecimal digits.");
    if (source && !recipe_path_is_inside(source))
        return refuse(err, at, "source",
                      "The source is a path inside the archive, without \"..\".");
    return check_envs(json_object_get(step, "envs"), at, err);
}

static int check_files(struct db *db, const char *team_id, const json_t *step, size_t at,
                       struct error **err)
{
    const char *files = json_string_value(json_object_get(step, "files"));
    struct recipe_file file;
    bool found = true;
    if (files && recipe_file_find(db, team_id, files, &file, &found, err) < 0)
        return -1;
    return found ? 0 : refuse(err, at, "files", "No archive with this hash was uploaded.");
}

int recipe_check_tags(const json_t *tags, const char *field, struct error **err)
{
    size_t at;
    json_t *tag;
    json_array_foreach ((json_t *)(uintptr_t)tags, at, tag) {
        if (template_tag_check_plain(json_string_value(tag), field, err) < 0)
            return -1;
    }
    return 0;
}

void recipe_dockerfile_add(json_t *recipe, const struct dockerfile_plan *plan,
                           const json_t *secrets)
{
    json_object_set(recipe, "steps", plan->steps);
    if (json_object_size(secrets))
        json_object_set(recipe, RECIPE_SECRETS, (json_t *)(uintptr_t)secrets);
    json_object_set(recipe, RECIPE_CONFIG, plan->config);
    json_object_set(recipe, RECIPE_BUILD, plan->build);
}

int recipe_check(struct db *db, const char *team_id, const json_t *recipe, struct error **err)
{
    size_t at;
    json_t *step;
    if (json_object_get(recipe, "start_command") &&
        json_is_true(json_object_get(recipe, "start_image_command")))
        return error_set_field(err, ERR_INVALID_REQUEST, "/start_image_command",
                               "Give one of start_command and start_image_command.");
    if (services_check(json_object_get(recipe, "services"), "/services", err) < 0)
        return -1;
    json_array_foreach (json_object_get(recipe, "steps"), at, step) {
        if (check_members(step, at, err) < 0 || check_texts(step, at, err) < 0 ||
            check_files(db, team_id, step, at, err) < 0)
            return -1;
    }
    return 0;
}
