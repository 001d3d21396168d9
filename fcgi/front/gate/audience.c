/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gate/audience.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

#define QUALITY_FULL 1000

/* Return the quality of a media range in thousandths: 250 for "q=0.25", 1000 without a quality. */
static int quality(const char *range, size_t length)
{
    for (size_t i = 0; i + 2 < length; i++) {
        if (range[i] != ';')
            continue;
        size_t at = i + 1;
        while (at + 2 < length && isspace((unsigned char)range[at]))
            at++;
        if (strncasecmp(range + at, "q=", 2))
            continue;
        int value = 0, weight = QUALITY_FULL;
        for (at += 2; at < length && (isdigit((unsigned char)range[at]) || range[at] == '.');
             at++) {
            if (range[at] == '.')
                continue;
            value += weight * (range[at] - '0');
            weight /= 10;
        }
        return value < QUALITY_FULL ? value : QUALITY_FULL;
    }
    return QUALITY_FULL;
}

/* Return the quality that an Accept header gives to a type by name. Every program sends wildcards,
 * so they do not count. */
static int accepted(const char *accept, const char *type)
{
    size_t type_length = strlen(type);
    while (*accept) {
        accept += strspn(accept, ", \t");
        size_t length = strcspn(accept, ",");
        size_t name = strcspn(accept, ",; \t");
        if (name == type_length && !strncasecmp(accept, type, name))
            return quality(accept, length);
        accept += length;
    }
    return 0;
}

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
    int html = accept ? accepted(accept, "text/html") : 0;
    int json = accept ? accepted(accept, "application/json") : 0;
    return html || json ? html && html >= json : is_named_browser(request);
}
