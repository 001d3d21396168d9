/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/guest_limits.h"
#include "base/mem.h"
#include "base/signal_name.h"
#include "base/str.h"
#include "recipe/recipe.h"
#include "recipe/recipe_expand.h"

#define ROOT         "root"
#define DEFAULT_USER "user"
#define COMMAND_MAX  65536

static bool is_dockerfile(const struct recipe_place *place)
{
    return json_object_get(place->recipe, RECIPE_CONFIG) != NULL;
}

/* Change the working directory. A relative path is below the previous directory. As in Docker, ".."
 * is resolved without the files: behind a link, it leads to the folder of the link. */
static void enter(struct recipe_setting *setting, const char *path)
{
    size_t length = strlen(setting->cwd);
    bool slash = length && setting->cwd[length - 1] == '/';
    char *whole = *path == '/' || !length
                      ? xstrdup(path)
                      : xasprintf("%s%s%s", setting->cwd, slash ? "" : "/", path);
    if (*whole == '/')
        str_clean_path(whole + 1);
    free(setting->cwd);
    setting->cwd = whole;
}

/* Let values name the PATH of the base, if no step has set one. Returns whether it was added. */
static bool add_path(const struct recipe_place *place, json_t *envs)
{
    bool lacks = place->path && !json_object_get(envs, "PATH");
    if (lacks)
        json_object_set_new(envs, "PATH", json_string(place->path));
    return lacks;
}

static size_t env_size(const char *name, const json_t *value)
{
    return strlen(name) + json_string_length(value) + 2; /* with '=' and NUL */
}

static void set_env(struct recipe_setting *setting, const char *name, json_t *value)
{
    const json_t *before = json_object_get(setting->envs, name);
    setting->env_bytes += env_size(name, value) - (before ? env_size(name, before) : 0);
    setting->is_too_long = setting->env_bytes > RECIPE_ENVS_MAX;
    json_object_set(setting->envs, name, value);
}

/* Add the environment of a step. Values of one step do not see each other. Each may name a variable
 * several times, so they may double with each step. */
static void add_envs(const struct recipe_place *place, const json_t *step,
                     struct recipe_setting *setting)
{
    json_auto_t *fresh = json_object();
    bool expands = json_is_true(json_object_get(step, "expand"));
    bool has_path = expands && add_path(place, setting->envs);
    size_t left = 2 * RECIPE_ENVS_MAX; /* the new values may replace as many */
    const char *name;
    json_t *value;
    json_object_foreach (json_object_get(step, "envs"), name, value) {
        const char *text = json_string_value(value);
        autofree char *expanded = expands ? recipe_expand(text, setting->envs) : xstrdup(text);
        size_t size = strlen(expanded);
        setting->is_too_long = size > left;
        if (setting->is_too_long)
            break;
        left -= size;
        json_object_set_new(fresh, name, json_string(expanded));
    }
    if (has_path)
        json_object_del(setting->envs, "PATH");
    json_object_foreach (fresh, name, value) {
        if (setting->is_too_long)
            return;
        set_env(setting, name, value);
    }
}

char *recipe_setting_text(const struct recipe_place *place, const struct recipe_setting *setting,
                          const json_t *step, const char *name)
{
    const char *text = recipe_text(step, name);
    if (!json_is_true(json_object_get(step, "open")))
        return xstrdup(text);
    json_auto_t *envs = json_copy(setting->envs);
    add_path(place, envs);
    return recipe_expand(text, envs);
}

int recipe_setting_user(const struct recipe_place *place, const struct recipe_setting *setting,
                        const json_t *step, struct dockerfile_user *user, struct error **err)
{
    autofree char *text = recipe_setting_text(place, setting, step, "user");
    _Static_assert(sizeof user->name > RECIPE_USER_MAX, "the user of a step fits");
    *user = (struct dockerfile_user){.name = ""};
    if (!json_is_true(json_object_get(step, "open"))) {
        snprintf(user->name, sizeof user->name, "%s", text);
        snprintf(user->number, sizeof user->number, "%s", recipe_text(step, "number"));
        snprintf(user->group, sizeof user->group, "%s", recipe_text(step, "group"));
        return 0;
    }
    return dockerfile_user_read(text, user)
               ? 0
               : error_set(
                     err, ERR_INVALID_REQUEST,
                     "USER becomes \"%.64s\", which is not a user name: set the variable with ENV.",
                     text);
}

