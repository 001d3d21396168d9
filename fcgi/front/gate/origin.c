/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/origin.h"

#include "base/str.h"
#include "gate/audience.h"

bool origin_is_own(const struct http_request *request)
{
    return str_equal(http_parameter(request, "SANDLOT_SITE"), "own");
}

/* Return whether a browser opens the preview as a page of its own. A submitted form, a frame in
 * another site's page and a web socket do not count. */
static bool opens_page(const struct http_request *request)
{
    const char *method = http_parameter(request, "SANDLOT_METHOD");
    const char *mode = http_header(request, "Sec-Fetch-Mode");
    if (http_parameter(request, "SANDLOT_UPGRADE") ||
        (!str_equal(method, "GET") && !str_equal(method, "HEAD")))
        return false;
    if (mode)
        return str_equal(mode, "navigate") &&
               str_equal(http_header(request, "Sec-Fetch-Dest"), "document");
    /* An older browser, without these headers: it sends Origin whenever a script may read the
     * answer, and asks for HTML when it opens a page. */
    return !http_header(request, "Origin") && audience_wants_page(request);
}

bool origin_is_foreign(const struct http_request *request)
{
    return !origin_is_own(request) && !opens_page(request);
}
