/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_fetch.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "recipe/recipe_cache.h"
#include "recipe/recipe_image.h"

#define PROGRAMS    "/usr/lib/sandlot/image"
#define ORDER_FILE  RECIPE_WORK_DIR "/image.json"
#define ASK_S       10 /* for the digests of all images */
#define LOOK_S      3
#define LOOK_MAX    4096
#define DIGESTS_MAX (DOCKERFILE_STAGES_MAX * (IMAGE_LAYERS_MAX + 1) * RECIPE_DIGEST_SIZE)

/* Arguments: a file for the order, a folder for the tree. */
static const char fetch_script[] =
    "[ -x " PROGRAMS "/fetch-image ] || { echo 'The template with which the sandbox of the build"
    " begins cannot fetch images. If it is the template of builders, the operator builds it again"
    " with sandlot-build-template; otherwise begin all stages with it, or all with images.'; exit "
    "1;"
    " }; exec " PROGRAMS "/fetch-image \"$1\" \"$2\"";

void recipe_fetch_folder(const json_t *step, const char *member,
                         char folder[RECIPE_FETCH_FOLDER_SIZE])
{
    const json_t *number = json_object_get(step, member);
    if (number)
        snprintf(folder, RECIPE_FETCH_FOLDER_SIZE, RECIPE_FETCH_DIR "-%lld",
                 (long long)json_integer_value(number));
    else
        snprintf(folder, RECIPE_FETCH_FOLDER_SIZE, RECIPE_FETCH_DIR);
}

/* --- orders --- */

bool recipe_fetch_asks(const struct recipe_place *place)
{
    for (unsigned i = 0; place->caches && recipe_step_is_image(place, i); i++)
        if (recipe_lacks_digests(recipe_step_at(place, i)))
            return true;
    return false;
}

/* An order for the digests of all images that lack them. */
static json_t *asking_order(const struct recipe_place *place)
{
    json_t *images = json_array();
    for (unsigned i = 0; recipe_step_is_image(place, i); i++)
        if (recipe_lacks_digests(recipe_step_at(place, i)))
            json_array_append(images, (json_t *)(uintptr_t)recipe_step_at(place, i));
    return json_pack("{s:o, s:i}", "images", images, "seconds", ASK_S);
}

/* The order may hold a password: it goes through the standard input into a file that root alone may
 * read, and the program removes it at once. */
static int send_order(struct recipe_place *place, const json_t *what, struct error **err)
{
    autowipe char *order = json_dumps(what, JSON_COMPACT);
    size_t size = strlen(order);
    autowipe char *text = xmalloc(BASE64_PADDED_SIZE(size));
    base64_encode(order, size, text);
    return recipe_place_call(
        place,
        json_pack("[s, s, s, s]", "-c",
                  "mkdir -p " RECIPE_WORK_DIR
                  " && rm -f \"$1\" \"$1.digests\" && umask 077 && cat >\"$1\"",
                  "sh", ORDER_FILE),
        text, err);
}

int recipe_fetch_order(struct recipe_place *place, const json_t *step, json_t **program,
                       struct error **err)
{
    char folder[RECIPE_FETCH_FOLDER_SIZE];
    json_auto_t *asking = recipe_fetch_asks(place) ? asking_order(place) : NULL;
    if (send_order(place, asking ? asking : step, err) < 0)
        return -1;
    recipe_fetch_folder(step, "stage", folder);
    *program = json_pack("[s, s, s, s]", fetch_script, "sh", ORDER_FILE, folder);
    return 0;
}

/* --- digests --- */

/* Read a digest up to a space or the end of the line, or "" for any other text. Return the text
 * behind it. */
static const char *read_digest(const char *text, char digest[RECIPE_DIGEST_SIZE])
{
    size_t length = strcspn(text, " \n");
    *digest = '\0';
    if (length + 1 == RECIPE_DIGEST_SIZE && str_starts_with(text, "sha256:") &&
        strspn(text + 7, "0123456789abcdef") == 64)
        snprintf(digest, RECIPE_DIGEST_SIZE, "%.*s", (int)length, text);
    return text + length + (text[length] == ' ');
}

static const char *output_of(const json_t *answer)
{
    const char *text = json_string_value(json_object_get(answer, "stdout"));
    return text && json_integer_value(json_object_get(answer, "exit_code")) == 0 ? text : "";
}

/* Read a line: the digest of the image, and those of its layers. Without digests the step has no
 * layers, and is not asked for again. */
static void take_line(const char *line, json_t *step)
{
    json_t *layers = json_array();
    char digest[RECIPE_DIGEST_SIZE];
    line = read_digest(line, digest);
    if (*digest)
        json_object_set_new(step, "reference", json_string(digest));
    while (*digest && json_array_size(layers) < IMAGE_LAYERS_MAX) {
        line = read_digest(line, digest);
        if (*digest)
            json_array_append_new(layers, json_string(digest));
    }
    json_object_set_new(step, RECIPE_LAYERS, layers);
}

int recipe_fetch_digests(struct recipe_place *place, struct error **err)
{
    json_auto_t *answer = NULL;
    if (recipe_place_look(place, json_pack("[s, s]", "-c", "cat " ORDER_FILE ".digests"), LOOK_S,
                          DIGESTS_MAX, &answer, err) < 0)
        return -1;
    const char *line = output_of(answer);
    for (unsigned i = 0; recipe_step_is_image(place, i); i++) {
        json_t *step = json_array_get(json_object_get(place->recipe, "steps"), i);
        if (!recipe_lacks_digests(step))
            continue;
        take_line(line, step);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return 0;
}

int recipe_image_unpacked(struct recipe_place *place, unsigned step,
                          char digest[RECIPE_DIGEST_SIZE], struct error **err)
{
    char folder[RECIPE_FETCH_FOLDER_SIZE];
    json_auto_t *answer = NULL;
    recipe_fetch_folder(recipe_step_at(place, step), "stage", folder);
    if (recipe_place_look(place,
                          json_pack("[s, s, s, s]", "-c", "head -n 1 \"$1\"/layers", "sh", folder),
                          LOOK_S, LOOK_MAX, &answer, err) < 0)
        return -1;
    read_digest(output_of(answer), digest);
    return 0;
}
