/* SPDX-License-Identifier: GPL-2.0-or-later */
/* RUN. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "dockerfile/dockerfile_walk.h"
#include "volume/volume.h"

#define MOUNTS_MAX 16
#define SECRETS    "/run/secrets/"

/* Run a script with a line "#!" at its beginning. */
#define SCRIPT_RUN                                                                 \
    "t() (PATH=$PATH:/usr/lib/sandlot/tools; exec \"$@\")\n"                       \
    "f=$(t mktemp) && printf %s \"$1\" >\"$f\" && t chmod 0700 \"$f\" || exit 1\n" \
    "\"$f\"; s=$?; t rm -f \"$f\"; exit $s"

/* Run a program with a folder of its own, whose files are those of the cache. Arguments: the
 * folder, the cache's file in VOLUME_BUILD_CACHE_PATH ("": none), owner, mode, whether to save it
 * ("1"); the program. While it runs, a folder of the image has another name. After the program has
 * succeeded, a rename replaces the archive of the cache, so other builds read the whole old archive
 * or the whole new one. */
#define CACHE_RUN                                                                             \
    "d=$1 f=$2 owner=$3 mode=$4 saves=$5 c=" VOLUME_BUILD_CACHE_PATH " aside=; shift 5\n"     \
    "case $d in /*) ;; *) d=$PWD/$d;; esac\n"                                                 \
    "while case $d in */|*/.) ;; *) false;; esac; do d=${d%/*}; done\n"                       \
    "[ -n \"$d\" ] || { echo 'The target of a mount cannot be the root folder.'; exit 1; }\n" \
    "t() (PATH=$PATH:/usr/lib/sandlot/tools; exec \"$@\")\n"                                  \
    "clear() { t find \"$d/\" -type d ! -perm -200 -exec chmod u+w {} +\n"                    \
    "  t find \"$d/\" -mindepth 1 -maxdepth 1 -exec rm -rf {} +; }\n"                         \
    "if [ -e \"$d\" ] || [ -L \"$d\" ]; then aside=$d.aside-$$\n"                             \
    "  t mv \"$d\" \"$aside\" 2>/dev/null || { aside=; [ -z \"$(t ls -A \"$d\")\" ] ||\n"     \
    "    { echo \"The folder $d has files and cannot be moved: it is no cache.\"\n"           \
    "      exec \"$@\"; }; }; fi\n"                                                           \
    "t mkdir -p \"$d\" || exit 1\n"                                                           \
    "case $PWD/ in \"$d\"/*) cd \"$PWD\" 2>/dev/null || cd \"$d\";; esac\n"                   \
    "[ -z \"$f\" ] || [ ! -f $c/$f ] || if t tar -xpf $c/$f -C \"$d\"\n"                      \
    "  then t touch $c/$f 2>/dev/null\n"                                                      \
    "  else echo \"The cache of $d cannot be read, and begins empty.\"; clear; fi\n"          \
    "[ -z \"$mode\" ] || t chmod \"$mode\" \"$d\" || exit 1\n"                                \
    "[ -z \"$owner\" ] || [ \"$(t id -u)\" != 0 ] || t chown \"$owner\" \"$d\" || exit 1\n"   \
    "\"$@\"; s=$?\n"                                                                          \
    "if [ $s = 0 ] && [ -n \"$saves\" ] && [ -d $c ]; then\n"                                 \
    "  new=$c/new.$(t cat /proc/sys/kernel/random/uuid)\n"                                    \
    "  { t tar -cf $new -C \"$d\" . && t mv -f $new $c/$f; } ||\n"                            \
    "    { echo \"The cache of $d is not saved.\"; t rm -f $new; }; fi\n"                     \
    "clear; [ -z \"$aside\" ] || { t rm -rf \"$d\" && t mv \"$aside\" \"$d\"; }; exit $s"

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

/* The options of a type, separated by spaces, with the first name of each. */
static const struct mount_type {
    const char *name, *options;
} mount_types[] = {
    {"bind", "target source from rw ro"},
    {"cache", "target id sharing mode uid gid ro rw"},
    {"secret", "id target env required mode uid gid"},
    {"tmpfs", "target size"},
};

