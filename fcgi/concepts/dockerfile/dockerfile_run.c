/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RUN. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "dockerfile/dockerfile_walk.h"

#define MOUNTS_MAX 16
#define SECRETS    "/run/secrets/"

/* Run a script with a line "#!" at its beginning. */
#define SCRIPT_RUN                                                            \
    "f=$(mktemp) && printf %s \"$1\" >\"$f\" && chmod 0700 \"$f\" || exit 1;" \
    " \"$f\"; s=$?; rm -f \"$f\"; exit $s"

/* Run a program with folders for its cache: the number of folders, the folders, the program. The
 * files of a folder that was empty before are deleted behind the program. */
#define CACHE_RUN                                                                   \
    "n=$1; shift; e=\n"                                                             \
    "while [ $n -gt 0 ]; do n=$((n - 1)); mkdir -p \"$1\" || exit 1\n"              \
    "  [ -n \"$(ls -A \"$1\")\" ] || e=\"$e$1\n\"; shift; done\n"                   \
    "\"$@\"; s=$?; IFS='\n'\n"                                                      \
    "for d in $e; do find \"$d\" -mindepth 1 -maxdepth 1 -exec rm -rf {} +; done\n" \
    "exit $s"

/* A mount of type bind is a copy of the files, for the time of the command: a build has no right to
 * mount. BIND_BEFORE puts the files at the targets aside, for the copies. BIND_AFTER, with the
 * number of targets, removes the copies and puts those files back. */
#define BIND_DIR   "/.sandlot-bind"
#define BIND_TOOLS "PATH=$PATH:/usr/lib/sandlot/tools; set -e; b=" BIND_DIR "\n"
#define BIND_BEFORE                                                                             \
    BIND_TOOLS                                                                                  \
    "mkdir -p $b; n=0; for t; do n=$((n + 1)); case $t in /*) ;; *) t=$PWD/$t;; esac\n"         \
    "  while case $t in */|*/.) ;; *) false;; esac; do t=${t%/*}; done\n"                       \
    "  [ -n \"$t\" ] || { echo 'The target of a mount cannot be the root folder.'; exit 1; }\n" \
    "  [ ! -L \"$t\" ] || t=$(readlink -f \"$t\"); printf %s \"$t\" >$b/$n.path\n"              \
    "  if [ -d \"$t\" ]; then mv \"$t\" $b/$n; mkdir \"$t\"\n"                                  \
    "  elif [ -e \"$t\" ]; then mv \"$t\" $b/$n; fi; done"
#define BIND_AFTER                                                            \
    BIND_TOOLS                                                                \
    "cd /; n=$1; while [ $n -gt 0 ]; do t=$(cat $b/$n.path); rm -rf \"$t\"\n" \
    "  [ ! -e $b/$n ] || mv $b/$n \"$t\"; n=$((n - 1)); done; rm -rf $b"

#define NO_SSH "RUN --mount=type=ssh is not supported: a build has no SSH agent."

/* --- --mount --- */

struct mount {
    char *type, *target, *id, *env, *required, *from, *source; /* owned; NULL: not given */
};

static void mount_deinit(struct mount *mount)
{
    free(mount->type);
    free(mount->target);
    free(mount->id);
    free(mount->env);
    free(mount->required);
    free(mount->from);
    free(mount->source);
}

/* The mounts of a command: folders of caches; secrets as {"id", "target"} or {"id", "env"}; binds
 * as {"from", "source", "target", "at"}. */
struct mounts {
    json_t *caches, *secrets, *binds;
};

static size_t mount_count(const struct mounts *mounts)
{
    return json_array_size(mounts->caches) + json_array_size(mounts->secrets) +
           json_array_size(mounts->binds);
}

static int read_mount_key(const struct dockerfile_walk *walk, size_t at, const char *key,
                          const char *value, struct mount *mount, struct error **err)
{
    static const char *const ignored[] = {"sharing",  "mode", "uid",       "gid", "ro",
                                          "readonly", "rw",   "readwrite", "size"};
    char **to = str_equal(key, "type")                              ? &mount->type
                : str_equal(key, "id")                              ? &mount->id
                : str_equal(key, "env")                             ? &mount->env
                : str_equal(key, "required")                        ? &mount->required
                : str_equal(key, "from")                            ? &mount->from
                : str_equal(key, "source") || str_equal(key, "src") ? &mount->source
                : str_equal(key, "target") || str_equal(key, "dst") || str_equal(key, "destination")
                    ? &mount->target
                    : NULL;
    if (to) {
        free(*to);
        *to = xstrdup(value);
        return 0;
    }
    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        if (str_equal(key, ignored[i]))
            return 0;
    return walk_refuse(walk, at, err, "--mount has no option %.32s.", key);
}

