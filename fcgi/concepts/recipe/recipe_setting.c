/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_setting.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"
#include "recipe/recipe.h"
#include "recipe/recipe_expand.h"

#define ROOT         "root"
#define DEFAULT_USER "user"
#define COMMAND_MAX  65536

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static bool is_dockerfile(const struct recipe_place *place)
{
    return json_object_get(place->recipe, RECIPE_CONFIG) != NULL;
}

/* Change the working directory. A relative path is below the previous directory. */
static void enter(struct recipe_setting *setting, const char *path)
{
    size_t length = strlen(setting->cwd);
    bool slash = length && setting->cwd[length - 1] == '/';
    char *whole = *path == '/' || !length
                      ? xstrdup(path)
                      : xasprintf("%s%s%s", setting->cwd, slash ? "" : "/", path);
    free(setting->cwd);
    setting->cwd = whole;
}

/* Return the variables that a value may name. */
static json_t *known(const struct recipe_place *place, const json_t *envs)
{
    json_t *all = json_deep_copy(envs);
    if (place->path && !json_object_get(all, "PATH"))
        json_object_set_new(all, "PATH", json_string(place->path));
    return all;
}

/* Add the environment of a step. Values of one step do not see each other. */
static void add_envs(const struct recipe_place *place, const json_t *step, json_t *envs)
{
    json_auto_t *before = known(place, envs);
    bool expands = json_is_true(json_object_get(step, "expand"));
    const char *name;
    json_t *value;
    json_object_foreach (json_object_get(step, "envs"), name, value) {
        const char *text = json_string_value(value);
        autofree char *expanded = expands ? recipe_expand(text, before) : xstrdup(text);
        json_object_set_new(envs, name, json_string(expanded));
    }
}

char *recipe_setting_text(const struct recipe_place *place, const struct recipe_setting *setting,
                          const json_t *step, const char *name)
{
    const char *text = text_of(step, name);
    if (!json_is_true(json_object_get(step, "open")))
        return xstrdup(text);
    json_auto_t *envs = known(place, setting->envs);
    return recipe_expand(text, envs);
}

/* Return whether the base has a user of its own. Images without one have `user`. */
static bool has_user(const json_t *defaults)
{
    const char *said = text_of(json_object_get(defaults, "image"), "user");
    size_t length = strcspn(said, ":");
    return !str_equal(text_of(defaults, "user"), DEFAULT_USER) ||
           (length == strlen(DEFAULT_USER) && !strncmp(said, DEFAULT_USER, length));
}

static void begin(const struct recipe_place *place, struct recipe_setting *setting)
{
    const json_t *envs = json_object_get(place->defaults, "envs");
    *setting = (struct recipe_setting){
        .user = text_of(place->defaults, "user"),
        .cwd = xstrdup(text_of(place->defaults, "workdir")),
        .envs = json_is_object(envs) ? json_deep_copy(envs) : json_object(),
    };
    if (!is_dockerfile(place))
        return;
    if (!*setting->user || !has_user(place->defaults))
        setting->user = ROOT;
    if (!*setting->cwd)
        enter(setting, "/");
}

/* Return the first step of the stage before this step: the defaults of the place are those of its
 * image. 0: there are no stages. */
static unsigned stage_begin(const struct recipe_place *place, unsigned step)
{
    while (step > 0 && !str_equal(text_of(recipe_step_at(place, step - 1), "type"), "stage"))
        step--;
    return step;
}

static bool is_last_stage(const struct recipe_place *place, unsigned step)
{
    return stage_begin(place, step) == stage_begin(place, recipe_step_count(place));
}

void recipe_setting_at(const struct recipe_place *place, unsigned step,
                       struct recipe_setting *setting)
{
    begin(place, setting);
    for (unsigned i = stage_begin(place, step); i < step && i < recipe_step_count(place); i++) {
        const json_t *done = recipe_step_at(place, i);
        const char *type = text_of(done, "type");
        if (str_equal(type, "env"))
            add_envs(place, done, setting->envs);
        else if (str_equal(type, "workdir")) {
            autofree char *path = recipe_setting_text(place, setting, done, "path");
            enter(setting, path);
        } else if (str_equal(type, "user"))
            setting->user = text_of(done, "user");
    }
    if (!*setting->user)
        setting->user = DEFAULT_USER;
}

