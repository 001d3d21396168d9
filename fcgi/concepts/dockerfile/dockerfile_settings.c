/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions that set something for the steps behind them or for sandboxes. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/signal_name.h"
#include "base/str.h"
#include "dockerfile/dockerfile_walk.h"

#define SECOND_NS        UINT64_C(1000000000)
#define DURATION_MAX     UINT64_C(4000000) /* of its numbers, and of its seconds */
#define VOLUMES_MAX      64
#define TOO_MANY_VOLUMES "a stage has at most %d volumes."
#define DIGITS           "0123456789"
#define ID_MAX           65535 /* of a user or a group in a sandbox */

/* Make folders. The words before their names are VOLUME_WORDS. */
#define VOLUME_WORDS 4
#define VOLUME_RUN   "PATH=$PATH:/usr/lib/sandlot/tools; exec mkdir -p \"$@\""

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
    if (dockerfile_walk_pairs(walk, take_variable, &environment, err) < 0)
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
    return dockerfile_walk_pairs(walk, check_label, walk, err);
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

bool dockerfile_user_read(const char *text, struct dockerfile_user *user)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS "_.-";
    size_t length = strcspn(text, ":");
    const char *group = text[length] ? text + length + 1 : "";
    uint64_t number = 0, group_number;
    if (!length || length > DOCKERFILE_USER_MAX || strlen(group) > DOCKERFILE_USER_MAX ||
        *text == '-' || strspn(text, letters) != length || group[strspn(group, letters)] ||
        (is_number(group) && str_parse_u64(group, 0, ID_MAX, &group_number) < 0))
        return false;
    *user = (struct dockerfile_user){.name = ""};
    snprintf(user->group, sizeof user->group, "%s", group);
    snprintf(user->name, sizeof user->name, "%.*s", (int)length, text);
    if (!is_number(user->name))
        return true;
    if (str_parse_u64(user->name, 0, ID_MAX, &number) < 0)
        return false;
    if (number)
        snprintf(user->number, sizeof user->number, "%u", (unsigned)number);
    snprintf(user->name, sizeof user->name, number ? "user%u" : "root", (unsigned)number);
    return true;
}

/* A variable that only the sandbox knows leaves the step open. */
int dockerfile_walk_user(struct dockerfile_walk *walk, struct error **err)
{
    struct dockerfile_word word = rest_of(walk->one);
    struct dockerfile_value value;
    struct dockerfile_user user;
    int result = dockerfile_walk_expand(walk, &word, &value, err);
    autofree char *text = value.text;
    if (result < 0)
        return -1;
    if (value.is_open)
        return dockerfile_walk_add(
            walk, json_pack("{s:s, s:s, s:b}", "type", "user", "user", text, "open", 1), err);
    if (!dockerfile_user_read(text, &user))
        return walk_refuse(walk, word.at, err,
                           "write USER and the name of a user, such as USER root, or a number from "
                           "0 to %d.",
                           ID_MAX);
    return dockerfile_walk_add(walk,
                               json_pack("{s:s, s:s, s:s, s:s*}", "type", "user", "user", user.name,
                                         "group", user.group, "number",
                                         *user.number ? user.number : NULL),
                               err);
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
    json_object_set(walk->config, "shell", array);
    return 0;
}

/* Read a command in one of both forms. */
static int read_command(const struct dockerfile_walk *walk, size_t at, json_t **command,
                        bool *is_shell, struct error **err)
{
    if (dockerfile_walk_array(walk, at, command, err) < 0)
        return -1;
    *is_shell = !*command;
    if (*is_shell) {
        *command = dockerfile_walk_shell_words(walk);
        json_array_append_new(*command, json_string(walk->one->text + at));
    }
    return 0;
}

static void set_command(struct dockerfile_walk *walk, const char *name, json_t *command,
                        bool has_base_shell)
{
    json_t *names = json_object_get(walk->config, DOCKERFILE_BASE_SHELL);
    json_object_set_new(walk->config, name, command);
    if (!names && has_base_shell) {
        names = json_object();
        json_object_set_new(walk->config, DOCKERFILE_BASE_SHELL, names);
    }
    if (has_base_shell)
        json_object_set_new(names, name, json_true());
    else
        json_object_del(names, name);
}

int dockerfile_walk_command(struct dockerfile_walk *walk, struct error **err)
{
    bool is_entry = walk->one->kind == DOCKERFILE_ENTRYPOINT, is_shell;
    json_t *command;
    if (read_command(walk, walk->one->rest, &command, &is_shell, err) < 0)
        return -1;
    set_command(walk, is_entry ? "entrypoint" : "command", command, is_shell && !walk->shell);
    /* An entry point of another stage or image has arguments that do not fit this one. */
    if (is_entry && !walk->has_command)
        set_command(walk, "command", json_array(), false);
    walk->has_command = walk->has_command || !is_entry;
    return 0;
}

