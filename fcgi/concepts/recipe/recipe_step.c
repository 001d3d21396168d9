/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/instance.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/mac.h"
#include "recipe/recipe.h"
#include "recipe/recipe_file.h"
#include "recipe/recipe_image.h"
#include "recipe/recipe_mount.h"
#include "recipe/recipe_secret.h"
#include "recipe/recipe_setting.h"

#define WORK_PARENT "/var/tmp"
#define WORK_DIR    RECIPE_WORK_DIR
/* The folder of the programs in a template of builders, and the folder in which they unpack. */
#define IMAGE_PROGRAMS "/usr/lib/sandlot/image"
#define IMAGE_DIR      "/.sandlot-image"
#define ORDER_FILE     WORK_DIR "/image.json"
#define TOOLS          RECIPE_TOOLS
/* Time limits of a call: a look, and an act that begins a step. */
#define LOOK_S        3
#define DIGEST_S      5 /* for the digest of an image */
#define ACT_S         20
#define ANSWER_MS     2000   /* on top of these limits, until the agent counts as silent */
#define OUTPUT_READ   "8192" /* bytes at once */
#define ROOT          "root"
#define DEFAULTS_MAX  65536 /* bytes of TEMPLATE_DEFAULTS_FILE */
#define DEFAULTS_READ "65536"
#define PATH_SIZE_MAX 16384 /* bytes of $PATH */
#define NUMBER_MAX    4096
#define POLL_MAX      65536
#define TITLE_MAX     200  /* bytes of the text of a step */
#define SEND_MS       2500 /* limit for an archive in one turn */
/* RECIPE_FILE_PART for the shell. */
#define RECIPE_PART_BYTES "524288"
_Static_assert(RECIPE_FILE_PART == 524288, "parts_script counts in parts");

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
/* The user of the step writes all three files. */
static const char prepare_script[] =
    TOOLS "umask 022; mkdir -p " WORK_DIR " && cd " WORK_DIR " && rm -f $1.out $1.status $1.pid &&"
          " : >$1.out && : >$1.pid && : >$1.status && chmod 0666 $1.out $1.pid $1.status";
static const char poll_script[] =
    TOOLS "cd " WORK_DIR " 2>/dev/null && [ -f $1.status ] || { echo absent; exit; };"
          " s=$(head -c 16 $1.status); p=$(head -c 16 $1.pid);"
          " if [ \"$s\" = r ] && [ -n \"$p\" ] && ! kill -0 $p 2>/dev/null;"
          " then s=$(head -c 16 $1.status); [ \"$s\" != r ] || s=gone; fi;"
          " echo \"$s\"; tail -c +$(($2 + 1)) $1.out | head -c " OUTPUT_READ;
/* Print how many whole parts of the archive $1 exist. */
static const char parts_script[] =
    TOOLS "mkdir -p " WORK_DIR " && touch \"$1\" && n=$(($(stat -c %s \"$1\") / " RECIPE_PART_BYTES
          ")) && truncate -s $((n * " RECIPE_PART_BYTES ")) \"$1\" && echo $n";
static const char shell_script[] =
    "[ -x /bin/bash ] && exec /bin/bash -l -c \"$1\"; exec /bin/sh -l -c \"$1\"";
/* Arguments: archive, source, destination, owner, mode, the start of a relative destination ("":
 * the home of the next argument), the user; then three that are empty or not: keep the archive for
 * other steps, fail without a source, unpack a source that is an archive. The contents of folders
 * are copied, as in Dockerfiles. Existing files keep their owner. The tar of some images does not
 * see by itself that an archive is compressed. */
