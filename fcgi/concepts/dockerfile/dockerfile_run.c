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

static const char *const hints[][2] = {
    {"bind", "copy the files with COPY."},
    {"ssh", "a build has no SSH agent."},
};

/* --- --mount --- */

struct mount {
    char *type, *target, *id, *env, *required; /* owned; NULL: not given */
};

static void mount_deinit(struct mount *mount)
{
    free(mount->type);
    free(mount->target);
    free(mount->id);
    free(mount->env);
    free(mount->required);
}

/* The mounts of a command: folders of caches, and secrets as {"id", "target"} or {"id", "env"}. */
struct mounts {
    json_t *caches, *secrets;
};

static int read_mount_key(const struct dockerfile_walk *walk, size_t at, const char *key,
                          const char *value, struct mount *mount, struct error **err)
{
    static const char *const ignored[] = {"sharing",  "mode", "uid",       "gid", "ro",
                                          "readonly", "rw",   "readwrite", "size"};
    char **to = str_equal(key, "type")       ? &mount->type
                : str_equal(key, "id")       ? &mount->id
                : str_equal(key, "env")      ? &mount->env
                : str_equal(key, "required") ? &mount->required
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
    if (str_equal(key, "from") || str_equal(key, "source") || str_equal(key, "src"))
        return 0;
    return walk_refuse(walk, at, err, "--mount has no option %.32s.", key);
}

static int check_mount(const struct dockerfile_walk *walk, size_t at, const struct mount *mount,
                       struct error **err)
{
    const char *type = mount->type ? mount->type : "bind";
    for (size_t i = 0; i < ARRAY_SIZE(hints); i++)
        if (str_equal(type, hints[i][0]))
            return walk_refuse(walk, at, err, "RUN --mount=type=%s is not supported: %s", type,
                               hints[i][1]);
    bool secret = str_equal(type, "secret");
    if (!secret && !str_equal(type, "cache") && !str_equal(type, "tmpfs"))
        return walk_refuse(walk, at, err,
                           "there is no --mount=type=%.32s; the types are cache, secret and tmpfs.",
                           type);
    if (secret && !mount->id)
        return walk_refuse(walk, at, err,
                           "name the secret: --mount=type=secret,id=NAME, which is a file in "
                           "/run/secrets.");
    if (secret && !mount->target)
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
    bool secret = mount.type && str_equal(mount.type, "secret");
    if (result == 0)
        result = check_mount(walk, word->at, &mount, err);
    if (result == 0 &&
        json_array_size(mounts->caches) + json_array_size(mounts->secrets) == MOUNTS_MAX)
        result = walk_refuse(walk, word->at, err, "RUN has at most %d mounts.", MOUNTS_MAX);
    if (result == 0 && secret)
        result = add_secret(walk, word->at, &mount, mounts->secrets, err);
    else if (result == 0)
        json_array_append_new(mounts->caches, json_string(mount.target));
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
                               "RUN %.64s is not supported: the network of a build is its "
                               "sandbox's, and it needs no other rights.",
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
    json_auto_t *caches = json_array(), *secrets = json_array();
    const struct mounts mounts = {caches, secrets};
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
    return dockerfile_walk_add(
        walk,
        json_pack("{s:s, s:s, s:o, s:o, s:O*}", "type", "run", "command", one->text + one->rest,
                  "arguments", with_caches(arguments, caches), "variables", variables(walk),
                  "secrets", json_array_size(secrets) ? secrets : NULL),
        err);
}
