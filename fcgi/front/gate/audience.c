/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/audience.h"

#include "base/media_type.h"
#include "base/str.h"

/* Recognise a browser by its name, for E2B's hosts only: some browsers send no other header that
 * shows it. */
static bool is_named_browser(const struct http_request *request)
{
    const char *agent = http_header(request, "User-Agent");
    return http_parameter(request, "SANDLOT_E2B") && agent && str_starts_with(agent, "Mozilla/");
}

bool audience_wants_page(const struct http_request *request)
{
    static const char *const documents[] = {"document", "iframe", "frame", "embed", "object"};
    const char *mode = http_header(request, "Sec-Fetch-Mode");
    const char *destination = http_header(request, "Sec-Fetch-Dest");
    const char *accept = http_header(request, "Accept");
    if (mode && !str_equal(mode, "navigate"))
        return false;
    if (destination) {
        for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
            if (str_equal(destination, documents[i]))
                return true;
        return false;
    }
    if (mode)
        return true;
    int html = media_type_quality(accept, "text/html");
    int json = media_type_quality(accept, "application/json");
    return html || json ? html && html >= json : is_named_browser(request);
}