char *recipe_setting_owner(const char *user)
{
    /* A number may have no name, and then chown refuses the colon. */
    bool is_name = !strchr(user, ':') && !strchr("0123456789", *user);
    return xasprintf("%s%s", user, is_name ? ":" : "");
}

/* A step without a valid user has failed before. */
static void set_user(const struct recipe_place *place, const json_t *step,
                     struct recipe_setting *setting)
{
    struct dockerfile_user user;
    error_auto ignored = NULL;
    if (recipe_setting_user(place, setting, step, &user, &ignored) < 0)
        return;
    free(setting->own_user);
    setting->user = setting->own_user =
        *user.group ? xasprintf("%s:%s", user.name, user.group) : xstrdup(user.name);
}

/* Return whether the base has a user of its own. Images without one have `user`. */
static bool has_user(const json_t *defaults)
{
    const char *said = recipe_text(json_object_get(defaults, "image"), "user");
    size_t length = strcspn(said, ":");
    return !str_equal(recipe_text(defaults, "user"), DEFAULT_USER) ||
           (length == strlen(DEFAULT_USER) && !strncmp(said, DEFAULT_USER, length));
}

static void begin(const struct recipe_place *place, struct recipe_setting *setting)
{
    const json_t *envs = json_object_get(place->defaults, "envs");
    *setting = (struct recipe_setting){
        .user = recipe_text(place->defaults, "user"),
        .cwd = xstrdup(recipe_text(place->defaults, "workdir")),
        .envs = json_is_object(envs) ? json_deep_copy(envs) : json_object(),
    };
    const char *name;
    json_t *value;
    json_object_foreach (setting->envs, name, value)
        setting->env_bytes += env_size(name, value);
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
    while (step > 0 && !str_equal(recipe_text(recipe_step_at(place, step - 1), "type"), "stage"))
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
    unsigned end = step < recipe_step_count(place) ? step : recipe_step_count(place);
    for (unsigned i = stage_begin(place, step); i < end && !setting->is_too_long; i++) {
        const json_t *done = recipe_step_at(place, i);
        const char *type = recipe_text(done, "type");
        if (str_equal(type, "env"))
            add_envs(place, done, setting);
        else if (str_equal(type, "workdir")) {
            autofree char *path = recipe_setting_text(place, setting, done, "path");
            enter(setting, path);
        } else if (str_equal(type, "user"))
            set_user(place, done, setting);
    }
    if (!*setting->user)
        setting->user = DEFAULT_USER;
}

static bool has_step(const struct recipe_place *place, const char *type)
{
    for (unsigned i = stage_begin(place, recipe_step_count(place)); i < recipe_step_count(place);
         i++)
        if (str_equal(recipe_text(recipe_step_at(place, i), "type"), type))
            return true;
    return false;
}

void recipe_setting_kept(const struct recipe_place *place, struct recipe_setting *setting)
{
    recipe_setting_at(place, recipe_step_count(place), setting);
    if (!is_dockerfile(place))
        return;
    if (!has_step(place, "user"))
        setting->user = recipe_text(place->defaults, "user");
    if (!*setting->user)
        setting->user = DEFAULT_USER;
    if (!has_step(place, "workdir")) {
        free(setting->cwd);
        setting->cwd = xstrdup(recipe_text(place->defaults, "workdir"));
    }
}

void recipe_setting_deinit(struct recipe_setting *setting)
{
    free(setting->cwd);
    free(setting->own_user);
    json_decref(setting->envs);
}

/* --- the shell --- */