static int check_mount(const struct dockerfile_walk *walk, size_t at, const struct mount *mount,
                       struct error **err)
{
    const char *type = mount->type;
    bool secret = str_equal(type, "secret"), bind = str_equal(type, "bind");
    if (str_equal(type, "ssh"))
        return walk_refuse(walk, at, err, NO_SSH);
    if (!secret && !bind && !str_equal(type, "cache") && !str_equal(type, "tmpfs"))
        return walk_refuse(walk, at, err,
                           "there is no --mount=type=%.32s; the types are bind, cache, secret and "
                           "tmpfs.",
                           type);
    if (secret && !mount->id)
        return walk_refuse(walk, at, err,
                           "name the secret: --mount=type=secret,id=NAME, which is a file in "
                           "/run/secrets.");
    if (secret && !mount->target)
        return 0;
    if (bind && (!mount->target || !mount->target[strspn(mount->target, "/")]))
        return walk_refuse(walk, at, err,
                           "a mount of files needs a target below the root folder: "
                           "--mount=type=bind,source=FILE,target=PATH.");
    if (bind)
        return 0;
    if (!mount->target || mount->target[0] != '/' || strchr(mount->target, '\n'))
        return walk_refuse(walk, at, err,
                           "a mount needs an absolute path: --mount=type=%s,target=/PATH.", type);
    return 0;
}

static bool is_variable(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return *name && strlen(name) <= DOCKERFILE_NAME_MAX && !name[strspn(name, letters)];
}

/* A secret that the build does not have is left out, as in Docker, unless it is required. */
static int add_secret(const struct dockerfile_walk *walk, size_t at, const struct mount *mount,
                      json_t *secrets, struct error **err)
{
    bool required = mount->required && !str_equal(mount->required, "false");
    autofree char *usual = xasprintf(SECRETS "%s", mount->id);
    const char *target = mount->target ? mount->target : mount->env ? NULL : usual;
    if (!*mount->id || strlen(mount->id) > DOCKERFILE_NAME_MAX || strpbrk(mount->id, "/\n"))
        return walk_refuse(walk, at, err, "a secret's id is 1 to %d characters without a slash.",
                           DOCKERFILE_NAME_MAX);
    if (mount->env && !is_variable(mount->env))
        return walk_refuse(walk, at, err, "env of a secret is the name of a variable.");
    if (!json_object_get(walk->build->secrets, mount->id))
        return required ? walk_refuse(walk, at, err,
                                      "the build has no secret %s: give it in `secrets`, or with "
                                      "--secret id=%s,src=FILE.",
                                      mount->id, mount->id)
                        : 0;
    json_array_append_new(secrets, json_pack("{s:s, s:s*, s:s*}", "id", mount->id, "target", target,
                                             "env", mount->env));
    return 0;
}

static int add_mount(const struct dockerfile_walk *walk, size_t at, const struct mount *mount,
                     const struct mounts *mounts, struct error **err)
{
    if (check_mount(walk, at, mount, err) < 0)
        return -1;
    if (mount_count(mounts) == MOUNTS_MAX)
        return walk_refuse(walk, at, err, "RUN has at most %d mounts.", MOUNTS_MAX);
    if (str_equal(mount->type, "secret"))
        return add_secret(walk, at, mount, mounts->secrets, err);
    if (str_equal(mount->type, "bind"))
        json_array_append_new(
            mounts->binds, json_pack("{s:s*, s:s*, s:s, s:I}", "from", mount->from, "source",
                                     mount->source, "target", mount->target, "at", (json_int_t)at));
    else
        json_array_append_new(mounts->caches, json_string(mount->target));
    return 0;
}

static int read_mount(const struct dockerfile_walk *walk, const struct dockerfile_word *word,
                      const struct mounts *mounts, struct error **err)
{
    struct mount mount = {.type = NULL};
    autofree char *text = NULL;
    char *save = NULL;
    int result = dockerfile_walk_expand_known(walk, word, &text, err);
    for (char *part = strtok_r(text, ",", &save); part && result == 0;
         part = strtok_r(NULL, ",", &save)) {
        char *equals = strchr(part, '=');
        if (equals)
            *equals = '\0';
        result = read_mount_key(walk, word->at, part, equals ? equals + 1 : "", &mount, err);
    }
    if (!mount.type)
        mount.type = xstrdup("bind");
    if (result == 0)
        result = add_mount(walk, word->at, &mount, mounts, err);
    mount_deinit(&mount);
    return result;
}

/* --mount may be there several times. */
static int read_flags(const struct dockerfile_walk *walk, const struct mounts *mounts,
                      struct error **err)
{
    const char *text = walk->one->text;
    struct dockerfile_word word;
    size_t at = strcspn(text, " \t\r\v\f");
    while (dockerfile_word_next(walk->file, walk->one, &at, &word) && word.at < walk->one->rest) {
        autofree char *flag = xstrndup(text + word.at, word.length);
        struct dockerfile_word value = {word.at + strlen("--mount="),
                                        word.length - strlen("--mount=")};
        if (str_starts_with(flag, "--mount=")) {
            if (read_mount(walk, &value, mounts, err) < 0)
                return -1;
        } else if (!str_equal(flag, "--network=default") && !str_equal(flag, "--security=sandbox"))
            return walk_refuse(walk, word.at, err,
                               "RUN %.64s is not supported: a build has the network and the rights "
                               "of its sandbox.",
                               flag);
    }
    return 0;
}

/* --- the command --- */

