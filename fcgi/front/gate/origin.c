/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/origin.h"

#include "base/str.h"
#include "gate/audience.h"

bool origin_is_own(const struct http_request *request)
{
    return str_equal(http_parameter(request, "SANDLOT_SITE"), "own");
}

/* A link to the preview that is followed, in the whole window. A form that is sent and a frame in
 * somebody else's page are none, nor is a web socket. */
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
    /* A browser of the time before these headers: it names an origin in all that scripts may read
     * the answer of, and asks for a page when it opens one. */
    return !http_header(request, "Origin") && audience_wants_page(request);
}

bool origin_is_foreign(const struct http_request *request)
{
    return !origin_is_own(request) && !opens_page(request);
}
