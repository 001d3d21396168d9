/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_root.h"

#include "recipe/recipe_fetch.h"
#include "recipe/recipe_image.h"

#define WORK_PARENT "/var/tmp"
#define WORK_DIR    RECIPE_WORK_DIR
#define IMAGE_DIR   RECIPE_FETCH_DIR

/* Append the names in a folder, which ends with a slash, to the list of arguments, except those
 * that fit the pattern. */
#define ADD_NAMES(folder, except)                                                                 \
    "for n in " folder "* " folder ".[!.]* " folder "..?*; do case $n in " except ") continue;; " \
    "esac\n"                                                                                      \
    "  [ ! -e \"$n\" ] && [ ! -L \"$n\" ] || set -- \"$@\" \"$n\"; done\n"
#define MOUNTED(folder) folder "proc|" folder "sys|" folder "dev"
#define OLD_NAMES       ADD_NAMES("/", MOUNTED("/") "|" IMAGE_DIR "*")
#define NEW_NAMES       ADD_NAMES("$f/root/", MOUNTED("$f/root/"))

/* Arguments: the folder of the tree. One process exchanges the roots, in a session of its own: the
 * agent ends this script if its caller dies, and half a root has no shell for another attempt. Two
 * commands move all files, so that /bin/sh is away for a moment only. Processes that run keep their
 * open files. Each image has the static busybox, and so has the template of builders.
 *
 * A stage whose folder has the file "moves" begins with the previous root. The folder "begun" stays
 * until the end of the build, for a call that is late. */
static const char enter_script[] =
    "f=$1; [ -d $f/root ] || exit 0\n"
    "b=$f/busybox; for p in /usr/lib/sandlot/busybox /bin/busybox; do\n"
    "  [ -x $b ] || [ ! -x $p ] || { $p cp $p $b.$$ && $p mv $b.$$ $b; } || exit 1; done\n"
    "[ -x $b ] || { echo 'The template has no static busybox, which stages need.' >&2; exit 1; }\n"
    "$b setsid /bin/sh -c '\n"
    "  f=$1 b=$2; $b mkdir $f/begun 2>/dev/null || exit 0; fail() { : >$f/failed; exit 1; }\n"
    "  mode=$($b stat -c %a $f/root) && $b mkdir -m $($b stat -c %a /) $f/old &&\n"
    "  $b mv " WORK_DIR " $f/work || fail\n"
    "  set --; " OLD_NAMES "  [ $# = 0 ] || $b mv \"$@\" $f/old/ || fail\n"
    "  set --; " NEW_NAMES "  [ $# = 0 ] || $b mv \"$@\" / || fail\n"
    "  $b chmod $mode / && $b mkdir -p " WORK_PARENT " && $b rm -rf " WORK_DIR " &&\n"
    "  $b mv $f/work " WORK_DIR " || fail\n"
    "  for m in " IMAGE_DIR "-*/moves; do [ -e $m ] || continue; m=${m%/*}\n"
    "    $b rm $m/moves && $b mv $f/old $m/root || fail; done\n"
    "  $b mv $f/root $f/rest || fail\n"
    "  exec $b rm -rf $f/old $f/rest' sh $f $b >>$f/said 2>&1 </dev/null &\n"
    "while [ -d $f/root ] && [ ! -e $f/failed ]; do $b sleep 0.02; done\n"
    "[ ! -e $f/failed ] || { $b cat $f/said >&2; exit 1; }\n";

/* Arguments: the folder of the stage that gets the root itself ("": none), when the first stage
 * leaves it; the folders of stages that get a copy. The copies are made before any step changes the
 * root. A service of the template may delete files meanwhile. */
static const char copies_script[] = RECIPE_TOOLS
    "set -e; umask 022; m=$1; shift; folders=$*; set --\n"
    "[ -z \"$m\" ] || { rm -rf $m; mkdir -m 0700 $m; : >$m/moves; }\n" OLD_NAMES
    "begin() { rm -rf $f; mkdir -m 0700 $f; mkdir -m $(stat -c %a /) $f/root; }\n"
    "for f in $folders; do begin; i=0\n"
    "  until cp -a \"$@\" $f/root/; do i=$((i + 1)); [ $i -lt 3 ] || exit 1; begin; done; done\n";

int recipe_root_enter(struct recipe_place *place, const char *folder, struct error **err)
{
    return recipe_place_call(place, json_pack("[s, s, s, s]", "-c", enter_script, "sh", folder),
                             NULL, err);
}

/* number: of a stage; NULL: none. */
static json_t *folder_of(json_t *number)
{
    char folder[RECIPE_FETCH_FOLDER_SIZE] = "";
    json_auto_t *stage = json_pack("{s:O*}", "number", number);
    if (number)
        recipe_fetch_folder(stage, "number", folder);
    return json_string(folder);
}

json_t *recipe_root_copies(const json_t *step)
{
    json_t *args = json_pack("[s, s]", copies_script, "sh"), *number;
    size_t at;
    json_array_append_new(args, folder_of(json_object_get(step, RECIPE_MOVES)));
    json_array_foreach (json_object_get(step, "numbers"), at, number)
        json_array_append_new(args, folder_of(number));
    return args;
}
