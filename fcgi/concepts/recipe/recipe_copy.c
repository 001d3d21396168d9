/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/mac.h"
#include "recipe/recipe.h"
#include "recipe/recipe_file.h"

#define WORK_DIR   RECIPE_WORK_DIR
#define TOOLS      RECIPE_TOOLS
#define NUMBER_MAX 4096
#define REGEX_MAX  (8 * RECIPE_PATH_MAX)
#define SEND_MS    2500 /* limit for an archive in one turn */
#define PIVOT      "/./"
/* RECIPE_FILE_PART for the shell. */
#define RECIPE_PART_BYTES "524288"
_Static_assert(RECIPE_FILE_PART == 524288, "parts_script counts in parts");

#define ARCHIVE_PATH_SIZE 128

/* Print how many whole parts of the archive $1 exist. */
static const char parts_script[] =
    TOOLS "mkdir -p " WORK_DIR " && touch \"$1\" && n=$(($(stat -c %s \"$1\") / " RECIPE_PART_BYTES
          ")) && truncate -s $((n * " RECIPE_PART_BYTES ")) \"$1\" && echo $n";
/* Arguments: archive, source, destination, owner, mode, the start of a relative destination ("":
 * the home of the next argument), the user; then three that are empty or not: keep the archive for
 * other steps, do it as Dockerfiles do, unpack a source that is an archive.
 *
 * Then a regular expression for the sources, if the source is a pattern; "1", if the files keep the
 * folders of their path; the folder where this path begins, and its regular expression, if it is a
 * pattern; and regular expressions for files in the source that are left out.
 *
 * The contents of folders are copied. Existing files keep their owner. A Dockerfile's source that
 * is a link means the file to which it leads; save_script lists the links of stages. In a base
 * without files, a folder such as /bin can be a link in the source. The tar of some images does not
 * see by itself that an archive is compressed. */