/* Other names of options. */
static const char *const other_names[][2] = {
    {"dst", "target"},  {"destination", "target"}, {"src", "source"},
    {"readonly", "ro"}, {"readwrite", "rw"},
};

/* The words of CACHE_RUN around a program, and the place of the target among them. */
#define CACHE_WORDS  9
#define CACHE_TARGET 4

/* The mounts of a command: caches as [target, file, owner, mode, saves]; opens with a boolean for
 * each cache, whether its target is an open text; secrets as {"id", "target"} or {"id", "env"};
 * binds as
 * {"from", "source", "target", "at"}. */
struct mounts {
    json_t *caches, *opens, *secrets, *binds;
};

static size_t mount_count(const struct mounts *mounts)
{
    return json_array_size(mounts->caches) + json_array_size(mounts->secrets) +
           json_array_size(mounts->binds);
}

/* Return an option of a mount; NULL: it is not given. */
static const char *option(const json_t *mount, const char *name)
{
    return json_string_value(json_object_get(mount, name));
}

static bool is_option_of(const struct mount_type *type, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = type->options; *at; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        if (size == length && !strncmp(at, name, length))
            return true;
        at += size;
    }
    return false;
}

static int refuse_type(const struct dockerfile_walk *walk, size_t at, const char *type,
                       struct error **err)
{
    if (str_equal(type, "ssh"))
        return walk_refuse(walk, at, err, NO_SSH);
    return walk_refuse(walk, at, err,
                       "there is no --mount=type=%.32s; the types are bind, cache, secret and "
                       "tmpfs.",
                       type);
}

static int check_options(const struct dockerfile_walk *walk, size_t at, const json_t *mount,
                         struct error **err)
{
    const char *wanted = option(mount, "type"), *name;
    const struct mount_type *type = NULL;
    json_t *ignored;
    for (size_t i = 0; i < ARRAY_SIZE(mount_types); i++)
        if (str_equal(mount_types[i].name, wanted ? wanted : "bind"))
            type = &mount_types[i];
    if (!type)
        return refuse_type(walk, at, wanted, err);
    json_object_foreach ((json_t *)(uintptr_t)mount, name, ignored) {
        if (str_equal(type->name, "cache") &&
            (str_equal(name, "from") || str_equal(name, "source")))
            return walk_refuse(walk, at, err,
                               "a cache has no %s: it begins empty. Copy the files with COPY, or "
                               "mount them with type=bind.",
                               name);
        if (!str_equal(name, "type") && !is_option_of(type, name))
            return walk_refuse(walk, at, err,
                               "--mount=type=%s has no option %.32s; its options are %s.",
                               type->name, name, type->options);
    }
    return 0;
}

/* Read "NAME=VALUE,NAME=VALUE" into an object; a name without a value is "". */
static json_t *read_options(char *text)
{
    json_t *mount = json_object();
    char *save = NULL;
    for (char *part = strtok_r(text, ",", &save); part; part = strtok_r(NULL, ",", &save)) {
        char *equals = strchr(part, '=');
        if (equals)
            *equals = '\0';
        const char *name = part;
        for (size_t i = 0; i < ARRAY_SIZE(other_names); i++)
            if (str_equal(part, other_names[i][0]))
                name = other_names[i][1];
        json_object_set_new(mount, name, json_string(equals ? equals + 1 : ""));
    }
    return mount;
}

/* A target is below the root; "." is the working directory. */
static int check_target(const struct dockerfile_walk *walk, size_t at, const char *type,
                        const char *target, struct error **err)
{
    bool is_bind = str_equal(type, "bind");
    bool is_cwd = target && (str_equal(target, ".") || str_equal(target, "./"));
    if (is_cwd || (target && target[strspn(target, is_bind ? "/" : "/.")] && !strchr(target, '\n')))
        return 0;
    return walk_refuse(walk, at, err,
                       "a mount needs a target below the root folder: "
                       "--mount=type=%s%s,target=/PATH.",
                       type, is_bind ? ",source=FILE" : "");
}

static bool is_variable(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return *name && strlen(name) <= DOCKERFILE_NAME_MAX && !name[strspn(name, letters)];
}

