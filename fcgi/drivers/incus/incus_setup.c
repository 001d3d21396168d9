/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The prerequisites of instances: the project, profiles, images. */
#include "base/mem.h"
#include "base/str.h"
#include "incus/incus_internal.h"

/* The member of a cluster whose instances a project holds. */
#define KEY_MEMBER "user.sandlot.member"

/* All members of a cluster show a project's instances and keep their names apart: two hosts that
 * shared one would take each other's for their own. */
static int check_member(const struct incus *incus, const json_t *project, struct error **err)
{
    const char *of = incus_string(json_object_get(project, "config"), KEY_MEMBER);
    const char *name = incus->options.project;
    if (str_equal(of, incus->member))
        return 0;
    if (!*of)
        return error_set(err, ERR_CONFIG,
                         "Incus at %s is the member %s of a cluster, and other members may use "
                         "project %s too: give this member a project of its own, or mark the "
                         "project as its own with `incus project set %s " KEY_MEMBER "=%s`",
                         incus->options.url, incus->member, name, name, incus->member);
    return error_set(err, ERR_CONFIG,
                     "project %s belongs to the cluster member %s, and Incus at %s is %s: give "
                     "this one a project of its own",
                     name, of, incus->options.url, *incus->member ? incus->member : "not a member");
}

static int project_create(struct incus *incus, json_t *config, struct error **err)
{
    json_auto_t *own = json_copy(config);
    if (*incus->member)
        json_object_set_new(own, KEY_MEMBER, json_string(incus->member));
    json_auto_t *body = json_pack("{s:s, s:s, s:O}", "name", incus->options.project, "description",
                                  "Sandboxes of sandlot", "config", own);
    return incus_order(incus, "POST", "/1.0/projects", body, err);
}

int incus_project_ensure(struct incus *incus, json_t *config, struct error **err)
{
    autofree char *path = incus_path(incus, "projects", incus->options.project);
    json_auto_t *there = NULL;
    if (incus_find_member(incus, err) < 0)
        return -1;
    if (incus_get(incus, path, &there, err) == 0)
        return check_member(incus, there, err);
    if (!error_clear_if(err, ERR_NOT_FOUND))
        return -1;
    if (project_create(incus, config, err) == 0)
        return 0;
    if (incus_last_error(incus) != INCUS_ERROR_EXISTS)
        return -1;
    error_clear(err);
    return incus_get(incus, path, &there, err) < 0 ? -1 : check_member(incus, there, err);
}

static int remove_path(struct incus *incus, const char *collection, const char *name,
                       struct error **err)
{
    autofree char *path = incus_path(incus, collection, name);
    return incus_drop(incus, path, err);
}

int incus_project_remove(struct incus *incus, const char *const *profiles, unsigned count,
                         struct error **err)
{
    for (unsigned i = 0; i < count; i++)
        if (remove_path(incus, "profiles", profiles[i], err) < 0)
            return -1;
    return remove_path(incus, "projects", incus->options.project, err);
}

int incus_profile_ensure(struct incus *incus, const char *name, json_t *config, json_t *devices,
                         struct error **err)
{
    autofree char *path = incus_path(incus, "profiles", name);
    json_auto_t *there = NULL;
    json_auto_t *body = json_pack("{s:s, s:s, s:O, s:O}", "name", name, "description",
                                  "Made by sandlot, which undoes other changes", "config", config,
                                  "devices", devices);
    if (incus_get(incus, path, &there, err) == 0) {
        /* A write touches every instance that uses the profile. */
        if (json_equal(json_object_get(there, "config"), config) &&
            json_equal(json_object_get(there, "devices"), devices))
            return 0;
        return incus_order(incus, "PUT", path, body, err);
    }
    if (!error_clear_if(err, ERR_NOT_FOUND))
        return -1;
    if (incus_order(incus, "POST", "/1.0/profiles", body, err) == 0)
        return 0;
    if (incus_last_error(incus) != INCUS_ERROR_EXISTS)
        return -1;
    error_clear(err);
    return incus_order(incus, "PUT", path, body, err);
}

int incus_image_resolve(struct incus *incus, const char *reference, char **fingerprint,
                        bool *virtual_machine, struct error **err)
{
    autofree char *alias_path = incus_path(incus, "images/aliases", reference);
    autofree char *image_path = incus_path(incus, "images", reference);
    json_auto_t *found = NULL;
    const char *key = "target";
    if (incus_get(incus, alias_path, &found, err) < 0) {
        if (!error_clear_if(err, ERR_NOT_FOUND))
            return -1;
        key = "fingerprint";
        if (incus_get(incus, image_path, &found, err) < 0)
            return error_context(err, "image %s", reference);
    }
    const char *text = json_string_value(json_object_get(found, key));
    if (!text)
        return error_set(err, ERR_RUNTIME_REFUSED, "Incus described image %s without a fingerprint",
                         reference);
    *fingerprint = xstrdup(text);
    *virtual_machine =
        str_equal(json_string_value(json_object_get(found, "type")), "virtual-machine");
    return 0;
}

int incus_image_size(struct incus *incus, const char *fingerprint, uint64_t *bytes,
                     struct error **err)
{
    autofree char *path = incus_path(incus, "images", fingerprint);
    json_auto_t *image = NULL;
    *bytes = 0;
    if (incus_get(incus, path, &image, err) < 0)
        return error_clear_if(err, ERR_NOT_FOUND) ? 0 : -1;
    json_int_t size = json_integer_value(json_object_get(image, "size"));
    *bytes = size > 0 ? (uint64_t)size : 0;
    return 0;
}
