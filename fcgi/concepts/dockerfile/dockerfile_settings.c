/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions that set something for the steps behind them or for sandboxes. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "dockerfile/dockerfile_walk.h"

#define PORTS_MAX 64
#define DIGITS    "0123456789"
#define ID_MAX    65535 /* of a user or a group in a sandbox */

/* --- ENV, LABEL --- */

struct environment {
    struct dockerfile_walk *walk;
    json_t *values, *opens; /* name: closed text, or open text; owned */
};

static int take_variable(void *context, const char *name, size_t at,
                         const struct dockerfile_word *word, struct error **err)
{
    struct environment *environment = context;
    struct dockerfile_value value;
    (void)at;
    int result = dockerfile_walk_expand(environment->walk, word, &value, err);
    json_t *mine = value.is_open ? environment->opens : environment->values;
    json_t *other = value.is_open ? environment->values : environment->opens;
    if (result == 0) {
        json_object_del(other, name);
        json_object_set_new(mine, name, json_string(value.text));
    }
    free(value.text);
    return result;
}

/* Add the variables of an ENV to the scope. Its values did not see each other. */
static void remember(const struct environment *environment)
{
    const char *name;
    json_t *value;
    json_object_update(environment->walk->scope.env, environment->values);
    json_object_foreach (environment->opens, name, value)
        json_object_set_new(environment->walk->scope.env, name, json_null());
}

/* Return the values in one form: open, if any is open. */
static json_t *in_one_form(const struct environment *environment)
{
    const char *name;
    json_t *value;
    if (!json_object_size(environment->opens))
        return json_incref(environment->values);
    json_t *all = json_copy(environment->opens);
    json_object_foreach (environment->values, name, value) {
        autofree char *text = dockerfile_value_open(json_string_value(value));
        json_object_set_new(all, name, json_string(text));
    }
    return all;
}

int dockerfile_walk_env(struct dockerfile_walk *walk, struct error **err)
{
    json_auto_t *values = json_object();
    json_auto_t *opens = json_object();
    struct environment environment = {walk, values, opens};
    if (dockerfile_walk_pairs(walk, true, take_variable, &environment, err) < 0)
        return -1;
    remember(&environment);
    json_t *step = json_pack("{s:s, s:o}", "type", "env", "envs", in_one_form(&environment));
    if (json_object_size(opens))
        json_object_set_new(step, "expand", json_true());
    return dockerfile_walk_add(walk, step, err);
}

static int check_label(void *context, const char *name, size_t at,
                       const struct dockerfile_word *word, struct error **err)
{
    struct dockerfile_value value;
    (void)name;
    (void)at;
    int result = dockerfile_walk_expand(context, word, &value, err);
    free(value.text);
    return result;
}

int dockerfile_walk_label(struct dockerfile_walk *walk, struct error **err)
{
    return dockerfile_walk_pairs(walk, true, check_label, walk, err);
}

/* --- WORKDIR, USER --- */

/* Expand all arguments as one text. */
static struct dockerfile_word rest_of(const struct dockerfile_instruction *one)
{
    return (struct dockerfile_word){one->rest, strlen(one->text + one->rest)};
}

int dockerfile_walk_workdir(struct dockerfile_walk *walk, struct error **err)
{
    struct dockerfile_word word = rest_of(walk->one);
    struct dockerfile_value value;
    int result = dockerfile_walk_expand(walk, &word, &value, err);
    size_t length = strlen(value.text);
    if (result == 0 && (!length || length > DOCKERFILE_PATH_MAX))
        result = walk_refuse(walk, word.at, err, "WORKDIR takes a path of at most %d bytes.",
                             DOCKERFILE_PATH_MAX);
    if (result == 0) {
        json_t *step = json_pack("{s:s, s:s}", "type", "workdir", "path", value.text);
        if (value.is_open)
            json_object_set_new(step, "open", json_true());
        result = dockerfile_walk_add(walk, step, err);
    }
    free(value.text);
    return result;
}