static const char copy_script[] = TOOLS
    "set -e; archive=$1 source=$2 to=$3 owner=$4 mode=$5 base=$6 keep=$8 exact=$9 unpack=${10}\n"
    "[ -n \"$base\" ] || base=$(sed -n \"s/^$7:.*:\\([^:]*\\):[^:]*$/\\1/p\" /etc/passwd)\n"
    "case $to in '~') to=$base;; '~/'*) to=$base/${to#??};; /*) ;; *) to=$base/$to;; esac\n"
    "from=$(mktemp -d " WORK_DIR "/from.XXXXXX); chmod 0755 \"$from\"\n"
    "same=--numeric-owner; [ -z \"$owner\" ] || same=--no-same-owner\n"
    "tar -xf \"$archive\" -C \"$from\" $same 2>\"$archive.err\" ||\n"
    "  tar -xzf \"$archive\" -C \"$from\" $same 2>/dev/null ||\n"
    "  { cat \"$archive.err\"; exit 1; }\n"
    "[ -n \"$keep\" ] || rm -f \"$archive\"; rm -f \"$archive.err\"\n"
    "cd \"$from\"\n"
    "[ -z \"$owner\" ] || find . -mindepth 1 -exec chown -h \"$owner\" {} +\n"
    "[ -z \"$mode\" ] || find . -mindepth 1 ! -type l -exec chmod \"$mode\" {} +\n"
    "into() { [ -d \"$to\" ] || { mkdir -p \"$to\"; [ -z \"$owner\" ] || chown \"$owner\" \"$to\"; "
    "}; }\n"
    "contents() { into; find \"$1\" -mindepth 1 -maxdepth 1 -exec cp -a {} \"$to\"/ \\;; }\n"
    "unpacked() { [ -n \"$unpack\" ] && [ -f \"$1\" ] || return 1\n"
    "  for z in '' -z -j -J; do\n"
    "    [ -z \"$(tar -tf \"$1\" $z 2>/dev/null | head -n 1)\" ] ||\n"
    "      { into; tar -xf \"$1\" -C \"$to\" $z; return; }\n"
    "  done; return 1; }\n"
    "file() { case $to in */) into;; esac\n"
    "  if [ -d \"$to\" ]; then cp -a \"$1\" \"$to\"/\n"
    "  else mkdir -p \"$(dirname \"$to\")\"; cp -a \"$1\" \"$to\"; fi; }\n"
    "if [ -d \"$source\" ] && [ ! -L \"$source\" ]; then contents \"$source\"\n"
    "elif [ -e \"$source\" ] || [ -L \"$source\" ]; then unpacked \"$source\" || file \"$source\"\n"
    "else\n"
    "  IFS=; set -- $source; [ -e \"$1\" ] || [ -L \"$1\" ] || { [ -z \"$exact\" ] ||\n"
    "    { echo \"The context has no file $source.\"; exit 1; }; set -- .; }\n"
    "  [ -z \"$exact\" ] || [ $# = 1 ] || into\n"
    "  for one; do if [ -d \"$one\" ]; then contents \"$one\"; elif [ -n \"$exact\" ]; then\n"
    "    unpacked \"$one\" || file \"$one\"; else into; cp -a \"$one\" \"$to\"/; fi; done\n"
    "fi\n"
    "rm -rf \"$from\"\n";
static const char workdir_script[] =
    TOOLS "[ -d \"$1\" ] || { mkdir -p \"$1\" && chown \"$2\" \"$1\"; }";
/* Arguments: the user; his number if he may have to be added; his group, if it is checked. An added
 * user shares group and home with an existing one of his number. */
static const char user_script[] =
    TOOLS "fail() { echo \"$1\"; exit 1; }\n"
          "if [ -n \"$2\" ] && ! grep -q \"^$1:\" /etc/passwd; then\n"
          "  old=$(sed -n \"s/^[^:]*:[^:]*:$2:\\([0-9]*\\):.*:\\([^:]*\\):[^:]*$/\\1 \\2/p\" "
          "/etc/passwd |\n"
          "    head -n 1)\n"
          "  gid=${old%% *} home=${old#* }\n"
          "  if [ -z \"$old\" ]; then\n"
          "    gid=$2 home=/home/$1; case $3 in ''|*[!0-9]*) ;; *) gid=$3;; esac\n"
          "    mkdir -p \"$home\" && chown \"$2:$gid\" \"$home\" || exit 1\n"
          "  fi\n"
          "  [ -z \"$(tail -c 1 /etc/passwd)\" ] || echo >>/etc/passwd\n"
          "  echo \"$1:x:$2:$gid::$home:/bin/sh\" >>/etc/passwd\n"
          "fi\n"
          "id -u \"$1\" >/dev/null 2>&1 || fail \"There is no user $1.\"\n"
          "[ -z \"$3\" ] || [ \"$3\" = \"$(id -g \"$1\")\" ] ||\n"
          "  [ \"$3\" = \"$(id -gn \"$1\" 2>/dev/null)\" ] ||\n"
          "  fail \"The group of user $1 is $(id -g \"$1\"), and USER cannot change it to $3.\"\n";
