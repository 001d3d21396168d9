/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/instance.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/mac.h"
#include "recipe/recipe.h"
#include "recipe/recipe_copy.h"
#include "recipe/recipe_fetch.h"
#include "recipe/recipe_file.h"
#include "recipe/recipe_image.h"
#include "recipe/recipe_mount.h"
#include "recipe/recipe_root.h"
#include "recipe/recipe_secret.h"
#include "recipe/recipe_setting.h"
#include "recipe/recipe_user.h"

#define WORK_DIR  RECIPE_WORK_DIR
#define IMAGE_DIR RECIPE_FETCH_DIR
#define TOOLS     RECIPE_TOOLS
/* Time limits of a call: a look, and an act that begins a step. */
#define LOOK_S    3
#define ACT_S     20
#define ANSWER_MS 2000 /* on top of these limits, until the agent counts as silent */
/* A step that replaces /bin/sh removes it for a moment: so many attempts with this pause. */
#define SHELL_TRIES   3
#define SHELL_LATER   100    /* ms */
#define OUTPUT_READ   "8192" /* bytes at once */
#define ROOT          "root"
#define DEFAULTS_MAX  65536 /* bytes of TEMPLATE_DEFAULTS_FILE */
#define DEFAULTS_READ "65536"
#define PATH_SIZE_MAX 16384 /* bytes of $PATH */
#define POLL_MAX      65536
#define TITLE_MAX     200 /* bytes of the text of a step */

/* Start a program in the background, with its output in n.out. The file n.status contains "r"
 * before the script returns, and then the exit status as well. The file n.pid names the process
 * that writes the status: when it is gone without a status, none will come.
 *
 * The agent kills the script and its session when a dispatcher that has called it dies. So the
 * process has a session of its own, and writes its number before the "r". It then leaves the pipe
 * to whose end the script waits. Arguments: n, the program and its own arguments. */
static const char run_script[] =
    "b=/usr/lib/sandlot/busybox s=; if command -v setsid >/dev/null; then s=setsid\n"
    "elif [ -x $b ]; then s=\"$b setsid\"; fi\n"
    ": $( $s /bin/sh -c 'n=" WORK_DIR "/$1; shift; echo $$ >$n.pid; printf r >$n.status\n"
    "  exec >$n.out 2>&1; \"$@\" </dev/null; echo $? >>$n.status' sh \"$@\" & )";
/* The user of the step writes all three files. A step may have replaced the list of resolvers by a
 * link to a file that only a server writes, as systemd-resolved does. */
static const char prepare_script[] =
    TOOLS "umask 022; f=/etc/resolv.conf; [ -e $f ] || { rm -f $f\n"
          "  printf 'nameserver 169.254.0.1\\noptions timeout:2 attempts:3\\n' >$f; }\n"
          "mkdir -p " WORK_DIR " && cd " WORK_DIR " && rm -f $1.out $1.status $1.pid &&"
          " : >$1.out && : >$1.pid && : >$1.status && chmod 0666 $1.out $1.pid $1.status";
/* The shell reads the state itself, because a step can be about to replace the programs. */
static const char poll_script[] =
    TOOLS "cd " WORK_DIR " 2>/dev/null && [ -f $1.status ] || { echo absent; exit; };"
          " state() { s=; read -r s <$1.status || :; }; p=; read -r p <$1.pid || :; state $1;"
          " if [ \"$s\" = r ] && [ -n \"$p\" ] && ! kill -0 \"$p\" 2>/dev/null;"
          " then state $1; [ \"$s\" != r ] || s=gone; fi;"
          " printf '%.16s\\n' \"$s\"; tail -c +$(($2 + 1)) $1.out | head -c " OUTPUT_READ;
static const char shell_script[] =
    "[ -x /bin/bash ] && exec /bin/bash -l -c \"$1\"; exec /bin/sh -l -c \"$1\"";