static bool is_number(const char *text)
{
    return *text && !text[strspn(text, DIGITS)];
}

/* Return the step of USER. A user of a number gets a name, as the user of an image does. */
static json_t *user_step(const char *user, const char *group, bool *fits)
{
    uint64_t number = 0, group_number = 0;
    *fits = !is_number(group) || str_parse_u64(group, 0, ID_MAX, &group_number) == 0;
    if (!is_number(user))
        return json_pack("{s:s, s:s, s:s}", "type", "user", "user", user, "group", group);
    *fits = *fits && str_parse_u64(user, 0, ID_MAX, &number) == 0;
    autofree char *name = number ? xasprintf("user%s", user) : xstrdup("root");
    json_t *step = json_pack("{s:s, s:s, s:s}", "type", "user", "user", name, "group", group);
    if (number)
        json_object_set_new(step, "number", json_string(user));
    return step;
}

int dockerfile_walk_user(struct dockerfile_walk *walk, struct error **err)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS "_.-";
    struct dockerfile_word word = rest_of(walk->one);
    autofree char *text = NULL;
    bool fits;
    if (dockerfile_walk_expand_known(walk, &word, &text, err) < 0)
        return -1;
    char *colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    const char *group = colon ? colon + 1 : "";
    if (!*text || *text == '-' || text[strspn(text, letters)] || group[strspn(group, letters)] ||
        strlen(text) > 32 || strlen(group) > 32)
        return walk_refuse(walk, word.at, err,
                           "write USER and the name or the number of a user, such as USER root.");
    json_t *step = user_step(text, group, &fits);
    if (fits)
        return dockerfile_walk_add(walk, step, err);
    json_decref(step);
    return walk_refuse(walk, word.at, err, "the numbers of users and groups are 0 to %d.", ID_MAX);
}

/* --- SHELL, CMD, ENTRYPOINT, HEALTHCHECK --- */

int dockerfile_walk_shell(struct dockerfile_walk *walk, struct error **err)
{
    json_auto_t *array = NULL;
    if (dockerfile_walk_array(walk, walk->one->rest, &array, err) < 0)
        return -1;
    if (!json_array_size(array))
        return walk_refuse(walk, walk->one->rest, err,
                           "SHELL takes the exec form: SHELL [\"/bin/bash\", \"-c\"].");
    json_decref(walk->shell);
    walk->shell = json_incref(array);
    return 0;
}

/* Read a command in one of both forms. */
static int read_command(const struct dockerfile_walk *walk, size_t at, json_t **command,
                        struct error **err)
{
    if (dockerfile_walk_array(walk, at, command, err) < 0)
        return -1;
    if (!*command) {
        *command = json_copy(walk->shell);
        json_array_append_new(*command, json_string(walk->one->text + at));
    }
    return 0;
}

int dockerfile_walk_command(struct dockerfile_walk *walk, struct error **err)
{
    bool is_entry = walk->one->kind == DOCKERFILE_ENTRYPOINT;
    json_t *command;
    if (read_command(walk, walk->one->rest, &command, err) < 0)
        return -1;
    json_object_set_new(walk->config, is_entry ? "entrypoint" : "command", command);
    /* An entry point of another stage or image has arguments that do not fit this one. */
    if (is_entry && !walk->has_command)
        json_object_set_new(walk->config, "command", json_array());
    walk->has_command = walk->has_command || !is_entry;
    return 0;
}