/* Read a duration as Docker takes it, such as 30s, 1m0s, 1.5s or 500ms, rounded up to seconds. A
 * number without a unit means seconds. */
static bool parse_duration(const char *text, uint64_t *seconds)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1},        {"us", 1000},          {"\xc2\xb5s", 1000},    {"ms", 1000000},
                 {"s", SECOND_NS}, {"m", 60 * SECOND_NS}, {"h", 3600 * SECOND_NS}};
    uint64_t ns = 0, whole;
    if (str_parse_u64(text, 0, DURATION_MAX, seconds) == 0)
        return true;
    do {
        size_t digits = strspn(text, DIGITS), unit = 0;
        autofree char *number = xstrndup(text, digits);
        const char *fraction = text + digits;
        size_t places = *fraction == '.' ? strspn(fraction + 1, DIGITS) : 0;
        const char *name = fraction + (*fraction == '.') + places;
        while (unit < ARRAY_SIZE(units) && !str_starts_with(name, units[unit].name))
            unit++;
        if (unit == ARRAY_SIZE(units) || str_parse_u64(number, 0, DURATION_MAX, &whole) < 0)
            return false;
        ns += whole * units[unit].ns;
        uint64_t part = units[unit].ns;
        for (size_t i = 1; i <= places; i++)
            ns += (uint64_t)(fraction[i] - '0') * (part /= 10);
        text = name + strlen(units[unit].name);
        if (ns > DURATION_MAX * SECOND_NS)
            return false;
    } while (*text);
    *seconds = (ns + SECOND_NS - 1) / SECOND_NS;
    return true;
}

/* Read a flag into a member of the configuration; 0: the default. */
static int read_duration(struct dockerfile_walk *walk, const struct dockerfile_flag *flag,
                         const char *member, struct error **err)
{
    autofree char *text = NULL;
    uint64_t seconds = 0;
    if (flag->is_given && dockerfile_walk_expand_known(walk, &flag->value, &text, err) < 0)
        return -1;
    if (text && !parse_duration(text, &seconds))
        return walk_refuse(walk, flag->at, err, "write a duration, such as 30s or 1m30s.");
    json_object_set_new(walk->config, member, json_integer((json_int_t)seconds));
    return 0;
}