/* Arguments: the folder, its owner; not empty: the new folders above it belong to him, too. */
static const char workdir_script[] =
    TOOLS "[ ! -d \"$1\" ] || exit 0; top=$1 above=${1%/*}\n"
          "while [ -n \"$3\" ] && [ -n \"$above\" ] && [ ! -d \"$above\" ]; do\n"
          "  top=$above above=${above%/*}; done\n"
          "mkdir -p \"$1\" && chown -R \"$2\" \"$top\"";
/* Arguments: the user; his number, or RECIPE_NEW_USER, if he may have to be added; his group, if it
 * is given. An added user shares group and home with an existing one of his number. Otherwise he
 * has the given group, or root's, as in Docker. */
static const char user_script[] = TOOLS
    "fail() { echo \"$1\"; exit 1; }\n"
    "if [ \"$2\" = " RECIPE_NEW_USER " ]; then\n"
    "  id -u \"$1\" >/dev/null 2>&1 ||\n"
    "    if command -v useradd >/dev/null; then useradd --create-home --shell /bin/bash \"$1\"\n"
    "    else adduser -D \"$1\"; fi || exit 1\n"
    "  set -- \"$1\" '' ''\n"
    "fi\n"
    "if [ -n \"$2\" ] && ! grep -q \"^$1:\" /etc/passwd; then\n"
    "  old=$(sed -n \"s/^[^:]*:[^:]*:$2:\\([0-9]*\\):.*:\\([^:]*\\):[^:]*$/\\1 \\2/p\" "
    "/etc/passwd |\n"
    "    head -n 1)\n"
    "  gid=${old%% *} home=${old#* }\n"
    "  if [ -z \"$old\" ]; then\n"
    "    home=/home/$1; case $3 in '') gid=0;; *[!0-9]*)\n"
    "      gid=$(sed -n \"s/^$3:[^:]*:\\([0-9]*\\):.*/\\1/p\" /etc/group | head -n 1);; "
    "*) gid=$3;; esac\n"
    "    gid=${gid:-0}\n"
    "    mkdir -p \"$home\" && chown \"$2:$gid\" \"$home\" || exit 1\n"
    "  fi\n"
    "  [ -z \"$(tail -c 1 /etc/passwd)\" ] || echo >>/etc/passwd\n"
    "  echo \"$1:x:$2:$gid::$home:/bin/sh\" >>/etc/passwd\n"
    "fi\n"
    "id -u \"$1\" >/dev/null 2>&1 || fail \"There is no user $1.\"\n"
    "case $3 in *[!0-9]*)\n"
    "  grep -q \"^$3:\" /etc/group || fail \"There is no group $3.\";; esac\n";
/* A hint for images with an init, such as s6-overlay. */
#define AGENT_IS_FIRST                                                                          \
    "The first process (PID 1) of a sandbox is its agent. So an init of the image cannot run: " \
    "give a start command that starts the server itself."
/* Arguments: the ready command; the number of the start command, or START_ENDED_FILE if the agent
 * runs it; either may be empty. A start command without a ready command has two seconds to fail. */
static const char ready_script[] = TOOLS
    "f=$PWD b=sh; [ ! -x /bin/bash ] || b=/bin/bash; cd " WORK_DIR "\n"
    "check() { case $1 in '') return 0;; /*) s=r$(head -n 1 $1 2>/dev/null);;\n"
    "  *) s=$(head -c 16 $1.status);; esac; case $s in ''|r|r0) return 0;; esac\n"
    "  said=$(tail -c 4096 $1.out 2>/dev/null || tail -n +2 $1)\n"
    "  echo \"The start command ended with status ${s#r}: $said\"\n"
    "  case $said in *'only run as pid 1'*) echo '" AGENT_IS_FIRST "';; esac; exit 1; }\n"
    "i=0; until if [ -n \"$1\" ]; then (cd \"$f\"; exec $b -c \"$1\"); else [ $i -ge 4 ]; fi; do\n"
    "  check \"$2\"; i=$((i + 1))\n"
    "  [ $i -lt 1200 ] || { echo \"It was not ready in time.\"; exit 1; }\n"
    "  sleep 0.5\n"
    "done\n"
    "check \"$2\"\n";