/* A secret that the build does not have is left out, as in Docker, unless it is required. */
static int add_secret(const struct dockerfile_walk *walk, size_t at, const json_t *mount,
                      json_t *secrets, struct error **err)
{
    const char *env = option(mount, "env"), *given = option(mount, "target");
    const char *needed = option(mount, "required"), *id = option(mount, "id");
    if (!id && given)
        id = strrchr(given, '/') ? strrchr(given, '/') + 1 : given;
    bool required = needed && !str_equal(needed, "false");
    autofree char *usual = xasprintf(SECRETS "%s", id ? id : "");
    const char *target = given ? given : env ? NULL : usual;
    if (!id)
        return walk_refuse(walk, at, err,
                           "name the secret: --mount=type=secret,id=NAME, which is a file in "
                           "/run/secrets.");
    if (given && (given[0] != '/' || strchr(given, '\n')))
        return walk_refuse(walk, at, err, "the target of a secret is an absolute path.");
    if (!*id || strlen(id) > DOCKERFILE_NAME_MAX || strpbrk(id, "/\n"))
        return walk_refuse(walk, at, err, "a secret's id is 1 to %d characters without a slash.",
                           DOCKERFILE_NAME_MAX);
    if (env && !is_variable(env))
        return walk_refuse(walk, at, err, "env of a secret is the name of a variable.");
    if (!json_object_get(walk->build->secrets, id))
        return required ? walk_refuse(walk, at, err,
                                      "the build has no secret %s: give it in `secrets`, or with "
                                      "--secret id=%s,src=FILE.",
                                      id, id)
                        : 0;
    json_array_append_new(secrets,
                          json_pack("{s:s, s:s*, s:s*}", "id", id, "target", target, "env", env));
    return 0;
}

/* Return whether the text is a number of at most ten digits, or is not given. */
static bool is_number(const char *text, const char *digits)
{
    return !text || (*text && strlen(text) <= 10 && !text[strspn(text, digits)]);
}

static int check_cache(const struct dockerfile_walk *walk, size_t at, const json_t *mount,
                       struct error **err)
{
    const char *sharing = option(mount, "sharing"), *mode = option(mount, "mode");
    if (sharing && !str_equal(sharing, "shared") && !str_equal(sharing, "private") &&
        !str_equal(sharing, "locked"))
        return walk_refuse(walk, at, err, "sharing of a cache is shared, private or locked.");
    if (!is_number(mode, "01234567") || (mode && strlen(mode) > 5))
        return walk_refuse(walk, at, err,
                           "mode of a cache is at most five octal digits, such as mode=0755.");
    if (!is_number(option(mount, "uid"), "0123456789") ||
        !is_number(option(mount, "gid"), "0123456789"))
        return walk_refuse(walk, at, err, "uid and gid of a cache are numbers.");
    return 0;
}

/* Caches with the same id are one cache; the id is the target without another one. Its file has a
 * hash as its name. */
static json_t *file_of_cache(const char *id)
{
    unsigned char sum[crypto_generichash_BYTES];
    char name[2 * sizeof sum + 1];
    crypto_generichash(sum, sizeof sum, (const unsigned char *)id, strlen(id), NULL, 0);
    sodium_bin2hex(name, sizeof name, sum, sizeof sum);
    return json_sprintf("%s.tar", name);
}

/* A folder of type tmpfs is a cache without a file. */
static void add_folder(const json_t *mount, bool is_cache, bool is_open,
                       const struct mounts *mounts)
{
    const char *id = option(mount, "id");
    autofree char *target = xstrdup(option(mount, "target"));
    const char *uid = option(mount, "uid"), *gid = option(mount, "gid");
    const char *mode = option(mount, "mode"), *ro = option(mount, "ro");
    bool saves = is_cache && (!ro || str_equal(ro, "false"));
    for (size_t length = strlen(target); length && target[length - 1] == '/';)
        target[--length] = '\0';
    autofree char *owner = uid || gid ? xasprintf("%s:%s", uid ? uid : "0", gid ? gid : "0") : NULL;
    json_array_append_new(mounts->opens, json_boolean(is_open));
    json_array_append_new(
        mounts->caches,
        json_pack("[s, o, s, s, s]", target,
                  is_cache ? file_of_cache(id && *id ? id : target) : json_string(""),
                  owner ? owner : "", mode && is_cache ? mode : "", saves ? "1" : ""));
}