static bool has_step(const struct recipe_place *place, const char *type)
{
    for (unsigned i = stage_begin(place, recipe_step_count(place)); i < recipe_step_count(place);
         i++)
        if (str_equal(text_of(recipe_step_at(place, i), "type"), type))
            return true;
    return false;
}

void recipe_setting_kept(const struct recipe_place *place, struct recipe_setting *setting)
{
    recipe_setting_at(place, recipe_step_count(place), setting);
    if (!is_dockerfile(place))
        return;
    if (!has_step(place, "user"))
        setting->user = text_of(place->defaults, "user");
    if (!*setting->user)
        setting->user = DEFAULT_USER;
    if (!has_step(place, "workdir")) {
        free(setting->cwd);
        setting->cwd = xstrdup(text_of(place->defaults, "workdir"));
    }
}

void recipe_setting_deinit(struct recipe_setting *setting)
{
    free(setting->cwd);
    json_decref(setting->envs);
}

/* --- the configuration of a Dockerfile --- */

static void add_ports(const json_t *more, json_t *image)
{
    json_t *ports = json_object_get(image, "exposed_ports");
    size_t at;
    json_t *port;
    if (!json_is_array(ports)) {
        ports = json_array();
        json_object_set_new(image, "exposed_ports", ports);
    }
    json_array_foreach ((json_t *)(uintptr_t)more, at, port) {
        bool is_new = true;
        for (size_t i = 0; i < json_array_size(ports); i++)
            is_new = is_new && !json_equal(json_array_get(ports, i), port);
        if (is_new)
            json_array_append(ports, port);
    }
}

/* Append the words of a list, quoted for the shell. */
static void quote(const json_t *list, struct buffer *out)
{
    size_t at;
    json_t *word;
    json_array_foreach ((json_t *)(uintptr_t)list, at, word) {
        buffer_append_string(out, out->size ? " '" : "'");
        for (const char *c = json_string_value(word); c && *c; c++) {
            if (*c == '\'')
                buffer_append_string(out, "'\\''");
            else
                buffer_append_char(out, *c);
        }
        buffer_append_char(out, '\'');
    }
}

static void set_command(json_t *defaults, const json_t *image)
{
    buffer_auto command = BUFFER_INIT(4 * COMMAND_MAX);
    quote(json_object_get(image, "entrypoint"), &command);
    quote(json_object_get(image, "command"), &command);
    if (command.size)
        json_object_set_new(defaults, "image_command", json_string(buffer_string(&command)));
    else
        json_object_del(defaults, "image_command");
}

void recipe_setting_configure(struct recipe_place *place, unsigned step)
{
    const json_t *config = json_object_get(place->recipe, RECIPE_CONFIG);
    json_t *image = json_object_get(place->defaults, "image");
    struct recipe_setting setting;
    const char *name;
    json_t *value;
    if (!config || !is_last_stage(place, step))
        return;
    if (!json_is_object(image)) {
        image = json_object();
        json_object_set_new(place->defaults, "image", image);
    }
    json_object_foreach ((json_t *)(uintptr_t)config, name, value) {
        if (str_equal(name, "exposed_ports"))
            add_ports(value, image);
        else
            json_object_set(image, name, value);
    }
    recipe_setting_kept(place, &setting);
    if (has_step(place, "user"))
        json_object_set_new(image, "user", json_string(setting.user));
    if (has_step(place, "workdir"))
        json_object_set_new(image, "workdir", json_string(setting.cwd));
    json_object_set(image, "envs", setting.envs);
    recipe_setting_deinit(&setting);
    set_command(place->defaults, image);
}