/* Arguments: the defaults for sandboxes, the number of the start command. A package of a step may
 * have installed an init of its own. */
static const char clean_script[] =
    TOOLS "set -e; p=$(head -c 16 " WORK_DIR "/$2.pid 2>/dev/null || true)\n"
          "[ -z \"$p\" ] || { g=$(cut -d' ' -f5 /proc/$p/stat 2>/dev/null || true);"
          " [ -z \"$g\" ] || kill -TERM -- -$g 2>/dev/null || true; }\n"
          "umask 022; mkdir -p " TEMPLATE_DEFAULTS_DIR "; printf %s \"$1\" >" TEMPLATE_DEFAULTS_FILE
          "\nagent=/usr/lib/sandlot/sandlot-agent; [ ! -d /usr/lib/sandlot/tools ] ||"
          " [ \"$(readlink /sbin/init)\" = $agent ] ||"
          " { mkdir -p /sbin; rm -f /sbin/init; ln -s $agent /sbin/init; }\n"
          /* The last exchange of roots deletes its folder at the same time. */
          "n=0; until rm -rf " IMAGE_DIR "*"
          " 2>/dev/null; do n=$((n + 1)); [ $n -lt 50 ]; sleep 0.2; done";

/* --- steps --- */

const json_t *recipe_step_at(const struct recipe_place *place, unsigned step)
{
    return json_array_get(json_object_get(place->recipe, "steps"), step);
}

unsigned recipe_step_count(const struct recipe_place *place)
{
    return (unsigned)json_array_size(json_object_get(place->recipe, "steps"));
}

bool recipe_step_is_image(const struct recipe_place *place, unsigned step)
{
    return str_equal(recipe_text(recipe_step_at(place, step), "type"), RECIPE_IMAGE_STEP);
}

/* Steps that fetch images have no number. They are the first ones. */
static unsigned unnumbered(const struct recipe_place *place)
{
    unsigned count = 0;
    while (recipe_step_is_image(place, count))
        count++;
    return count;
}

/* --- names --- */

void recipe_step_name(const struct recipe_place *place, int step, char name[16])
{
    if (step < 0 || recipe_step_is_image(place, (unsigned)step))
        snprintf(name, 16, "base");
    else if ((unsigned)step < recipe_step_count(place))
        snprintf(name, 16, "%u", (unsigned)step + 1 - unnumbered(place));
    else
        snprintf(name, 16, "finalize");
}

/* Return the names of the variables that a step sets. Values may be secret. */
static char *env_text(const json_t *one)
{
    buffer_auto names = BUFFER_INIT(TITLE_MAX);
    const char *name;
    json_t *value;
    json_object_foreach (json_object_get(one, "envs"), name, value)
        buffer_printf(&names, " %s", name);
    return xasprintf("env%s", buffer_string(&names));
}

char *recipe_step_text(const struct recipe_place *place, unsigned step)
{
    const json_t *one = recipe_step_at(place, step);
    if (recipe_step_is_image(place, step))
        return xasprintf("fetching image %s", recipe_text(one, "image"));
    const char *type = recipe_text(one, "type");
    if (str_equal(type, "env"))
        return env_text(one);
    const char *what = str_equal(type, "run")          ? recipe_text(one, "command")
                       : str_starts_with(type, "copy") ? recipe_text(one, "destination")
                       : str_equal(type, "user")       ? recipe_text(one, "user")
                                                       : recipe_text(one, "path");
    size_t length = strcspn(what, "\n"), most = str_cut(what, TITLE_MAX);
    return xasprintf("%s %.*s", type, (int)(length < most ? length : most), what);
}