/* Arguments: the ready command; the number of the start command, or START_ENDED_FILE if the agent
 * runs it; either may be empty. A start command without a ready command has two seconds to fail. */
static const char ready_script[] = TOOLS
    "cd " WORK_DIR "\n"
    "check() { case $1 in '') return 0;; /*) s=r$(head -n 1 $1 2>/dev/null);;\n"
    "  *) s=$(head -c 16 $1.status);; esac; case $s in ''|r|r0) return 0;; esac\n"
    "  echo \"The start command ended with status ${s#r}: $(tail -c 4096 $1.out 2>/dev/null ||\n"
    "    tail -n +2 $1)\"; exit 1; }\n"
    "i=0; until if [ -n \"$1\" ]; then (cd /; exec sh -c \"$1\"); else [ $i -ge 4 ]; fi; do\n"
    "  check \"$2\"; i=$((i + 1))\n"
    "  [ $i -lt 600 ] || { echo \"It was not ready in time.\"; exit 1; }\n"
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
          /* change-root removes the folder at the same time. */
          "n=0; until rm -rf " IMAGE_DIR "*"
          " 2>/dev/null; do n=$((n + 1)); [ $n -lt 50 ]; sleep 0.2; done";
/* Arguments: a file for the order, a folder for the tree. */
static const char fetch_script[] =
    "[ -x " IMAGE_PROGRAMS "/fetch-image ] || { echo 'The template of builders cannot fetch images:"
    " build it again with sandlot-build-template.'; exit 1; }; exec " IMAGE_PROGRAMS
    "/fetch-image \"$1\" \"$2\"";
static const char enter_script[] =
    "[ ! -d " IMAGE_DIR "/root ] || exec " IMAGE_PROGRAMS "/change-root " IMAGE_DIR " " WORK_DIR;

/* Arguments: the folder of a stage's image. Put its tree in the place of the root, as change-root
 * does; few images have Python. Each has the static busybox, and so has the template of builders.
 */
static const char stage_script[] =
    "f=$1; [ -d $f/root ] || exit 0\n"
    "b=$f/busybox; for p in /usr/lib/sandlot/busybox /bin/busybox; do\n"
    "  [ -x $b ] || [ ! -x $p ] || $p cp $p $b || exit 1; done\n"
    "$b mkdir -p $f/old && $b mv " WORK_DIR " $f/work || exit 1\n"
    "for n in /* /.[!.]*; do case $n in /proc|/sys|/dev|" IMAGE_DIR "*) continue;; esac\n"
    "  [ -e $n ] || [ -L $n ] || continue; $b mv $n $f/old/ || exit 1; done\n"
    "for n in $f/root/* $f/root/.[!.]*; do case ${n##*/} in proc|sys|dev) continue;; esac\n"
    "  [ -e $n ] || [ -L $n ] || continue; $b mv $n / || exit 1; done\n"
    "$b chmod $($b stat -c %a $f/root) / && $b mkdir -p " WORK_PARENT " && $b mv $f/work " WORK_DIR
    " &&\n"
    "  $b mv $f/root $f/rest && $b sync || exit 1\n"
    "$b setsid $b rm -rf $f >/dev/null 2>&1 </dev/null &\n";
/* Arguments: the archive, then the paths and patterns of files below the root. */
static const char save_script[] = TOOLS
    "archive=$1; shift; cd /; n=$#; IFS=\n"
    "while [ $n -gt 0 ]; do p=$1; shift; n=$((n - 1)); set -- \"$@\" $p; done\n"
    "for p; do [ -e \"$p\" ] || [ -L \"$p\" ] || { echo \"The stage has no file /$p.\"; exit 1; }; "
    "done\n"
    "exec tar --numeric-owner -cf \"$archive\" -- \"$@\"\n";

/* --- steps --- */