static const char copy_script[] = TOOLS
    "set -e; archive=$1 source=$2 to=$3 owner=$4 mode=$5 base=$6 keep=$8 exact=$9 unpack=${10}\n"
    "several= regex=${11} parents=${12} below=${13} below_regex=${14}\n"
    "[ -n \"$base\" ] || base=$(sed -n \"s/^${7%%:*}:.*:\\([^:]*\\):[^:]*$/\\1/p\" /etc/passwd)\n"
    "shift 14\n"
    "case $to in '~') to=$base;; '~/'*) to=$base/${to#??};; /*) ;; *) to=$base/$to;; esac\n"
    "from=$(readlink -f \"$(mktemp -d " WORK_DIR "/from.XXXXXX)\"); chmod 0755 \"$from\"\n"
    "same=--numeric-owner; [ -z \"$owner\" ] || same=--no-same-owner\n"
    "[ ! -s \"$archive\" ] || tar -xf \"$archive\" -C \"$from\" $same 2>\"$archive.err\" ||\n"
    "  tar -xzf \"$archive\" -C \"$from\" $same 2>/dev/null ||\n"
    "  { cat \"$archive.err\"; exit 1; }\n"
    "[ -n \"$keep\" ] || rm -f \"$archive\"; rm -f \"$archive.err\"\n"
    "cd \"$from\"; if [ \"$source\" = . ] && [ -f \"$archive.links\" ]; then\n"
    "  [ -L usr ] || [ -L usr/lib ] || rm -rf usr/lib/sandlot\n"
    "  [ -L var ] || [ -L var/tmp ] || rm -rf ." WORK_DIR "; fi\n"
    "[ -z \"$owner\" ] || find . -mindepth 1 -exec chown -h \"$owner\" {} +\n"
    "[ -z \"$mode\" ] || find . -mindepth 1 ! -type l -exec chmod \"$mode\" {} +\n"
    "names() { find . -mindepth 1 -name '*\n*' -prune -o -print | sed 's,^\\./,,' |\n"
    "  LC_ALL=C grep -Ex -e \"$1\" | sort; }\n"
    "list() { if [ -e \"$1\" ] || [ -L \"$1\" ]; then printf '%s\\n' \"$1\"\n"
    "  elif [ -n \"$2\" ]; then names \"$2\"; elif [ -z \"$exact\" ]; then echo .\n"
    "  else echo \"The context has no file $1.\" >&2; exit 1; fi; }\n"
    "drop() { d=./$1; shift; for e; do\n"
    "  (cd \"$d\"; names \"$e\" | while IFS= read -r f; do rm -rf \"./$f\"; done); done; }\n"
    "follow() { p=./$1 i=0; if [ -n \"$exact\" ] && [ -L \"$p\" ]; then\n"
    "    [ ! -f \"$archive.links\" ] || while IFS= read -r a && IFS= read -r b; do\n"
    "      [ \"$a\" != \"$1\" ] || p=./$b; done <\"$archive.links\"\n"
    "    while [ -L \"$p\" ] && [ $i -lt 40 ]; do t=$(readlink \"$p\"); i=$((i + 1))\n"
    "      case $t in /*) p=.$t;; *) p=$(dirname \"$p\")/$t;; esac; done\n"
    "    case $(readlink -f \"$p\") in \"$from\"/*) [ -e \"$p\" ] || p=./$1;; *) p=./$1;; esac\n"
    "  fi; printf '%s\\n' \"$p\"; }\n"
    "into() { [ -d \"$to\" ] || { mkdir -p \"$to\"; [ -z \"$owner\" ] || chown \"$owner\" \"$to\"; "
    "}; }\n"
    "above() { [ -d \"$to/$1\" ] || { case $1 in */*) above \"${1%/*}\";; esac; mkdir \"$to/$1\"\n"
    "  chown \"$(stat -c %u:%g \"./$1\")\" \"$to/$1\"; chmod \"$(stat -c %a \"./$1\")\" "
    "\"$to/$1\"; }; "
    "}\n"
    "merge() { for x in \"$1\"/* \"$1\"/.[!.]* \"$1\"/..?*; do\n"
    "  [ -e \"$x\" ] || [ -L \"$x\" ] || continue; y=$2/${x##*/}\n"
    "  if [ ! -e \"$y\" ] && [ ! -L \"$y\" ]; then cp -af \"$x\" \"$2\"/\n"
    "  elif [ -d \"$x\" ] && [ ! -L \"$x\" ] && [ -d \"$y\" ]; then (merge \"$x\" \"$y\"); fi; "
    "done; "
    "}\n"
    "become_link() { t=$(readlink \"$1\"); case $t in /*) ;; *) t=$to/$t;; esac; mkdir -p \"$t\"\n"
    "  case $(readlink -f \"$t\")/ in \"$(readlink -f \"$2\")\"/*)\n"
    "    echo \"The link ${1##*/} leads into the folder that it replaces.\" >&2; exit 1;; esac\n"
    "  merge \"$2\" \"$t\"; rm -rf \"$2\"; }\n"
    /* Move the files of the folder $1 into the folder $2, in which each file is replaced at once.
     * The base's own programs may not run until all of their libraries are replaced. */
    "replace() { (cd \"$1\"; b=/usr/lib/sandlot/busybox; [ -x $b ] || b=\n"
    "  $b find . -mindepth 1 -type d \\( -name '*\n*' -prune -o -print \\) "
    ">\"$from.folders\"\n"
    "  while IFS= read -r d; do\n"
    "    [ -e \"$2/$d\" ] || [ -L \"$2/$d\" ] || [ ! -d \"$d\" ] || $b mv \"$d\" \"$2/$d\"\n"
    "  done <\"$from.folders\"\n"
    "  $b find . -mindepth 1 -type d -name '*\n*' -prune -o ! -type d \\( ! -type l -o \\\n"
    "    -path './*/*' -o -name '*\n*' \\) -exec $b sh -c '\n"
    "    to=$1 failed=$2 b=$3 last= files= i=0; shift 3\n"
    "    for f in \"$@\" /; do\n"
    "      if [ $((i % 500)) = 0 ] || [ \"${f%/*}\" != \"$last\" ]; then [ -z \"$files\" ] ||\n"
    "        eval \"$b mv -f $files \\\"\\$to/\\$last/\\\"\" || : >\"$failed\"; files=; fi\n"
    "      i=$((i + 1)) last=${f%/*} files=\"$files \\\"\\${$i}\\\"\"; done' sh \\\n"
    "    \"$2\" \"$from.failed\" \"$b\" {} +\n"
    "  find . -mindepth 1 -maxdepth 1 -type d ! -exec $b sh -c '[ -L \"$2/$1\" ] ||\n"
    "    exec cp -af \"$1\" \"$2\"/' sh {} \"$2\" \\; -exec touch \"$from.failed\" \\;\n"
    "  [ ! -e \"$from.failed\" ] || exit 1\n"
    "  $b find . -mindepth 1 -maxdepth 1 -type l ! -name '*\n*' >\"$from.links\"\n"
    "  while IFS= read -r l; do n=$2/${l##*/}\n"
    "    [ -z \"$exact\" ] || [ -L \"$n\" ] || [ ! -d \"$n\" ] || become_link \"$l\" \"$n\"\n"
    "    $b mv -f \"$l\" \"$2\"/; done <\"$from.links\"); }\n"
    /* Several sources may have files in common. */
    "own() { new=$1; [ -z \"$several\" ] || {\n"
    "  new=$from.new; rm -rf \"$new\"; cp -a \"$1\" \"$new\"; }; }\n"
    "put() { own \"$1\"; mkdir -p \"$from.put\"; mv \"$new\" \"$from.put/$3\"\n"
    "  mv -f \"$from.put/$3\" \"$2/\"; }\n"
    /* A sandbox cannot make devices, and has fewer numbers of users than an archive may name. */
    "extract() { said=$(LC_ALL=C tar -xf \"$1\" -C \"$2\" $3 2>&1) && return\n"
    "  case $said in *'Cannot mknod'*) [ -n \"$(printf '%s\\n' \"$said\" |\n"
    "    grep -v -e 'Cannot mknod' -e 'Exiting with failure')\" ] || return 0;; esac\n"
    "  tar -xf \"$1\" -C \"$2\" $3 --no-same-owner || exit 1; }\n"
    /* An archive of a whole system has links in the place of the base's folders, and files that
     * belong to the sandbox. */
    "extract_system() { u=$from.system; rm -rf \"$u\"; mkdir \"$u\"; extract \"$1\" \"$u\" $2\n"
    "  (cd \"$u\"; rm -rf proc sys dev etc/resolv.conf etc/hosts etc/hostname)\n"
    "  replace \"$u\" \"$to\" || exit 1; }\n"
    "unpacked() { [ -n \"$unpack\" ] && [ -f \"$1\" ] || return 1\n"
    "  for z in '' -z -j -J; do\n"
    "    [ -n \"$(tar -tf \"$1\" $z 2>/dev/null | head -n 1)\" ] || continue\n"
    "    into; case $to in *[!/]*) extract \"$1\" \"$to\" $z;; *) extract_system \"$1\" $z;; esac\n"
    "    return; done; return 1; }\n"
    "file() { case $to in */|*/.) into;; esac\n"
    "  if [ -d \"$to\" ]; then put \"$1\" \"$to\" \"${2##*/}\"; return; fi\n"
    "  n=$to i=0; while [ -L \"$n\" ] && [ $i -lt 40 ]; do t=$(readlink \"$n\"); i=$((i + 1))\n"
    "    case $t in /*) n=$t;; *) n=${n%/*}/$t;; esac; done\n"
    "  mkdir -p \"${n%/*}/\"; put \"$1\" \"${n%/*}\" \"${n##*/}\"; }\n"
    "left_out() { n=$1; shift; for e; do\n"
    "  ! printf '%s\\n' \"$n\" | LC_ALL=C grep -Exq -e \"$e\" || return 0; done; return 1; }\n"
    "one() { p=$(follow \"$1\"); name=$1; shift\n"
    "  if [ -d \"$p\" ] && [ ! -L \"$p\" ]; then drop \"$p\" \"$@\"; into; own \"$p\"\n"
    "    replace \"$new\" \"$to\"\n"
    "  elif left_out \"${name##*/}\" \"$@\"; then :\n"
    "  else unpacked \"$p\" || file \"$p\" \"$name\"; fi; }\n"
    "parents() { drop \"$@\"; cd \"./$1\"; found=$(list \"$source\" \"$regex\")\n"
    "  printf '%s\\n' \"$found\" | while IFS= read -r f; do case $f in '') ;;\n"
    "    */*) above \"${f%/*}\"; within \"$f\" \"$to/${f%/*}\";; *) within \"$f\" \"$to\";; esac; "
    "done; }\n"
    "within() { if [ ! -d \"./$1\" ] || [ -L \"./$1\" ]; then put \"./$1\" \"$2\" \"${1##*/}\"\n"
    "  else rm -rf \"$from.within\"; mkdir \"$from.within\"; cp -a \"./$1\" \"$from.within/\"\n"
    "    replace \"$from.within\" \"$2\"; fi; }\n"
    "if [ -n \"$parents\" ]; then several=1; into; folders=$(list \"$below\" \"$below_regex\")\n"
    "  printf '%s\\n' \"$folders\" | while IFS= read -r f; do\n"
    "    [ -z \"$f\" ] || [ ! -d \"$f\" ] || (parents \"$f\" \"$@\"); done\n"
    "else\n"
    "  found=$(list \"$source\" \"$regex\"); [ -n \"$found$exact\" ] || found=.\n"
    "  case $found in *'\n'*) several=1; into;; \"$source\") ;; *) [ -n \"$exact\" ] || into;; "
    "esac\n"
    "  printf '%s\\n' \"$found\" | while IFS= read -r f; do [ -z \"$f\" ] || one \"$f\" \"$@\"; "
    "done\n"
    "fi\n"
    "cd /; rm -rf \"$from\" \"$from\".*\n";