char *recipe_step_title(const struct recipe_place *place, unsigned step)
{
    static const char *const ends[] = {"starting the start command",
                                       "waiting for the ready command", "finishing"};
    unsigned count = recipe_step_count(place), offset = unnumbered(place);
    if (step >= count)
        return xstrdup(ends[step - count]);
    char *text = recipe_step_text(place, step);
    if (recipe_step_is_image(place, step))
        return text;
    autofree char *owned = text;
    json_int_t line = json_integer_value(json_object_get(recipe_step_at(place, step), "line"));
    autofree char *at = line ? xasprintf(", line %lld", (long long)line) : xstrdup("");
    return xasprintf("step %u of %u%s: %s", step + 1 - offset, count - offset, at, owned);
}

/* --- calls of the agent --- */

static int call(struct recipe_place *place, const struct recipe_setting *as, json_t *args,
                const char *input, unsigned seconds, json_t **answer, struct error **err)
{
    json_auto_t *body = json_pack("{s:s, s:o, s:s, s:i}", "cmd", "/bin/sh", "args", args, "user",
                                  as ? as->user : ROOT, "timeout", (int)seconds);
    if (as)
        json_object_set(body, "envs", as->envs);
    json_object_set_new(body, "cwd", json_string(as ? as->cwd : "/"));
    if (input) {
        json_object_set_new(body, "stdin", json_string(input));
        json_object_set_new(body, "stdin_encoding", json_string("base64"));
    }
    if (lease_tick(place->lease, err) < 0)
        return -1;
    if (agent_exec(&place->at, place->secret, body,
                   deadline_within_ms(place->until, seconds * 1000 + ANSWER_MS), answer, err) == 0)
        return 0;
    error_auto lost = NULL; /* that ended the wait */
    if (lease_tick(place->lease, &lost) < 0) {
        error_clear(err);
        return error_move(err, &lost);
    }
    /* The build fails now. An image may have a user with a longer name. */
    if ((*err)->code == ERR_NO_SUCH_USER && as && strlen(as->user) <= RECIPE_USER_MAX)
        place->no_user = xstrdup(as->user);
    return -1;
}

int recipe_place_call(struct recipe_place *place, json_t *args, const char *input,
                      struct error **err)
{
    json_auto_t *answer = NULL;
    if (call(place, NULL, args, input, ACT_S, &answer, err) < 0)
        return -1;
    if (json_integer_value(json_object_get(answer, "exit_code")) == 0)
        return 0;
    const char *said = recipe_text(answer, "stderr");
    return error_set(err, ERR_INVALID_REQUEST, "Cannot prepare the sandbox of the build: %.*s",
                     (int)str_cut(said, 300), said);
}

/* The owner of the base can replace the agent, so the output may be longer than the script's. */
int recipe_place_look(struct recipe_place *place, json_t *args, unsigned seconds, size_t most,
                      json_t **answer, struct error **err)
{
    if (call(place, NULL, args, NULL, seconds, answer, err) < 0)
        return -1;
    return strlen(recipe_text(*answer, "stdout")) <= most
               ? 0
               : error_set(err, ERR_INVALID_REQUEST,
                           "The sandbox of the build sent more than the service asked for. A step "
                           "or the base may have replaced a program, such as head.");
}

/* Look. The step may be replacing /bin/sh, and then the agent does not find it for a moment. While
 * it is being written, a later turn looks again, so that the recipes of others do not wait. */
static int look_with_shell(struct recipe_place *place, json_t *args, size_t most, json_t **answer,
                           struct error **err)
{
    for (unsigned tries = 1;; tries++) {
        if (recipe_place_look(place, json_incref(args), LOOK_S, most, answer, err) == 0)
            return 0;
        if ((*err)->code != ERR_INVALID_REQUEST || *answer || tries == SHELL_TRIES)
            return -1;
        error_clear(err);
        clock_sleep_ms(SHELL_LATER);
    }
}