int dockerfile_walk_health_check(struct dockerfile_walk *walk, struct error **err)
{
    enum { INTERVAL, TIMEOUT };
    struct dockerfile_flag flags[] = {
        {.name = "interval"},       {.name = "timeout"}, {.name = "start-period"},
        {.name = "start-interval"}, {.name = "retries"}, {.name = NULL},
    };
    const struct dockerfile_instruction *one = walk->one;
    struct dockerfile_word word;
    size_t at = one->rest;
    json_t *test;
    if (dockerfile_walk_flags(walk, flags, err) < 0 ||
        read_duration(walk, &flags[INTERVAL], "health_interval", err) < 0 ||
        read_duration(walk, &flags[TIMEOUT], "health_timeout", err) < 0)
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

bool dockerfile_ports_read(char *text, json_t *ports)
{
    char *save = NULL;
    for (char *c = text; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    for (char *one = strtok_r(text, " \t", &save); one; one = strtok_r(NULL, " \t", &save)) {
        const char *end = ports_end(one);
        if (!end || (*end && !str_equal(end, "/tcp") && !str_equal(end, "/udp") &&
                     !str_equal(end, "/sctp")))
            return false;
        if (json_array_size(ports) > DOCKERFILE_PORTS_MAX)
            return false;
        json_array_append_new(ports, *end ? json_string(one) : json_sprintf("%s/tcp", one));
    }
    return true;
}

/* Return a list of the configuration, which is made at its first use. */
static json_t *list_of(const struct dockerfile_walk *walk, const char *member)
{
    json_t *list = json_object_get(walk->config, member);
    if (list)
        return list;
    json_object_set_new(walk->config, member, list = json_array());
    return list;
}

/* The value of a variable may have several ports. */
int dockerfile_walk_expose(struct dockerfile_walk *walk, struct error **err)
{
    json_t *ports = list_of(walk, "exposed_ports");
    struct dockerfile_word word;
    size_t at = walk->one->rest;
    while (dockerfile_word_next(walk->file, walk->one, &at, &word)) {
        struct dockerfile_value value;
        int result = dockerfile_walk_expand(walk, &word, &value, err);
        autofree char *text = value.text;
        if (result < 0)
            return -1;
        json_t *list = value.is_open ? list_of(walk, DOCKERFILE_OPEN_PORTS) : ports;
        bool fits = value.is_open || dockerfile_ports_read(text, list);
        if (value.is_open)
            json_array_append_new(list, json_string(text));
        if (json_array_size(list) > DOCKERFILE_PORTS_MAX)
            return walk_refuse(walk, word.at, err, "EXPOSE takes at most %d ports.",
                               DOCKERFILE_PORTS_MAX);
        if (!fits)
            return walk_refuse(walk, word.at, err,
                               "write a port or a range, such as 80, 53/udp or 8000-8010.");
    }
    return 0;
}

static int add_volume(const struct dockerfile_walk *walk, size_t at, const char *path,
                      struct error **err)
{
    json_t *volumes = list_of(walk, "volumes");
    if (*path != '/' || strlen(path) > DOCKERFILE_PATH_MAX)
        return walk_refuse(walk, at, err,
                           "VOLUME takes absolute paths of at most %d bytes, such as /data.",
                           DOCKERFILE_PATH_MAX);
    if (json_array_size(volumes) == VOLUMES_MAX)
        return walk_refuse(walk, at, err, TOO_MANY_VOLUMES, VOLUMES_MAX);
    json_array_append_new(volumes, json_string(path));
    return 0;
}

/* The folders of a VOLUME, and the places of open texts among the words of its program. */
struct folders {
    json_t *paths, *open_at;
};

/* Add a path after its expansion; takes the text. */
static int take_path(const struct dockerfile_walk *walk, struct dockerfile_value value,
                     const struct folders *folders, struct error **err)
{
    autofree char *text = value.text;
    size_t place = VOLUME_WORDS + json_array_size(folders->paths);
    if (value.is_open && json_array_size(folders->open_at) == VOLUMES_MAX)
        return walk_refuse(walk, walk->one->rest, err, TOO_MANY_VOLUMES, VOLUMES_MAX);
    if (value.is_open)
        json_array_append_new(folders->open_at, json_integer((json_int_t)place));
    else if (add_volume(walk, walk->one->rest, text, err) < 0)
        return -1;
    json_array_append_new(folders->paths, json_string(text));
    return 0;
}

/* array: of the exec form; NULL: another form. */
static int read_paths(const struct dockerfile_walk *walk, json_t *array,
                      const struct folders *folders, struct error **err)
{
    struct dockerfile_value value;
    struct dockerfile_word word;
    size_t i, at = walk->one->rest;
    json_t *path;
    json_array_foreach (array, i, path) {
        const struct dockerfile_apart apart = {walk->one->rest, json_string_value(path)};
        int result =
            dockerfile_expand_text(walk->file, walk->one, &apart, &walk->scope, &value, err);
        if (result < 0)
            free(value.text);
        if (result < 0 || take_path(walk, value, folders, err) < 0)
            return -1;
    }
    while (!array && dockerfile_word_next(walk->file, walk->one, &at, &word)) {
        int result = dockerfile_walk_expand(walk, &word, &value, err);
        if (result < 0)
            free(value.text);
        if (result < 0 || take_path(walk, value, folders, err) < 0)
            return -1;
    }
    return 0;
}

/* A sandbox keeps its whole disk. So a volume is a folder, which must exist. */
int dockerfile_walk_volume(struct dockerfile_walk *walk, struct error **err)
{
    json_auto_t *array = NULL, *paths = json_array(), *open_at = json_array();
    const struct folders folders = {paths, open_at};
    if (dockerfile_walk_array(walk, walk->one->rest, &array, err) < 0 ||
        read_paths(walk, array, &folders, err) < 0)
        return -1;
    json_t *arguments = json_pack("[s, s, s, s]", "/bin/sh", "-c", VOLUME_RUN, "sh");
    json_array_extend(arguments, paths);
    return dockerfile_walk_add(walk,
                               json_pack("{s:s, s:s, s:s, s:o, s:O*}", "type", "run", "user",
                                         "root", "command", walk->one->text, "arguments", arguments,
                                         "open_at", json_array_size(open_at) ? open_at : NULL),
                               err);
}

/* A number, a name that sandboxes know, with or without SIG, or another name with SIG. */
static bool is_signal(const char *text)
{
    return signal_number(text) || (str_starts_with(text, "SIG") && strlen(text) <= 16 &&
                                   !text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-")]);
}

int dockerfile_walk_stop_signal(struct dockerfile_walk *walk, struct error **err)
{
    struct dockerfile_word word = rest_of(walk->one);
    autofree char *text = NULL;
    if (dockerfile_walk_expand_known(walk, &word, &text, err) < 0)
        return -1;
    for (char *c = text; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    if (!is_signal(text))
        return walk_refuse(walk, word.at, err,
                           "write the name or the number of a signal, such as SIGTERM.");
    json_object_set_new(walk->config, "stop_signal", json_string(text));
    return 0;
}
