/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose page had a browser send a request. A browser sends a preview's cookie along whoever made
 * the request, and all previews are of one site to it, so SameSite keeps no other sandbox's page
 * from asking in a user's name.
 */
#pragma once

#include "http/http.h"

/* What SANDLOT_SITE says (the map $sandlot_site of conf/nginx/sandlot.conf.in): nginx has looked at
 * Sec-Fetch-Site, and at Origin and Referer where a browser sends no such header. */
bool origin_is_own(const struct http_request *request);

/* Whether another site's page made a request that only the preview's own pages may make with a
 * cookie: anything but the opening of a page. */
bool origin_is_foreign(const struct http_request *request);