/* A script that was cut off is an error, because its output may be incomplete. */
int recipe_place_ask(struct recipe_place *place, json_t *args, size_t most, json_t **answer,
                     struct error **err)
{
    json_auto_t *kept = args;
    if (look_with_shell(place, kept, most, answer, err) < 0)
        return -1;
    if (json_integer_value(json_object_get(*answer, "exit_code")) == 0)
        return 0;
    return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                     "the connection to the sandbox of the build broke");
}

int recipe_place_read(struct recipe_place *place, struct error **err)
{
    json_auto_t *answer = NULL;
    if (recipe_place_ask(place,
                         json_pack("[s, s]", "-c",
                                   "printf '%s\\n' \"$PATH\"; head -c " DEFAULTS_READ
                                   " " TEMPLATE_DEFAULTS_FILE " 2>/dev/null; true"),
                         DEFAULTS_MAX + PATH_SIZE_MAX, &answer, err) < 0)
        return -1;
    const char *text = recipe_text(answer, "stdout");
    size_t line = strcspn(text, "\n");
    free(place->path);
    json_decref(place->defaults);
    json_decref(place->shell);
    place->path = xstrndup(text, line);
    text += line + (text[line] == '\n');
    place->defaults = json_read(text, strlen(text), 0, NULL);
    if (!json_is_object(place->defaults)) {
        json_decref(place->defaults);
        place->defaults = json_object();
    }
    place->shell = recipe_setting_shell(place->defaults);
    return 0;
}

/* --- beginning --- */

/* program: with its arguments; taken. */
static int start_program(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                         json_t *program, struct error **err)
{
    char number[16];
    json_auto_t *rest = program;
    json_auto_t *answer = NULL;
    snprintf(number, sizeof number, "%u", step);
    if (recipe_place_call(place, json_pack("[s, s, s, s]", "-c", prepare_script, "sh", number),
                          NULL, err) < 0)
        return -1;
    json_t *whole = json_pack("[s, s, s, s]", "-c", run_script, "sh", number);
    json_array_extend(whole, rest);
    return call(place, as, whole, NULL, ACT_S, &answer, err);
}

int recipe_step_start(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                      json_t *args, struct error **err)
{
    json_t *program = json_pack("[s, s]", "/bin/sh", "-c");
    json_array_extend(program, args);
    json_decref(args);
    return start_program(place, step, as, program, err);
}

static int run(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
               const char *command, struct error **err)
{
    return recipe_step_start(place, step, as, json_pack("[s, s, s]", shell_script, "sh", command),
                             err);
}

/* Run the command of a step, or the program of a Dockerfile's. */
static int run_step(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                    const json_t *one, struct error **err)
{
    const char *user = recipe_text(one, "user");
    json_auto_t *program = json_copy(json_object_get(one, "arguments"));
    const json_t *shell_at = json_object_get(one, "shell_at");
    json_auto_t *envs = json_copy(as->envs);
    const struct recipe_setting with = {
        .user = *user ? user : as->user, .cwd = as->cwd, .envs = envs};
    /* The plan has put the values of open_variables into these texts. */
    recipe_setting_expand(json_object_get(one, "open_at"), as->envs, program);
    if (recipe_setting_add_open(place, json_object_get(one, "open_variables"), envs, err) < 0)
        return -1;
    json_object_update(envs, json_object_get(one, "variables"));
    json_object_update(envs, json_object_get(one, "proxies"));
    if (recipe_mount_prepare(place, step, as, err) < 0 ||
        recipe_secrets_put(place, step, with.user, envs, err) < 0)
        return -1;
    if (shell_at)
        recipe_setting_put_shell(place->shell, (size_t)json_integer_value(shell_at), program);
    return program ? start_program(place, step, &with, json_incref(program), err)
                   : run(place, step, &with, recipe_text(one, "command"), err);
}