int dockerfile_walk_health_check(struct dockerfile_walk *walk, struct error **err)
{
    struct dockerfile_flag flags[] = {
        {.name = "interval"},       {.name = "timeout"}, {.name = "start-period"},
        {.name = "start-interval"}, {.name = "retries"}, {.name = NULL},
    };
    const struct dockerfile_instruction *one = walk->one;
    struct dockerfile_word word;
    size_t at = one->rest;
    json_t *test;
    if (dockerfile_walk_flags(walk, flags, err) < 0)
        return -1;
    dockerfile_word_next(walk->file, one, &at, &word);
    while (dockerfile_is_blank(one->text[at]))
        at++;
    bool is_command = word.length == 3 && !strncasecmp(one->text + word.at, "CMD", 3);
    bool is_none = word.length == 4 && !strncasecmp(one->text + word.at, "NONE", 4);
    if (!(is_command && one->text[at]) && !(is_none && !one->text[at]))
        return walk_refuse(walk, word.at, err,
                           "write HEALTHCHECK CMD COMMAND or HEALTHCHECK NONE.");
    if (is_none)
        test = json_pack("[s]", "NONE");
    else if (dockerfile_walk_array(walk, at, &test, err) < 0)
        return -1;
    else if (test)
        json_array_insert_new(test, 0, json_string("CMD"));
    else
        test = json_pack("[s, s]", "CMD-SHELL", one->text + at);
    json_object_set_new(walk->config, "health_check", test);
    return 0;
}

/* --- EXPOSE, VOLUME, STOPSIGNAL --- */

/* Return the end of a port or a range of ports; NULL: it is not one. */
static const char *ports_end(const char *text)
{
    uint64_t port, before = 0;
    for (unsigned i = 0;; i++) {
        size_t length = strspn(text, DIGITS);
        autofree char *number = xstrndup(text, length);
        if (str_parse_u64(number, 1, 65535, &port) < 0 || port < before)
            return NULL;
        before = port;
        text += length;
        if (*text != '-' || i == 1)
            return text;
        text++;
    }
}

int dockerfile_walk_expose(struct dockerfile_walk *walk, struct error **err)
{
    json_t *ports = json_object_get(walk->config, "exposed_ports");
    struct dockerfile_word word;
    size_t at = walk->one->rest;
    if (!ports) {
        ports = json_array();
        json_object_set_new(walk->config, "exposed_ports", ports);
    }
    while (dockerfile_word_next(walk->file, walk->one, &at, &word)) {
        autofree char *text = NULL;
        if (dockerfile_walk_expand_known(walk, &word, &text, err) < 0)
            return -1;
        const char *end = ports_end(text);
        if (!end || (*end && !str_equal(end, "/tcp") && !str_equal(end, "/udp")))
            return walk_refuse(walk, word.at, err,
                               "write a port or a range, such as 80, 53/udp or 8000-8010.");
        if (json_array_size(ports) == PORTS_MAX)
            return walk_refuse(walk, word.at, err, "EXPOSE takes at most %d ports.", PORTS_MAX);
        json_array_append_new(ports, *end ? json_string(text) : json_sprintf("%s/tcp", text));
    }
    return 0;
}

/* Check the paths. A sandbox keeps its whole disk, so they need nothing else. */
int dockerfile_walk_volume(struct dockerfile_walk *walk, struct error **err)
{
    json_auto_t *array = NULL;
    struct dockerfile_word word;
    size_t at = walk->one->rest;
    if (dockerfile_walk_array(walk, at, &array, err) < 0)
        return -1;
    while (!array && dockerfile_word_next(walk->file, walk->one, &at, &word)) {
        struct dockerfile_value value;
        int result = dockerfile_walk_expand(walk, &word, &value, err);
        free(value.text);
        if (result < 0)
            return -1;
    }
    return 0;
}

int dockerfile_walk_stop_signal(struct dockerfile_walk *walk, struct error **err)
{
    struct dockerfile_word word = rest_of(walk->one);
    autofree char *text = NULL;
    uint64_t number;
    if (dockerfile_walk_expand_known(walk, &word, &text, err) < 0)
        return -1;
    bool is_name = str_starts_with(text, "SIG") && strlen(text) <= 16 &&
                   !text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-")];
    if (!is_name && str_parse_u64(text, 1, 64, &number) < 0)
        return walk_refuse(walk, word.at, err,
                           "write the name or the number of a signal, such as SIGTERM.");
    json_object_set_new(walk->config, "stop_signal", json_string(text));
    return 0;
}