/* Arguments: the archive; then three for each source: its path below the root, and if this is a
 * pattern, the folder with which the pattern begins, and a regular expression. Lines of the file
 * with the links: a link, and the file to which it leads. The archive has each file once, because
 * the tar of busybox does not make a link a second time. */
static const char save_script[] = TOOLS
    "set -e; archive=$1 list=$1.list links=$1.links; shift; cd /; : >$list; : >$links\n"
    "all() { for n in * .[!.]* ..?*; do case $n in proc|sys|dev|run|.sandlot*) continue;; esac\n"
    "  [ ! -e \"$n\" ] && [ ! -L \"$n\" ] || printf '%s\\n' \"$n\"; done; }\n"
    "fitting() { f=./$1; [ \"$1\" != . ] || f=.; [ ! -d \"$f\" ] || find \"$f\" -mindepth 1 \\( "
    "\\\n"
    "  -name '*\n*' -o -path ./proc -o -path ./sys -o -path ./dev -o -path ./run -o \\\n"
    "  -path ." WORK_DIR " \\) -prune -o -print |\n"
    "  sed 's,^\\./,,' | LC_ALL=C grep -Ex -e \"$2\" || true; }\n"
    "while [ $# -gt 0 ]; do\n"
    "  if [ \"$1\" = . ]; then all; elif [ -e \"$1\" ] || [ -L \"$1\" ]; then printf '%s\\n' "
    "\"$1\"\n"
    "  elif [ -n \"$3\" ]; then fitting \"$2\" \"$3\"\n"
    "  else echo \"The stage has no file /$1.\" >&2; exit 1; fi >>$list; shift 3; done\n"
    "while IFS= read -r p; do [ -L \"$p\" ] || continue; r=$(readlink -f \"/$p\") || continue\n"
    "  case $r in /proc|/proc/*|/sys|/sys/*|/dev|/dev/*|/run|/run/*|" WORK_DIR
    "*) continue;; esac\n"
    "  [ -e \"$r\" ] && [ \"$r\" != / ] || continue; printf '%s\\n%s\\n' \"$p\" \"${r#/}\"\n"
    "done <$list >$links; sed -n 'n;p' $links >>$list\n"
    "paths() { last=; tr / '\\001' <$list | LC_ALL=C sort -u | tr '\\001' / | while IFS= read -r "
    "p; do\n"
    "  case $p in \"$last\"/*) continue;; esac; printf './%s\\n' \"$p\"\n"
    "  [ ! -d \"$p\" ] || [ -L \"$p\" ] || last=$p; done; }\n"
    ": >$archive; [ -s $list ] || exit 0; leave=; ! tar --help 2>&1 | grep -q -e --exclude ||\n"
    "  leave='--exclude=./usr/lib/sandlot --exclude=." WORK_DIR "'\n"
    "set -f; set -- $leave; IFS='\n'; set -- \"$@\" $(paths); rm -f $list\n"
    "exec tar --numeric-owner -cf $archive \"$@\"\n";