static int enter_stage(struct recipe_place *place, const json_t *one, enum recipe_start *begun,
                       struct error **err)
{
    char folder[RECIPE_FETCH_FOLDER_SIZE];
    recipe_fetch_folder(one, "number", folder);
    *begun = RECIPE_NEW_ROOT;
    return recipe_root_enter(place, folder, err);
}

static int fetch_image(struct recipe_place *place, unsigned step, const json_t *one,
                       struct error **err)
{
    json_t *program;
    return recipe_fetch_order(place, one, &program, err) < 0
               ? -1
               : recipe_step_start(place, step, NULL, program, err);
}

static int make_workdir(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                        struct error **err)
{
    struct recipe_setting then;
    bool is_dockerfile = json_object_get(place->recipe, RECIPE_CONFIG) != NULL;
    /* The list of users may have no root. */
    autofree char *owner = !is_dockerfile              ? recipe_setting_owner(as->user)
                           : str_equal(as->user, ROOT) ? xstrdup("0")
                                                       : xstrdup(as->user);
    recipe_setting_at(place, step + 1, &then);
    int result = recipe_step_start(place, step, NULL,
                                   json_pack("[s, s, s, s, s]", workdir_script, "sh", then.cwd,
                                             owner, is_dockerfile ? "" : "1"),
                                   err);
    recipe_setting_deinit(&then);
    return result;
}

static int become_user(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                       const json_t *one, struct error **err)
{
    struct dockerfile_user user;
    if (recipe_setting_user(place, as, one, &user, err) < 0)
        return -1;
    return recipe_step_start(
        place, step, NULL,
        json_pack("[s, s, s, s, s]", user_script, "sh", user.name, user.number, user.group), err);
}

static int begin_step(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                      enum recipe_start *begun, struct error **err)
{
    const json_t *one = recipe_step_at(place, step);
    const char *type = recipe_text(one, "type");
    bool is_idle = str_equal(type, "env") || recipe_keeps_user(one, as->user);
    if (str_equal(type, "run") && !is_idle)
        return run_step(place, step, as, one, err);
    if (str_equal(type, "copy"))
        return recipe_copy_context(place, step, as, one, begun, err);
    if (str_equal(type, "copy_stage"))
        return recipe_copy_stage(place, step, as, one, err);
    if (str_equal(type, "save"))
        return recipe_copy_save(place, step, one, err);
    if (str_equal(type, RECIPE_TEMPLATE_STEP))
        return recipe_step_start(place, step, NULL, recipe_root_copies(one), err);
    if (str_equal(type, "stage"))
        return enter_stage(place, one, begun, err);
    if (recipe_step_is_image(place, step))
        return fetch_image(place, step, one, err);
    if (str_equal(type, "user"))
        return become_user(place, step, as, one, err);
    if (is_idle) {
        *begun = RECIPE_NOTHING_TO_RUN;
        return 0;
    }
    return make_workdir(place, step, as, err);
}

/* Return the start command of sandboxes; "": none. */
static const char *start_command_of(const struct recipe_place *place)
{
    return json_is_true(json_object_get(place->recipe, "start_image_command"))
               ? recipe_text(place->defaults, "image_command")
               : recipe_text(place->recipe, "start_command");
}

/* Let a start command of the base keep the base's user, folder and variables. */
static void keep_start_place(const struct recipe_place *place, json_t *told)
{
    const char *workdir = recipe_text(place->defaults, "workdir");
    json_auto_t *usual =
        json_pack("{s:s, s:s, s:O?}", "user", recipe_text(place->defaults, "user"), "cwd",
                  *workdir ? workdir : "~", "envs", json_object_get(place->defaults, "envs"));
    json_t *kept = json_object_get(told, "start_place");
    if (kept)
        json_object_update_missing(kept, usual);
    else
        json_object_set(told, "start_place", usual);
}