const json_t *recipe_step_at(const struct recipe_place *place, unsigned step)
{
    return json_array_get(json_object_get(place->recipe, "steps"), step);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

unsigned recipe_step_count(const struct recipe_place *place)
{
    return (unsigned)json_array_size(json_object_get(place->recipe, "steps"));
}

bool recipe_step_is_image(const struct recipe_place *place, unsigned step)
{
    return str_equal(text_of(recipe_step_at(place, step), "type"), RECIPE_IMAGE_STEP);
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
        return xasprintf("fetching image %s", text_of(one, "image"));
    const char *type = text_of(one, "type");
    if (str_equal(type, "env"))
        return env_text(one);
    const char *what = str_equal(type, "run")          ? text_of(one, "command")
                       : str_starts_with(type, "copy") ? text_of(one, "destination")
                       : str_equal(type, "user")       ? text_of(one, "user")
                                                       : text_of(one, "path");
    int length = (int)strcspn(what, "\n");
    return xasprintf("%s %.*s", type, length < TITLE_MAX ? length : TITLE_MAX, what);
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
    return agent_exec(&place->at, place->secret, body,
                      deadline_within_ms(place->until, seconds * 1000 + ANSWER_MS), answer, err);
}

int recipe_place_call(struct recipe_place *place, json_t *args, const char *input,
                      struct error **err)
{
    json_auto_t *answer = NULL;
    if (call(place, NULL, args, input, ACT_S, &answer, err) < 0)
        return -1;
    if (json_integer_value(json_object_get(answer, "exit_code")) == 0)
        return 0;
    return error_set(err, ERR_INVALID_REQUEST, "Cannot prepare the sandbox of the build: %.300s",
                     text_of(answer, "stderr"));
}

/* Run a short script that changes nothing. A script that was cut off is an error, because its
 * output may be incomplete. The owner of the base can replace the agent, so the output may also be
 * longer than the script's: most is the bound. */
static int call_look(struct recipe_place *place, json_t *args, size_t most, json_t **answer,
                     struct error **err)
{
    if (call(place, NULL, args, NULL, LOOK_S, answer, err) < 0)
        return -1;
    if (strlen(text_of(*answer, "stdout")) > most)
        return error_set(err, ERR_INVALID_REQUEST,
                         "The sandbox of the build sent more than the service asked for. A step or "
                         "the base may have replaced a program, such as head.");
    if (json_integer_value(json_object_get(*answer, "exit_code")) == 0)
        return 0;
    return error_set(err, ERR_RUNTIME_UNAVAILABLE,
                     "the connection to the sandbox of the build broke");
}

int recipe_place_read(struct recipe_place *place, struct error **err)
{
    json_auto_t *answer = NULL;
    if (call_look(place,
                  json_pack("[s, s]", "-c",
                            "printf '%s\\n' \"$PATH\"; head -c " DEFAULTS_READ
                            " " TEMPLATE_DEFAULTS_FILE " 2>/dev/null; true"),
                  DEFAULTS_MAX + PATH_SIZE_MAX, &answer, err) < 0)
        return -1;
    const char *text = text_of(answer, "stdout");
    size_t line = strcspn(text, "\n");
    free(place->path);
    json_decref(place->defaults);
    place->path = xstrndup(text, line);
    text += line + (text[line] == '\n');
    place->defaults = json_read(text, strlen(text), 0, NULL);
    if (!json_is_object(place->defaults)) {
        json_decref(place->defaults);
        place->defaults = json_object();
    }
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

/* args: of sh, behind its -c; taken. */
static int start(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
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
    return start(place, step, as, json_pack("[s, s, s]", shell_script, "sh", command), err);
}

/* Run the command of a step, or the program of a Dockerfile's. */
static int run_step(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                    const json_t *one, struct error **err)
{
    const char *user = text_of(one, "user");
    json_t *program = json_object_get(one, "arguments");
    json_auto_t *envs = json_copy(as->envs);
    const struct recipe_setting with = {*user ? user : as->user, as->cwd, envs};
    json_object_update(envs, json_object_get(one, "variables"));
    if (recipe_mount_prepare(place, step, &with, err) < 0 ||
        recipe_secrets_put(place, step, with.user, envs, err) < 0)
        return -1;
    return program ? start_program(place, step, &with, json_incref(program), err)
                   : run(place, step, &with, text_of(one, "command"), err);
}

static int send_part(struct recipe_place *place, const char *path, const struct buffer *part,
                     struct error **err)
{
    autofree char *text = xmalloc(BASE64_PADDED_SIZE(part->size));
    base64_encode(part->data, part->size, text);
    return recipe_place_call(place, json_pack("[s, s, s, s]", "-c", "cat >>\"$1\"", "sh", path),
                             text, err);
}

/* Count the whole parts of the archive that the sandbox has from earlier turns; the rest is cut
 * off. A false answer harms only the build of the team that owns the sandbox. */
static int parts_there(struct recipe_place *place, const char *path, unsigned *count,
                       struct error **err)
{
    json_auto_t *answer = NULL;
    uint64_t there = 0;
    if (call_look(place, json_pack("[s, s, s, s]", "-c", parts_script, "sh", path), NUMBER_MAX,
                  &answer, err) < 0)
        return -1;
    const char *text = text_of(answer, "stdout");
    autofree char *number = xstrndup(text, strcspn(text, "\n"));
    *count = str_parse_u64(number, 0, RECIPE_FILE_MAX / RECIPE_FILE_PART, &there) == 0
                 ? (unsigned)there
                 : 0;
    return 0;
}

#define ARCHIVE_PATH_SIZE 128

/* Send the missing parts of an archive, for SEND_MS at most. *whole: the archive is complete. Steps
 * with the same archive share its file, whose name is written to path. */
static int send_archive(struct recipe_place *place, const char *hash, char path[ARCHIVE_PATH_SIZE],
                        bool *whole, struct error **err)
{
    struct deadline until = deadline_within_ms(place->until, SEND_MS);
    struct recipe_file file;
    unsigned number;
    bool found;
    *whole = false;
    if (recipe_file_find(place->db, place->team_id, hash, &file, &found, err) < 0)
        return -1;
    if (!found)
        return error_set(err, ERR_INVALID_REQUEST, "The archive %s was deleted during the build.",
                         hash);
    snprintf(path, ARCHIVE_PATH_SIZE, WORK_DIR "/%s.tar", file.id);
    if (parts_there(place, path, &number, err) < 0)
        return -1;
    for (; !*whole && !deadline_passed(until); number++) {
        buffer_auto part = BUFFER_INIT(RECIPE_FILE_PART);
        if (recipe_file_read(place->db, file.id, number, &part, err) < 0)
            return -1;
        *whole = !part.size;
        if (part.size && send_part(place, path, &part, err) < 0)
            return -1;
    }
    return 0;
}

static bool is_needed_later(const struct recipe_place *place, unsigned step, const char *hash)
{
    for (unsigned i = step + 1; i < recipe_step_count(place); i++)
        if (str_equal(text_of(recipe_step_at(place, i), "files"), hash))
            return true;
    return false;
}

static const char *flag_of(const json_t *step, const char *name)
{
    return json_is_true(json_object_get(step, name)) ? "1" : "";
}

static int copy_from(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                     const json_t *one, const char *archive, const char *owner, bool keeps,
                     struct error **err)
{
    autofree char *source = recipe_setting_text(place, as, one, "source");
    autofree char *destination = recipe_setting_text(place, as, one, "destination");
    if (!recipe_path_is_inside(source))
        return error_set(err, ERR_INVALID_REQUEST, "The source %.300s is not inside the archive.",
                         source);
    return start(place, step, NULL,
                 json_pack("[s, s, s, s, s, s, s, s, s, s, s, s]", copy_script, "sh", archive,
                           source, destination, owner, text_of(one, "mode"), as->cwd, as->user,
                           keeps ? "1" : "", flag_of(one, "exact"), flag_of(one, "unpack")),
                 err);
}

static int copy(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                const json_t *one, enum recipe_start *begun, struct error **err)
{
    char path[ARCHIVE_PATH_SIZE];
    bool whole;
    const char *owner = text_of(one, "user"), *hash = text_of(one, "files");
    if (send_archive(place, hash, path, &whole, err) < 0)
        return -1;
    *begun = whole ? RECIPE_STARTED : RECIPE_START_LATER;
    if (!whole)
        return 0;
    return copy_from(place, step, as, one, path, *owner ? owner : as->user,
                     is_needed_later(place, step, hash), err);
}

/* Write the path of an archive of a stage's files. */
static void stage_archive(const json_t *step, char path[ARCHIVE_PATH_SIZE])
{
    snprintf(path, ARCHIVE_PATH_SIZE, WORK_DIR "/stage-%lld.tar",
             (long long)json_integer_value(json_object_get(step, "stage")));
}

/* Without an owner, the files keep theirs. */
static int copy_stage(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                      const json_t *one, struct error **err)
{
    char path[ARCHIVE_PATH_SIZE];
    stage_archive(one, path);
    return copy_from(place, step, as, one, path, text_of(one, "user"), true, err);
}

static int save(struct recipe_place *place, unsigned step, const json_t *one, struct error **err)
{
    char path[ARCHIVE_PATH_SIZE];
    stage_archive(one, path);
    json_t *args = json_pack("[s, s, s]", save_script, "sh", path);
    json_array_extend(args, json_object_get(one, "sources"));
    return start(place, step, NULL, args, err);
}

#define FOLDER_SIZE 64

/* Write the folder of an image. Stages have one each, by the number in this member. */
static void image_folder(const json_t *step, const char *member, char folder[FOLDER_SIZE])
{
    const json_t *number = json_object_get(step, member);
    if (number)
        snprintf(folder, FOLDER_SIZE, IMAGE_DIR "-%lld", (long long)json_integer_value(number));
    else
        snprintf(folder, FOLDER_SIZE, IMAGE_DIR);
}

static int enter_stage(struct recipe_place *place, const json_t *one, enum recipe_start *begun,
                       struct error **err)
{
    char folder[FOLDER_SIZE];
    image_folder(one, "number", folder);
    *begun = RECIPE_NEW_ROOT;
    return recipe_place_call(place, json_pack("[s, s, s, s]", "-c", stage_script, "sh", folder),
                             NULL, err);
}

/* The order may hold a password: it goes through the standard input into a file that root alone may
 * read, and the program removes it at once. */
static int send_order(struct recipe_place *place, const json_t *one, struct error **err)
{
    autowipe char *order = json_dumps(one, JSON_COMPACT);
    size_t size = strlen(order);
    autowipe char *text = xmalloc(BASE64_PADDED_SIZE(size));
    base64_encode(order, size, text);
    return recipe_place_call(place,
                             json_pack("[s, s, s, s]", "-c",
                                       "mkdir -p " WORK_DIR
                                       " && rm -f \"$1\" && umask 077 && cat >\"$1\"",
                                       "sh", ORDER_FILE),
                             text, err);
}

static int fetch_image(struct recipe_place *place, unsigned step, const json_t *one,
                       struct error **err)
{
    char folder[FOLDER_SIZE];
    if (send_order(place, one, err) < 0)
        return -1;
    image_folder(one, "stage", folder);
    return start(place, step, NULL,
                 json_pack("[s, s, s, s]", fetch_script, "sh", ORDER_FILE, folder), err);
}

int recipe_image_digest(struct recipe_place *place, unsigned step, char digest[RECIPE_DIGEST_SIZE],
                        struct error **err)
{
    json_auto_t *answer = NULL;
    *digest = '\0';
    if (send_order(place, recipe_step_at(place, step), err) < 0 ||
        call(
            place, NULL,
            json_pack("[s, s, s, s]", "-c", IMAGE_PROGRAMS "/fetch-image \"$1\"", "sh", ORDER_FILE),
            NULL, DIGEST_S, &answer, err) < 0)
        return -1;
    const char *said = text_of(answer, "stdout");
    size_t length = strcspn(said, "\n");
    if (json_integer_value(json_object_get(answer, "exit_code")) == 0 &&
        length + 1 == RECIPE_DIGEST_SIZE && str_starts_with(said, "sha256:") &&
        strspn(said + 7, "0123456789abcdef") == 64)
        snprintf(digest, RECIPE_DIGEST_SIZE, "%s", said);
    return 0;
}

int recipe_image_enter(struct recipe_place *place, struct error **err)
{
    return recipe_place_call(place, json_pack("[s, s]", "-c", enter_script), NULL, err);
}

static int make_workdir(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                        struct error **err)
{
    struct recipe_setting then;
    recipe_setting_at(place, step + 1, &then);
    int result = start(place, step, NULL,
                       json_pack("[s, s, s, s]", workdir_script, "sh", then.cwd, as->user), err);
    recipe_setting_deinit(&then);
    return result;
}

static int begin_step(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                      enum recipe_start *begun, struct error **err)
{
    const json_t *one = recipe_step_at(place, step);
    const char *type = text_of(one, "type");
    if (str_equal(type, "run"))
        return run_step(place, step, as, one, err);
    if (str_equal(type, "copy"))
        return copy(place, step, as, one, begun, err);
    if (str_equal(type, "copy_stage"))
        return copy_stage(place, step, as, one, err);
    if (str_equal(type, "save"))
        return save(place, step, one, err);
    if (str_equal(type, "stage"))
        return enter_stage(place, one, begun, err);
    if (recipe_step_is_image(place, step))
        return fetch_image(place, step, one, err);
    if (str_equal(type, "user"))
        return start(place, step, NULL,
                     json_pack("[s, s, s, s, s]", user_script, "sh", text_of(one, "user"),
                               text_of(one, "number"), text_of(one, "group")),
                     err);
    if (str_equal(type, "env")) {
        *begun = RECIPE_NOTHING_TO_RUN;
        return 0;
    }
    return make_workdir(place, step, as, err);
}

/* Return the start command of sandboxes; "": none. */
static const char *start_command_of(const struct recipe_place *place)
{
    return json_is_true(json_object_get(place->recipe, "start_image_command"))
               ? text_of(place->defaults, "image_command")
               : text_of(place->recipe, "start_command");
}

/* Return the defaults for sandboxes of this version, as JSON text; the caller frees it. */
static char *defaults_text(const struct recipe_place *place, const struct recipe_setting *as)
{
    json_auto_t *told = json_deep_copy(place->defaults);
    const char *command = start_command_of(place);
    const char *ready = text_of(place->recipe, "ready_command");
    json_object_set_new(told, "user", json_string(as->user));
    if (*as->cwd)
        json_object_set_new(told, "workdir", json_string(as->cwd));
    json_object_set(told, "envs", as->envs);
    if (*command)
        json_object_set_new(told, "start_command", json_string(command));
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
           (*start_command_of(place) || *text_of(place->defaults, "start_command") ||
            has_services(place));
}

static int begin_end(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                     enum recipe_start *begun, struct error **err)
{
    const char *start_command = start_command_of(place);
    const char *ready = text_of(place->recipe, "ready_command");
    unsigned count = recipe_step_count(place);
    char number[sizeof START_ENDED_FILE + 16];
    snprintf(number, sizeof number, "%u", count + RECIPE_END_START);
    switch ((enum recipe_end)(step - count)) {
    case RECIPE_END_START:
        if (!*start_command && json_is_true(json_object_get(place->recipe, "start_image_command")))
            return error_set(err, ERR_INVALID_REQUEST,
                             "start_image_command needs a template from an image with an entry "
                             "point or a command.");
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
            return start(place, step, as,
                         json_pack("[s, s, s, s]", ready_script, "sh", ready, number), err);
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
    return start(place, step, NULL, json_pack("[s, s, s, s]", clean_script, "sh", told, number),
                 err);
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
    int result =
        is_end ? begin_end(place, step, &as, begun, err) : begin_step(place, step, &as, begun, err);
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
    char number[16], at[32], line[24];
    json_auto_t *answer = NULL;
    buffer_auto bytes = BUFFER_INIT(65536);
    snprintf(number, sizeof number, "%u", step);
    snprintf(at, sizeof at, "%llu", (unsigned long long)from);
    if (call_look(place, json_pack("[s, s, s, s, s]", "-c", poll_script, "sh", number, at),
                  POLL_MAX, &answer, err) < 0)
        return -1;
    const char *text = text_of(answer, "stdout");
    bool is_text = str_equal(text_of(answer, "stdout_encoding"), "utf-8");
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