/* The owner of a sandbox can write the defaults. */
json_t *recipe_setting_shell(const json_t *defaults)
{
    json_t *shell = json_object_get(json_object_get(defaults, "image"), "shell");
    size_t at;
    json_t *word;
    json_array_foreach (shell, at, word) {
        if (!json_is_string(word))
            return NULL;
    }
    return json_array_size(shell) ? json_incref(shell) : NULL;
}

void recipe_setting_put_shell(const json_t *shell, size_t at, json_t *program)
{
    size_t i;
    json_t *word;
    for (i = 0; shell && i < DOCKERFILE_USUAL_WORDS; i++)
        json_array_remove(program, at);
    json_array_foreach ((json_t *)(uintptr_t)shell, i, word)
        json_array_insert(program, at + i, word);
}

int recipe_setting_add_open(const struct recipe_place *place, const json_t *opens, json_t *envs,
                            struct error **err)
{
    json_auto_t *fresh = json_object(), *known = json_copy(envs);
    size_t size = 0;
    add_path(place, known);
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)opens, name, value) {
        if (json_object_get(known, name))
            continue;
        autofree char *text = recipe_expand(json_string_value(value), known);
        size += strlen(text);
        if (size > RECIPE_ENVS_MAX)
            return error_set(err, ERR_INVALID_REQUEST,
                             "The variables of the build have more than %d KiB together.",
                             RECIPE_ENVS_MAX >> 10);
        json_object_set_new(fresh, name, json_string(text));
    }
    json_object_update(envs, fresh);
    return 0;
}

void recipe_setting_expand(const json_t *places, const json_t *envs, json_t *texts)
{
    size_t i;
    json_t *place;
    json_array_foreach ((json_t *)(uintptr_t)places, i, place) {
        size_t at = (size_t)json_integer_value(place);
        const char *text = json_string_value(json_array_get(texts, at));
        autofree char *expanded = text ? recipe_expand(text, envs) : NULL;
        if (expanded)
            json_array_set_new(texts, at, json_string(expanded));
    }
}

/* --- the configuration of a Dockerfile --- */