/* --- patterns --- */

bool recipe_copy_is_pattern(const char *path)
{
    return strpbrk(path, "*?[\\") != NULL;
}

/* Append "[…]" from *at, and move *at to its end. False: it does not end. */
static bool add_class(const char **at, const char *end, struct buffer *out)
{
    const char *c = *at + 1;
    bool excepts = c < end && (*c == '^' || *c == '!');
    c += excepts;
    const char *begin = c;
    while (c < end && (*c != ']' || c == begin))
        c++;
    if (c == end)
        return false;
    buffer_append_string(out, excepts ? "[^" : "[");
    for (; begin < c; begin++)
        if (*begin != '\\')
            buffer_append_char(out, *begin);
    buffer_append_char(out, ']');
    *at = c;
    return true;
}

/* Append one name of a path. */
static void add_name(const char *name, size_t length, bool deep, struct buffer *out)
{
    const char *end = name + length;
    for (const char *at = name; at < end; at++) {
        if (*at == '*') {
            bool is_deep = deep && at + 1 < end && at[1] == '*';
            while (at + 1 < end && at[1] == '*')
                at++;
            buffer_append_string(out, is_deep ? ".*" : "[^/]*");
        } else if (*at == '?') {
            buffer_append_string(out, "[^/]");
        } else if (*at != '[' || !add_class(&at, end, out)) {
            at += *at == '\\' && at + 1 < end;
            if (strchr(".^$+*?{}()|[]\\", *at))
                buffer_append_char(out, '\\');
            buffer_append_char(out, *at);
        }
    }
}

