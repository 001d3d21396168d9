/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An archive for steps that copy: its listing is within its bound, and can be read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "recipe/recipe_listing.h"

#define MOST 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct source {
    const uint8_t *data;
    size_t left;
};

static long read_some(void *context, char *data, size_t size)
{
    struct source *source = context;
    size_t have = source->left < size ? source->left : size;
    memcpy(data, source->data, have);
    source->data += have;
    source->left -= have;
    return (long)have;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const sources[] = {".", "a", "*", "a/*/[!b]", "to/x"};
    struct source source = {data, size};
    const struct recipe_bytes bytes = {read_some, &source};
    autofree char *text = recipe_listing_make(&bytes, MOST);
    if (!text)
        return 0;
    json_auto_t *listing = json_loads(text, 0, NULL);
    if (!listing || strlen(text) > MOST)
        abort();
    for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
        char key[RECIPE_LISTING_KEY_SIZE];
        size_t left = RECIPE_LISTING_WORK;
        recipe_listing_key(listing, sources[i], &left, key);
        if (*key && strlen(key) != RECIPE_LISTING_KEY_SIZE - 1)
            abort();
    }
    return 0;
}
