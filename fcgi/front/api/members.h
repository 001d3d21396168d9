/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by members.c, invitations.c and team_links.c. */
#pragma once

#include "account/member.h"
#include "api/api.h"

extern const char *const member_role_choices[]; /* ends with NULL */

/* Check that the caller owns the team of the request. Errors: ERR_INSUFFICIENT_SCOPE. */
int members_check_owner(const struct api *api, struct error **err);

/* Refuse a key for some teams: it must not take its user into another team. Errors:
 * ERR_INSUFFICIENT_SCOPE. */
int members_check_whole(const struct api *api, struct error **err);

/* Return the member `role` of the body, which was checked. */
enum team_role members_read_role(const struct http_request *request);

/* Return a member as JSON, a new reference. */
json_t *member_to_json(const struct member *member);