char *recipe_copy_regex(const char *pattern, bool deep)
{
    struct buffer out = BUFFER_INIT(REGEX_MAX);
    bool needs_slash = false, is_empty = true;
    for (const char *at = pattern; *at;) {
        size_t length = strcspn(at, "/");
        const char *next = at + length + strspn(at + length, "/");
        bool is_folders = deep && length == 2 && !strncmp(at, "**", 2);
        if (length && !(length == 1 && *at == '.')) {
            is_empty = false;
            if (needs_slash)
                buffer_append_char(&out, '/');
            if (is_folders)
                buffer_append_string(&out, *next ? "(.*/)?" : ".*");
            else
                add_name(at, length, deep, &out);
            needs_slash = !is_folders;
        }
        at = next;
    }
    if (is_empty)
        buffer_append_string(&out, ".*");
    return buffer_steal(&out);
}

/* Return the folder with which a pattern begins; the caller frees it. */
static char *folder_of(const char *pattern)
{
    size_t length = strcspn(pattern, "*?[\\");
    while (length && pattern[length - 1] != '/')
        length--;
    return length > 1 ? xstrndup(pattern, length - 1) : xstrdup(".");
}

/* --- archives --- */

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
    if (recipe_place_ask(place, json_pack("[s, s, s, s]", "-c", parts_script, "sh", path),
                         NUMBER_MAX, &answer, err) < 0)
        return -1;
    const char *text = recipe_text(answer, "stdout");
    autofree char *number = xstrndup(text, strcspn(text, "\n"));
    *count = str_parse_u64(number, 0, RECIPE_FILE_MAX / RECIPE_FILE_PART, &there) == 0
                 ? (unsigned)there
                 : 0;
    return 0;
}

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
        if (str_equal(recipe_text(recipe_step_at(place, i), "files"), hash))
            return true;
    return false;
}

/* --- copying --- */

static const char *flag_of(const json_t *step, const char *name)
{
    return json_is_true(json_object_get(step, name)) ? "1" : "";
}

static char *regex_of(const char *path, bool is_pattern, bool deep)
{
    return is_pattern ? recipe_copy_regex(path, deep) : xstrdup("");
}

/* Append the arguments of copy_script for the source, and the files that are left out. */
static void add_patterns(const json_t *one, const char *source, json_t *args)
{
    bool parents = json_is_true(json_object_get(one, "parents"));
    const char *pivot = parents ? strstr(source, PIVOT) : NULL;
    autofree char *below = pivot ? xstrndup(source, (size_t)(pivot - source)) : xstrdup(".");
    const char *within = pivot ? pivot + strlen(PIVOT) : source;
    bool is_pattern = recipe_copy_is_pattern(source);
    autofree char *regex = regex_of(within, is_pattern, parents);
    autofree char *below_regex = regex_of(below, is_pattern && pivot, parents);
    size_t at;
    json_t *pattern;
    json_array_set_new(args, 3, json_string(*within ? within : "."));
    json_array_append_new(args, json_string(regex));
    json_array_append_new(args, json_string(parents ? "1" : ""));
    json_array_append_new(args, json_string(below));
    json_array_append_new(args, json_string(below_regex));
    json_array_foreach (json_object_get(one, "excludes"), at, pattern) {
        autofree char *left_out = recipe_copy_regex(json_string_value(pattern), true);
        json_array_append_new(args, json_string(left_out));
    }
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
    json_t *args =
        json_pack("[s, s, s, s, s, s, s, s, s, s, s, s]", copy_script, "sh", archive, source,
                  destination, owner, recipe_text(one, "mode"), as->cwd, as->user, keeps ? "1" : "",
                  flag_of(one, "exact"), flag_of(one, "unpack"));
    add_patterns(one, source, args);
    return recipe_step_start(place, step, NULL, args, err);
}

