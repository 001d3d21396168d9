/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/debian_version.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct piece {
    const char *at, *end;
};

/* The weight of a character outside of numbers: a tilde is before the end, letters are before the
 * rest. */
static int weight(const struct piece *piece)
{
    if (piece->at == piece->end || isdigit((unsigned char)*piece->at))
        return 0;
    unsigned char character = (unsigned char)*piece->at;
    if (character == '~')
        return -1;
    return isalpha(character) ? character : character + 256;
}

static bool is_text(const struct piece *piece)
{
    return piece->at < piece->end && !isdigit((unsigned char)*piece->at);
}

/* Take a number of any length from the front: its digits without leading zeros. */
static struct piece take_number(struct piece *piece)
{
    while (piece->at < piece->end && *piece->at == '0')
        piece->at++;
    struct piece number = {piece->at, piece->at};
    while (piece->at < piece->end && isdigit((unsigned char)*piece->at))
        number.end = ++piece->at;
    return number;
}

static int compare_numbers(struct piece a, struct piece b)
{
    ptrdiff_t longer = (a.end - a.at) - (b.end - b.at);
    if (longer)
        return longer < 0 ? -1 : 1;
    return memcmp(a.at, b.at, (size_t)(a.end - a.at));
}

static int compare_pieces(struct piece a, struct piece b)
{
    while (a.at < a.end || b.at < b.end) {
        while (is_text(&a) || is_text(&b)) {
            int order = weight(&a) - weight(&b);
            if (order)
                return order;
            a.at++;
            b.at++;
        }
        int order = compare_numbers(take_number(&a), take_number(&b));
        if (order)
            return order;
    }
    return 0;
}

static void split(const char *version, unsigned long *epoch, struct piece *upstream,
                  struct piece *revision)
{
    const char *colon = strchr(version, ':');
    *epoch = colon ? strtoul(version, NULL, 10) : 0;
    upstream->at = colon ? colon + 1 : version;
    const char *end = upstream->at + strlen(upstream->at), *hyphen = strrchr(upstream->at, '-');
    upstream->end = hyphen ? hyphen : end;
    *revision = (struct piece){hyphen ? hyphen + 1 : end, end};
}

int debian_version_compare(const char *a, const char *b)
{
    unsigned long epoch_a, epoch_b;
    struct piece upstream_a, upstream_b, revision_a, revision_b;
    split(a, &epoch_a, &upstream_a, &revision_a);
    split(b, &epoch_b, &upstream_b, &revision_b);
    if (epoch_a != epoch_b)
        return epoch_a < epoch_b ? -1 : 1;
    int order = compare_pieces(upstream_a, upstream_b);
    return order ? order : compare_pieces(revision_a, revision_b);
}