/* Write the start command of sandboxes, and its place. command: "": that of the base. */
static void put_start(const struct recipe_place *place, const char *command, json_t *told)
{
    static const char *const of_base[] = {"start_place", "start_health", "start_stop_signal",
                                          RECIPE_IMAGE_STARTS};
    bool keeps = json_is_true(json_object_get(place->recipe, RECIPE_KEEPS_START));
    if (*command) {
        for (size_t i = 0; i < ARRAY_SIZE(of_base); i++)
            json_object_del(told, of_base[i]);
        json_object_set_new(told, "start_command", json_string(command));
    } else if (keeps && json_object_get(told, "start_command"))
        keep_start_place(place, told);
    else
        json_object_del(told, "start_place");
    if (json_is_true(json_object_get(place->recipe, "start_image_command")))
        recipe_setting_add_start(place, told);
    else if (!keeps && json_object_get(told, RECIPE_IMAGE_STARTS))
        recipe_setting_add_place(place, told);
}

/* Return the defaults for sandboxes of this version, as JSON text; the caller frees it. */
static char *defaults_text(const struct recipe_place *place, const struct recipe_setting *as)
{
    json_auto_t *told = json_deep_copy(place->defaults);
    const char *command = start_command_of(place);
    const char *ready = recipe_text(place->recipe, "ready_command");
    json_object_set_new(told, "user", json_string(as->user));
    if (*as->cwd)
        json_object_set_new(told, "workdir", json_string(as->cwd));
    json_object_set(told, "envs", as->envs);
    put_start(place, command, told);
    if (*command || *ready)
        json_object_set_new(told, "ready_command", json_string(ready));
    if (json_object_get(place->recipe, "services"))
        json_object_set(told, "services", json_object_get(place->recipe, "services"));
    return json_dumps(told, JSON_COMPACT);
}

static bool has_services(const struct recipe_place *place)
{
    const json_t *services = json_object_get(place->recipe, "services");
    return json_array_size(services ? services : json_object_get(place->defaults, "services"));
}

/* Return whether the start command or services, also those of the base, are left to the agent of a
 * later sandbox. Steps run no services. */
static bool starts_later(const struct recipe_place *place)
{
    if (place->start == START_IN_STEPS)
        return has_services(place) && !*start_command_of(place);
    return place->start == START_LATER &&
           (*start_command_of(place) || *recipe_text(place->defaults, "start_command") ||
            has_services(place));
}

static int begin_end(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                     enum recipe_start *begun, struct error **err)
{
    const char *start_command = start_command_of(place);
    const char *ready = recipe_text(place->recipe, "ready_command");
    unsigned count = recipe_step_count(place);
    bool is_image = json_is_true(json_object_get(place->recipe, "start_image_command"));
    const char *init = is_image ? recipe_setting_init(place->defaults) : NULL;
    char number[sizeof START_ENDED_FILE + 16];
    snprintf(number, sizeof number, "%u", count + RECIPE_END_START);
    switch ((enum recipe_end)(step - count)) {
    case RECIPE_END_START:
        if (recipe_users_add(place, err) < 0)
            return -1;
        if (!*start_command && is_image)
            return error_set(err, ERR_INVALID_REQUEST,
                             "start_image_command needs a template from an image with an entry "
                             "point or a command.");
        if (init)
            return error_set(err, ERR_INVALID_REQUEST, "The image starts %.64s. " AGENT_IS_FIRST,
                             init);
        if (*start_command && place->start == START_IN_STEPS)
            return run(place, step, as, start_command, err);
        *begun = RECIPE_NOTHING_TO_RUN;
        return 0;
    case RECIPE_END_READY:
        if (place->start == START_IN_AGENT)
            snprintf(number, sizeof number, "%s", START_ENDED_FILE);
        else if (!*start_command)
            *number = '\0';
        if ((*number || *ready) && !starts_later(place))
            return recipe_step_start(
                place, step, as, json_pack("[s, s, s, s]", ready_script, "sh", ready, number), err);
        *begun = RECIPE_NOTHING_TO_RUN;
        return 0;
    case RECIPE_END_CLEAN:
    case RECIPE_ENDS:
        break;
    }
    autofree char *told = defaults_text(place, as);
    if (strlen(told) > DEFAULTS_MAX)
        return error_set(err, ERR_INVALID_REQUEST,
                         "The variables and the commands of the version have more than %d KiB.",
                         DEFAULTS_MAX >> 10);
    return recipe_step_start(place, step, NULL,
                             json_pack("[s, s, s, s]", clean_script, "sh", told, number), err);
}