/* Return the script when a here-document is all of the command. */
static const char *sole_script(const struct dockerfile_instruction *one)
{
    struct dockerfile_word word = {.at = one->rest};
    if (one->heredoc_count != 1 || one->heredocs[0].at != one->rest)
        return NULL;
    word.length = strcspn(one->text + word.at, " \t");
    return one->text[word.at + word.length] ? NULL : one->heredocs[0].content;
}

static json_t *shell_form(const struct dockerfile_walk *walk)
{
    const struct dockerfile_instruction *one = walk->one;
    const char *script = sole_script(one);
    if (script && str_starts_with(script, "#!"))
        return json_pack("[s, s, s, s, s]", "/bin/sh", "-c", SCRIPT_RUN, "sh", script);
    json_t *arguments = json_copy(walk->shell);
    if (script) {
        json_array_append_new(arguments, json_string(script));
        return arguments;
    }
    struct buffer command = BUFFER_INIT(2 * DOCKERFILE_MAX);
    buffer_append_string(&command, one->text + one->rest);
    for (size_t i = 0; i < one->heredoc_count; i++)
        buffer_printf(&command, "%s%s", i ? "" : "\n", one->heredocs[i].raw);
    json_array_append_new(arguments, json_string(buffer_string(&command)));
    buffer_deinit(&command);
    return arguments;
}

static json_t *with_caches(json_t *arguments, const json_t *caches)
{
    size_t count = json_array_size(caches);
    if (!count)
        return arguments;
    autofree char *number = xasprintf("%zu", count);
    json_t *whole = json_pack("[s, s, s, s, s]", "/bin/sh", "-c", CACHE_RUN, "sh", number);
    json_array_extend(whole, (json_t *)(uintptr_t)caches);
    json_array_extend(whole, arguments);
    json_decref(arguments);
    return whole;
}

/* Add the step before or after a command with binds. */
static int add_bind_step(struct dockerfile_walk *walk, const char *title, json_t *arguments,
                         struct error **err)
{
    return dockerfile_walk_add(walk,
                               json_pack("{s:s, s:s, s:s, s:o}", "type", "run", "user", "root",
                                         "command", title, "arguments", arguments),
                               err);
}

static int put_binds(struct dockerfile_walk *walk, const json_t *binds, struct error **err)
{
    json_t *arguments = json_pack("[s, s, s, s]", "/bin/sh", "-c", BIND_BEFORE, "sh");
    size_t at;
    json_t *one;
    json_array_foreach ((json_t *)(uintptr_t)binds, at, one)
        json_array_append(arguments, json_object_get(one, "target"));
    if (add_bind_step(walk, "mounting the files of RUN --mount", arguments, err) < 0)
        return -1;
    json_array_foreach ((json_t *)(uintptr_t)binds, at, one) {
        const struct dockerfile_bind bind = {
            json_string_value(json_object_get(one, "from")),
            json_string_value(json_object_get(one, "source")),
            json_string_value(json_object_get(one, "target")),
            (size_t)json_integer_value(json_object_get(one, "at")),
        };
        if (dockerfile_walk_bind(walk, &bind, err) < 0)
            return -1;
    }
    return 0;
}

static int drop_binds(struct dockerfile_walk *walk, const json_t *binds, struct error **err)
{
    autofree char *number = xasprintf("%zu", json_array_size(binds));
    return add_bind_step(walk, "removing the files of RUN --mount",
                         json_pack("[s, s, s, s, s]", "/bin/sh", "-c", BIND_AFTER, "sh", number),
                         err);
}

/* Return the values of ARG, which the commands of a build see. ENV comes first. */
static json_t *variables(const struct dockerfile_walk *walk)
{
    json_t *seen = json_object();
    const char *name;
    json_t *value;
    json_object_foreach (walk->scope.args, name, value) {
        if (json_is_string(value) && !json_object_get(walk->scope.env, name))
            json_object_set(seen, name, value);
    }
    return seen;
}

int dockerfile_walk_run(struct dockerfile_walk *walk, struct error **err)
{
    const struct dockerfile_instruction *one = walk->one;
    json_auto_t *caches = json_array(), *secrets = json_array(), *binds = json_array();
    const struct mounts mounts = {caches, secrets, binds};
    json_t *arguments;
    if (read_flags(walk, &mounts, err) < 0 ||
        dockerfile_walk_array(walk, one->rest, &arguments, err) < 0)
        return -1;
    if (arguments && !json_array_size(arguments)) {
        json_decref(arguments);
        return walk_refuse(walk, one->rest, err, "the exec form needs a program.");
    }
    if (!arguments)
        arguments = shell_form(walk);
    json_auto_t *step =
        json_pack("{s:s, s:s, s:o, s:o, s:O*}", "type", "run", "command", one->text + one->rest,
                  "arguments", with_caches(arguments, caches), "variables", variables(walk),
                  "secrets", json_array_size(secrets) ? secrets : NULL);
    bool has_binds = json_array_size(binds) > 0;
    if ((has_binds && put_binds(walk, binds, err) < 0) ||
        dockerfile_walk_add(walk, json_incref(step), err) < 0)
        return -1;
    return has_binds ? drop_binds(walk, binds, err) : 0;
}