/* Add texts to the list of the base. */
static void add_texts(const char *name, const json_t *more, json_t *image)
{
    json_t *list = json_object_get(image, name);
    size_t at;
    json_t *text;
    if (!json_is_array(list)) {
        list = json_array();
        json_object_set_new(image, name, list);
    }
    json_array_foreach ((json_t *)(uintptr_t)more, at, text) {
        bool is_new = true;
        for (size_t i = 0; i < json_array_size(list); i++)
            is_new = is_new && !json_equal(json_array_get(list, i), text);
        if (is_new)
            json_array_append(list, text);
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

/* Add the ports that only the variables of the base name. As in Docker, a variable without a value
 * names none. */
static void add_open_ports(const json_t *config, const json_t *envs, json_t *image)
{
    json_auto_t *ports = json_array();
    size_t at;
    json_t *word;
    json_array_foreach (json_object_get(config, DOCKERFILE_OPEN_PORTS), at, word) {
        autofree char *text = recipe_expand(json_string_value(word), envs);
        dockerfile_ports_read(text, ports);
    }
    add_texts("exposed_ports", ports, image);
}

static void put_shells(const struct recipe_place *place, const json_t *names, json_t *image)
{
    const char *name;
    json_t *ignored;
    json_object_foreach ((json_t *)(uintptr_t)names, name, ignored) {
        json_t *words = json_copy(json_object_get(image, name));
        recipe_setting_put_shell(place->shell, 0, words);
        json_object_set_new(image, name, words);
    }
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
    json_object_del(image, DOCKERFILE_TRIGGERS); /* those of the base have run */
    json_object_foreach ((json_t *)(uintptr_t)config, name, value) {
        if (str_equal(name, "exposed_ports") || str_equal(name, "volumes"))
            add_texts(name, value, image);
        else if (!str_equal(name, DOCKERFILE_BASE_SHELL) && !str_equal(name, DOCKERFILE_OPEN_PORTS))
            json_object_set(image, name, value);
    }
    put_shells(place, json_object_get(config, DOCKERFILE_BASE_SHELL), image);
    recipe_setting_kept(place, &setting);
    if (has_step(place, "user"))
        json_object_set_new(image, "user", json_string(setting.user));
    if (has_step(place, "workdir"))
        json_object_set_new(image, "workdir", json_string(setting.cwd));
    json_object_set(image, "envs", setting.envs);
    if (json_object_get(config, DOCKERFILE_OPEN_PORTS))
        add_open_ports(config, setting.envs, image);
    recipe_setting_deinit(&setting);
    set_command(place->defaults, image);
}

/* Without a number the image means 30 seconds, for both. */
static json_int_t seconds_of(const json_t *image, const char *name, json_int_t most)
{
    json_int_t seconds = json_integer_value(json_object_get(image, name));
    return seconds <= 0 ? 30 : seconds > most ? most : seconds;
}

/* ["CMD", program, argument…], ["CMD-SHELL", line], ["NONE"] or nothing. */
static json_t *health_of(const json_t *image)
{
    json_auto_t *words = json_copy(json_object_get(image, "health_check"));
    const char *kind = json_string_value(json_array_get(words, 0));
    const char *line = json_string_value(json_array_get(words, 1));
    buffer_auto command = BUFFER_INIT(4 * COMMAND_MAX);
    if (!kind || !line)
        return NULL;
    if (str_equal(kind, "CMD-SHELL") && json_array_size(json_object_get(image, "shell"))) {
        quote(json_object_get(image, "shell"), &command);
        json_array_remove(words, 0);
        quote(words, &command);
    } else if (str_equal(kind, "CMD-SHELL")) {
        buffer_append_string(&command, line);
    } else if (str_equal(kind, "CMD")) {
        json_array_remove(words, 0);
        quote(words, &command);
    }
    if (!command.size)
        return NULL;
    return json_pack("{s:s, s:I, s:I}", "command", buffer_string(&command), "interval",
                     seconds_of(image, "health_interval", SERVICE_INTERVAL_MAX_S), "timeout",
                     seconds_of(image, "health_timeout", SERVICE_TIMEOUT_MAX_S));
}

void recipe_setting_add_place(const struct recipe_place *place, json_t *defaults)
{
    const char *user =
        json_string_value(json_object_get(json_object_get(place->defaults, "image"), "user"));
    json_auto_t *start = json_object();
    if (!user) /* the base is no image */
        return;
    if (!*user && !has_user(place->defaults) && !has_step(place, "user"))
        json_object_set_new(start, "user", json_string(ROOT));
    if (!*recipe_text(defaults, "workdir"))
        json_object_set_new(start, "cwd", json_string("/"));
    if (json_object_size(start))
        json_object_set(defaults, "start_place", start);
}

void recipe_setting_add_start(const struct recipe_place *place, json_t *defaults)
{
    const json_t *image = json_object_get(place->defaults, "image");
    json_t *health = health_of(image);
    const char *signal = json_string_value(json_object_get(image, "stop_signal"));
    if (health)
        json_object_set_new(defaults, "start_health", health);
    if (signal && signal_number(signal))
        json_object_set_new(defaults, "start_stop_signal", json_string(signal));
    json_object_set_new(defaults, RECIPE_IMAGE_STARTS, json_true());
    recipe_setting_add_place(place, defaults);
}

const char *recipe_setting_init(const json_t *defaults)
{
    static const char *const members[] = {"entrypoint", "command"};
    static const char *const inits[] = {"/sbin/init", "/usr/sbin/init", "/lib/systemd/systemd",
                                        "/usr/lib/systemd/systemd"};
    const json_t *image = json_object_get(defaults, "image");
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const json_t *words = json_object_get(image, members[i]);
        const char *word = json_string_value(json_array_get(words, 0));
        for (size_t j = 0; j < ARRAY_SIZE(inits); j++)
            if (str_equal(word, inits[j]))
                return word;
    }
    return NULL;
}