int recipe_step_begin(struct recipe_place *place, unsigned step, enum recipe_start *begun,
                      struct error **err)
{
    bool is_end = step >= recipe_step_count(place);
    struct recipe_setting as;
    *begun = RECIPE_STARTED;
    if (is_end)
        recipe_setting_kept(place, &as);
    else
        recipe_setting_at(place, step, &as);
    int result = as.is_too_long
                     ? error_set(err, ERR_INVALID_REQUEST,
                                 "The variables of the build have more than %d KiB together.",
                                 RECIPE_ENVS_MAX >> 10)
                 : is_end ? begin_end(place, step, &as, begun, err)
                          : begin_step(place, step, &as, begun, err);
    recipe_setting_deinit(&as);
    return result;
}

int recipe_place_clean(struct recipe_place *place, struct error **err)
{
    return recipe_place_call(place, json_pack("[s, s]", "-c", "rm -rf " WORK_DIR "; sync"), NULL,
                             err);
}

/* --- looking --- */

/* Append output as text. It may contain any byte, and half a character at its ends. */
static void append_clean(struct buffer *output, const char *text, size_t size, bool is_text)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        bool fits = c == '\n' || c == '\t' || (c >= ' ' && c != 0x7f && (is_text || c < 0x80));
        buffer_append_char(output, fits ? (char)c : c == '\r' ? '\n' : '?');
    }
}

static void read_state(const char *line, struct recipe_poll *poll)
{
    uint64_t status;
    poll->is_there = *line && !str_equal(line, "absent");
    poll->is_over = poll->is_there && !str_equal(line, "r");
    poll->status = *line == 'r' && str_parse_u64(line + 1, 0, 255, &status) == 0 ? (int)status : -1;
}

int recipe_step_poll(struct recipe_place *place, unsigned step, uint64_t from,
                     struct recipe_poll *poll, struct buffer *output, struct error **err)
{
    char line[24], number[16], at[32];
    json_auto_t *answer = NULL;
    buffer_auto bytes = BUFFER_INIT(65536);
    snprintf(number, sizeof number, "%u", step);
    snprintf(at, sizeof at, "%llu", (unsigned long long)from);
    if (recipe_place_ask(place, json_pack("[s, s, s, s, s]", "-c", poll_script, "sh", number, at),
                         POLL_MAX, &answer, err) < 0)
        return -1;
    const char *text = recipe_text(answer, "stdout");
    bool is_text = str_equal(recipe_text(answer, "stdout_encoding"), "utf-8");
    size_t size = strlen(text);
    if (is_text)
        buffer_append(&bytes, text, size);
    else if (buffer_reserve(&bytes, size + 3) &&
             base64_decode(text, size, bytes.data, size + 3, &bytes.size) < 0)
        bytes.size = 0;
    const char *all = bytes.size ? bytes.data : "";
    const char *end = memchr(all, '\n', bytes.size);
    size_t length = end ? (size_t)(end - all) : bytes.size;
    snprintf(line, sizeof line, "%.*s", (int)(length < 20 ? length : 20), all);
    read_state(line, poll);
    poll->read = end ? bytes.size - length - 1 : 0;
    if (poll->read)
        append_clean(output, end + 1, poll->read, is_text);
    return 0;
}
