/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The templates that a request can use: those of one team and of the deployment. */
#pragma once

#include "api/api.h"
#include "template/template.h"
#include "template/template_tag.h"

/* Versions sorted by slug; own templates before those of the deployment; newest first. */
struct template_view {
    const struct team *team; /* the team of the request */
    struct template_version *versions;
    unsigned count;
    struct template_tag *tags; /* of one template, if template_view_read_tags() was called */
    unsigned tag_count;
};
void template_view_deinit(struct template_view *view);
#define template_view_auto __attribute__((cleanup(template_view_deinit))) struct template_view

/* Find a template for the team of the request. *at: the index of its first version. Errors:
 * ERR_NOT_FOUND. */
int template_view_find(struct api *api, const char *name, struct template_view *view, unsigned *at,
                       struct error **err);

/* Read the tags of the template at `at`. */
int template_view_read_tags(struct api *api, struct template_view *view, unsigned at,
                            struct error **err);

/* Check that this key may change the template. Errors: ERR_TEAM_FORBIDDEN. */
int template_view_check_owner(const struct api *api, const struct template_version *version,
                              struct error **err);

/* Make a template visible to other teams, or not. *at: as in template_view_find(). Errors: those of
 * template_view_find() and template_view_check_owner(), ERR_INVALID_REQUEST (it is the
 * deployment's). */
int templates_set_public(struct api *api, const char *name, bool is_public,
                         struct template_view *view, unsigned *at, struct error **err);

/* Return whether two versions are of one template. */
bool template_view_same(const struct template_view *view, unsigned a, unsigned b);

/* Return a template or version in the form of the API; new references. at: the index of the
 * template's first version. */
json_t *template_view_at(const struct template_view *view, unsigned at);
json_t *template_version_to_json(const struct template_version *version,
                                 const struct template_tag *tags, unsigned count);
