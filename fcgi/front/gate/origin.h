/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page that made a browser send a request.
 *
 * A browser sends a preview's cookie along with a request from any page. All previews are one site
 * to the browser. So SameSite does not keep another sandbox's page from sending requests in a
 * user's name.
 */
#pragma once

#include "http/http.h"

/* Return SANDLOT_SITE (the map $sandlot_site of conf/nginx/sandlot.conf.in). nginx checks
 * Sec-Fetch-Site; for browsers without this header it checks Origin and Referer. */
bool origin_is_own(const struct http_request *request);

/* Return whether another site's page made a request that needs the preview's own page to be let in
 * by cookie. Opening a page does not need it. */
bool origin_is_foreign(const struct http_request *request);