/* Only the target of a folder can have a variable that the file does not set. With it, the other
 * options have no dollar sign. */
static int check_open(const struct dockerfile_walk *walk, size_t at, const json_t *mount,
                      struct error **err)
{
    const char *type = option(mount, "type"), *name;
    bool is_folder = str_equal(type, "cache") || str_equal(type, "tmpfs");
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)mount, name, value) {
        if (strchr(json_string_value(value), '$') && !(is_folder && str_equal(name, "target")))
            return walk_refuse(walk, at, err, WALK_UNKNOWN);
    }
    return 0;
}

static int add_mount(const struct dockerfile_walk *walk, size_t at, const json_t *mount,
                     bool is_open, const struct mounts *mounts, struct error **err)
{
    const char *type = option(mount, "type"), *target = option(mount, "target");
    if (!type)
        type = "bind";
    if (!target && str_equal(type, "bind"))
        target = "."; /* as in Docker */
    if (mount_count(mounts) == MOUNTS_MAX)
        return walk_refuse(walk, at, err, "RUN has at most %d mounts.", MOUNTS_MAX);
    if (str_equal(type, "secret"))
        return add_secret(walk, at, mount, mounts->secrets, err);
    if (check_target(walk, at, type, target, err) < 0)
        return -1;
    if (str_equal(type, "bind"))
        json_array_append_new(mounts->binds,
                              json_pack("{s:s*, s:s*, s:s, s:I}", "from", option(mount, "from"),
                                        "source", option(mount, "source"), "target", target, "at",
                                        (json_int_t)at));
    else if (check_cache(walk, at, mount, err) < 0)
        return -1;
    else
        add_folder(mount, str_equal(type, "cache"), is_open, mounts);
    return 0;
}

static int read_mount(const struct dockerfile_walk *walk, const struct dockerfile_word *word,
                      const struct mounts *mounts, struct error **err)
{
    struct dockerfile_value value;
    int result = dockerfile_walk_expand(walk, word, &value, err);
    autofree char *text = value.text;
    if (result < 0)
        return -1;
    json_auto_t *mount = read_options(text);
    if (check_options(walk, word->at, mount, err) < 0 ||
        (value.is_open && check_open(walk, word->at, mount, err) < 0))
        return -1;
    return add_mount(walk, word->at, mount, value.is_open, mounts, err);
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
        } else if (!str_equal(flag, "--") && !str_equal(flag, "--network=default") &&
                   !str_equal(flag, "--security=sandbox"))
            return walk_refuse(walk, word.at, err,
                               "RUN %.64s is not supported: a build has the network and the rights "
                               "of its sandbox. Remove the flag.",
                               flag);
    }
    return 0;
}

/* --- the command --- */

/* Return the script when a here-document is all of the command. */
static const char *sole_script(const struct dockerfile_walk *walk)
{
    const struct dockerfile_instruction *one = walk->one;
    struct dockerfile_word word;
    size_t at = one->rest;
    if (one->heredoc_count != 1 || one->heredocs[0].at != one->rest)
        return NULL;
    dockerfile_word_next(walk->file, one, &at, &word);
    return one->text[at] ? NULL : one->heredocs[0].content;
}

