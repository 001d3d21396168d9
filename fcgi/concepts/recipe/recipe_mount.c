/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_mount.h"

#include "base/mem.h"
#include "recipe/recipe_expand.h"
#include "volume/volume_store.h"

#define KIB_OF_GIB 1048576

/* Arguments: how many KiB may stay, user, folder, the folders of the caches. Any sandbox of the
 * team's builds writes to the volume, so its files may be hostile. A file with a name that no build
 * gives is deleted, and the others are deleted in the order of their status changes, because no
 * sandbox can choose that time. A build ends after an hour, so an older unfinished archive was left
 * behind. Only deletions take long here, and the next step continues them. An image may lack other
 * tools. */
static const char prepare_script[] = RECIPE_TOOLS
    "LC_ALL=C most=$1 user=$2 cwd=$3; shift 3; case $user in *:*) ;; *) user=$user:;; esac\n"
    "for d; do case $d in /*) ;; *) [ -n \"$cwd\" ] || continue; d=$cwd/$d;; esac\n"
    "  [ -e \"$d\" ] || [ -L \"$d\" ] || { mkdir -p \"$d\" && chown \"$user\" \"$d\"; }; done\n"
    "cd " VOLUME_BUILD_CACHE_PATH " 2>/dev/null || exit 0\n"
    "all() { find . -mindepth 1 -maxdepth 1 \"$@\" -exec rm -rf {} +; }\n"
    "all ! -type f; all -name '*[!0-9a-z.-]*'; all ! -name '[0-9a-f]*.tar' ! -name 'new.*'\n"
    "set -- *; [ $# -lt 1000 ] || all\n"
    "used() { [ \"$(du -sk . | cut -f 1)\" -gt $most ]; }\n"
    "old=$(($(date +%s) - 5400)); stat -c '%Z %z %n' * 2>/dev/null | sort -k 1,1n -k 3,3 |\n"
    "  while read -r at day time zone name; do case $name in new.*) [ $at -gt $old ];; *) ! used;; "
    "esac ||\n"
    "    rm -f \"$name\"; done\n"
    "! used || all; chmod 0777 .; exit 0\n";

bool recipe_mount_is_wanted(const struct recipe_turn *turn, unsigned from)
{
    const json_t *steps = json_object_get(json_object_get(turn->whole, "recipe"), "steps");
    if (!turn->worker->settings->build_cache_mount_gb || turn->row.state != RECIPE_RUNNING)
        return false;
    for (unsigned i = from; i < json_array_size(steps); i++)
        if (json_object_get(json_array_get(steps, i), "caches"))
            return true;
    return false;
}

static int find_or_create(struct recipe_turn *turn, const struct sandbox_create *request,
                          struct error **err)
{
    struct worker *worker = turn->worker;
    const struct volume_create wanted = {
        .user_id = request->user_id,
        .team = request->team,
        .name = VOLUME_BUILD_CACHE,
        .size_gb = (uint32_t)worker->settings->build_cache_mount_gb,
    };
    struct volume_place places[VOLUME_MOUNTS_MAX];
    struct volume volume;
    unsigned count;
    if (volume_mounts_places(worker->db, request->team->id, request->mounts, 1, places, &count,
                             err) < 0)
        return -1;
    return count ? 0 : volume_create(worker, &wanted, &volume, err);
}

int recipe_mount_add(struct recipe_turn *turn, struct sandbox_create *request, struct error **err)
{
    request->mounts[0] = (struct volume_mount){
        .path = VOLUME_BUILD_CACHE_PATH, .name = VOLUME_BUILD_CACHE, .is_build_cache = true};
    request->mount_count = 1;
    request->volume_mounts = "{\"" VOLUME_BUILD_CACHE_PATH "\":\"" VOLUME_BUILD_CACHE "\"}";
    request->no_copying = true;
    return find_or_create(turn, request, err);
}

int recipe_mount_prepare(struct recipe_place *place, unsigned step, const struct recipe_setting *as,
                         struct error **err)
{
    const json_t *one = recipe_step_at(place, step), *folders = json_object_get(one, "caches");
    size_t at;
    json_t *folder;
    error_auto failure = NULL;
    if (!folders)
        return 0;
    json_t *args = json_pack("[s, s, s]", "-c", prepare_script, "sh");
    json_array_append_new(
        args, json_sprintf("%llu", (unsigned long long)place->cache_mount_gb * KIB_OF_GIB / 2));
    json_array_append_new(args, json_string(as->user));
    json_array_append_new(args, json_string(as->cwd));
    json_array_foreach ((json_t *)(uintptr_t)folders, at, folder) {
        autofree char *path = json_object_get(one, "open_at")
                                  ? recipe_expand(json_string_value(folder), as->envs)
                                  : xstrdup(json_string_value(folder));
        json_array_append_new(args, json_string(path));
    }
    if (recipe_place_call(place, args, NULL, &failure) == 0 || failure->code == ERR_INVALID_REQUEST)
        return 0;
    return error_move(err, &failure);
}
