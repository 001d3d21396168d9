/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The templates that a request is about: those of one team and of the deployment. */
#pragma once

#include "api/api.h"
#include "template/template.h"
#include "template/template_tag.h"

/* Versions by slug, own templates before those of the deployment, newest first. */
struct template_view {
    const struct team *team; /* that looks */
    struct template_version *versions;
    unsigned count;
    struct template_tag *tags; /* of one template, if they were read */
    unsigned tag_count;
};
void template_view_deinit(struct template_view *view);
#define template_view_auto __attribute__((cleanup(template_view_deinit))) struct template_view

/* For the team of the request; *at is where the versions of the template of that name begin.
 * Errors: ERR_NOT_FOUND. */
int template_view_find(struct api *api, const char *name, struct template_view *view, unsigned *at,
                       struct error **err);

/* The tags of the template at `at`. */
int template_view_read_tags(struct api *api, struct template_view *view, unsigned at,
                            struct error **err);

/* Whether this key may change the template. Errors: ERR_TEAM_FORBIDDEN. */
int template_view_check_owner(const struct api *api, const struct template_version *version,
                              struct error **err);

/* Let other teams see the template of that name, or not; *at is as that of template_view_find().
 * Errors: those of the two above, ERR_INVALID_REQUEST (it is the deployment's). */
int templates_set_public(struct api *api, const char *name, bool is_public,
                         struct template_view *view, unsigned *at, struct error **err);

/* Whether two versions are of one template. */
bool template_view_same(const struct template_view *view, unsigned a, unsigned b);

/* As the interface shows them; new references. The template whose versions begin at `at`. */
json_t *template_view_at(const struct template_view *view, unsigned at);
json_t *template_version_to_json(const struct template_version *version,
                                 const struct template_tag *tags, unsigned count);