/* *has_shell: the arguments begin with the words of the shell. */
static json_t *shell_form(const struct dockerfile_walk *walk, bool *has_shell)
{
    const struct dockerfile_instruction *one = walk->one;
    const char *script = sole_script(walk);
    *has_shell = !script || !str_starts_with(script, "#!");
    if (!*has_shell)
        return json_pack("[s, s, s, s, s]", "/bin/sh", "-c", SCRIPT_RUN, "sh", script);
    json_t *arguments = dockerfile_walk_shell_words(walk);
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

/* Put a program around the command for each folder; takes the arguments. */
static json_t *with_caches(json_t *arguments, const json_t *caches)
{
    for (size_t i = json_array_size(caches); i-- > 0;) {
        json_t *whole = json_pack("[s, s, s, s]", "/bin/sh", "-c", CACHE_RUN, "sh");
        json_array_extend(whole, json_array_get(caches, i));
        json_array_extend(whole, arguments);
        json_decref(arguments);
        arguments = whole;
    }
    return arguments;
}

static bool is_open_at(const struct mounts *mounts, size_t at)
{
    return json_is_true(json_array_get(mounts->opens, at));
}

/* Return the places of the open targets among the words of all folders; NULL: none. */
static json_t *open_places(const struct mounts *mounts)
{
    json_t *places = NULL;
    for (size_t i = 0; i < json_array_size(mounts->opens); i++) {
        if (!is_open_at(mounts, i))
            continue;
        if (!places)
            places = json_array();
        json_array_append_new(places, json_integer((json_int_t)(i * CACHE_WORDS + CACHE_TARGET)));
    }
    return places;
}

/* Return the folders that keep their files; NULL: none. are_open: as open texts. */
static json_t *kept_folders(const struct mounts *mounts, bool are_open)
{
    json_t *kept = NULL, *one;
    size_t at;
    json_array_foreach (mounts->caches, at, one) {
        const char *target = json_string_value(json_array_get(one, 0));
        if (!*json_string_value(json_array_get(one, 1)))
            continue;
        if (!kept)
            kept = json_array();
        autofree char *text =
            are_open && !is_open_at(mounts, at) ? dockerfile_value_open(target) : xstrdup(target);
        json_array_append_new(kept, json_string(text));
    }
    return kept;
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

/* Add the values of ARG, which the commands of a build see, to the step. ENV comes first. As in
 * Docker, a proxy without ARG does not change the step for the cache. */
static void add_variables(const struct dockerfile_walk *walk, json_t *step)
{
    json_t *variables = json_object(), *proxies = json_object(), *opens = json_object(), *value;
    const char *name;
    json_object_foreach (walk->scope.args, name, value) {
        if (json_is_array(value) && !json_object_get(walk->scope.env, name))
            json_object_set(opens, name, json_array_get(value, 0));
        bool is_proxy = dockerfile_is_proxy(name) && !dockerfile_declares(walk->whole, name);
        if (json_is_string(value) && !json_object_get(walk->scope.env, name))
            json_object_set(is_proxy ? proxies : variables, name, value);
    }
    json_object_set_new(step, "variables", variables);
    if (json_object_size(proxies))
        json_object_set(step, "proxies", proxies);
    if (json_object_size(opens))
        json_object_set(step, "open_variables", opens);
    json_decref(proxies);
    json_decref(opens);
}

int dockerfile_walk_run(struct dockerfile_walk *walk, struct error **err)
{
    const struct dockerfile_instruction *one = walk->one;
    json_auto_t *caches = json_array(), *opens = json_array(), *secrets = json_array();
    json_auto_t *binds = json_array();
    const struct mounts mounts = {caches, opens, secrets, binds};
    json_t *arguments, *places;
    bool has_shell = false;
    if (read_flags(walk, &mounts, err) < 0 ||
        dockerfile_walk_array(walk, one->rest, &arguments, err) < 0)
        return -1;
    if (arguments && !json_array_size(arguments)) {
        json_decref(arguments);
        return walk_refuse(walk, one->rest, err, "the exec form needs a program.");
    }
    if (!arguments)
        arguments = shell_form(walk, &has_shell);
    size_t own_words = json_array_size(arguments);
    arguments = with_caches(arguments, caches);
    places = open_places(&mounts);
    json_auto_t *step = json_pack("{s:s, s:s, s:o, s:O*, s:o*, s:o*}", "type", "run", "command",
                                  one->text + one->rest, "arguments", arguments, "secrets",
                                  json_array_size(secrets) ? secrets : NULL, "caches",
                                  kept_folders(&mounts, places != NULL), "open_at", places);
    add_variables(walk, step);
    if (has_shell && !walk->shell)
        json_object_set_new(step, "shell_at",
                            json_integer((json_int_t)(json_array_size(arguments) - own_words)));
    bool has_binds = json_array_size(binds) > 0;
    if ((has_binds && put_binds(walk, binds, err) < 0) ||
        dockerfile_walk_add(walk, json_incref(step), err) < 0)
        return -1;
    return has_binds ? drop_binds(walk, binds, err) : 0;
}