/* Find the owner of the files; "": theirs. *owner: the caller's. */
static int find_owner(const struct recipe_place *place, const struct recipe_setting *as,
                      const json_t *one, char **owner, struct error **err)
{
    autofree char *text = recipe_setting_text(place, as, one, "user");
    *owner = NULL;
    if (str_equal(recipe_text(one, "type"), "copy") &&
        !json_is_true(json_object_get(one, "exact"))) {
        *owner = recipe_setting_owner(*text ? text : as->user);
        return 0;
    }
    if (!json_is_true(json_object_get(one, "open")) || !*text) {
        *owner = xstrdup(text);
        return 0;
    }
    if (!recipe_owner_is_valid(text))
        return error_set(err, ERR_INVALID_REQUEST,
                         "--chown becomes \"%.64s\", which is neither a user nor user:group.",
                         text);
    *owner = dockerfile_owner(text);
    return 0;
}

int recipe_copy_context(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                        const json_t *one, enum recipe_start *begun, struct error **err)
{
    char path[ARCHIVE_PATH_SIZE];
    bool whole;
    const char *hash = recipe_text(one, "files");
    autofree char *owner = NULL;
    if (find_owner(place, as, one, &owner, err) < 0 ||
        send_archive(place, hash, path, &whole, err) < 0)
        return -1;
    *begun = whole ? RECIPE_STARTED : RECIPE_START_LATER;
    if (!whole)
        return 0;
    return copy_from(place, step, as, one, path, *owner ? owner : as->user,
                     is_needed_later(place, step, hash), err);
}

/* --- stages --- */

/* Write the path of an archive of a stage's files. */
static void stage_archive(const json_t *step, char path[ARCHIVE_PATH_SIZE])
{
    snprintf(path, ARCHIVE_PATH_SIZE, WORK_DIR "/stage-%lld.tar",
             (long long)json_integer_value(json_object_get(step, "stage")));
}

/* Without an owner, the files keep theirs. */
int recipe_copy_stage(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                      const json_t *one, struct error **err)
{
    char path[ARCHIVE_PATH_SIZE];
    autofree char *owner = NULL;
    stage_archive(one, path);
    return find_owner(place, as, one, &owner, err) < 0
               ? -1
               : copy_from(place, step, as, one, path, owner, true, err);
}

/* Return the path without slashes at its end, and without "/./"; the caller frees it. */
static char *clean(const char *path)
{
    struct buffer out = BUFFER_INIT(RECIPE_PATH_MAX);
    for (const char *at = path; *at;) {
        size_t length = strcspn(at, "/");
        if (length && !(length == 1 && *at == '.')) {
            if (out.size)
                buffer_append_char(&out, '/');
            buffer_append(&out, at, length);
        }
        at += length + strspn(at + length, "/");
    }
    if (!out.size)
        buffer_append_char(&out, '.');
    return buffer_steal(&out);
}

int recipe_copy_save(struct recipe_place *place, unsigned step, const json_t *one,
                     struct error **err)
{
    char path[ARCHIVE_PATH_SIZE];
    size_t at;
    json_t *source;
    stage_archive(one, path);
    json_t *args = json_pack("[s, s, s]", save_script, "sh", path);
    json_array_foreach (json_object_get(one, "sources"), at, source) {
        autofree char *text = clean(json_string_value(source));
        bool is_pattern = recipe_copy_is_pattern(text);
        autofree char *folder = folder_of(text);
        autofree char *regex = regex_of(text, is_pattern, true);
        json_array_append_new(args, json_string(text));
        json_array_append_new(args, json_string(folder));
        json_array_append_new(args, json_string(regex));
    }
    return recipe_step_start(place, step, NULL, args, err);
}
