/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_secret.h"

#include <string.h>

#include "base/mem.h"
#include "recipe/recipe.h"

/* Arguments: the folder of the build, the file, its user. The list of written files lets a repeated
 * step write them again, and keeps other files from being replaced. */
static const char put_script[] = RECIPE_TOOLS
    "set -e; mkdir -p \"$1\"; list=$1/secrets; touch \"$list\"\n"
    "if [ -e \"$2\" ] || [ -L \"$2\" ]; then\n"
    "  grep -qxF -- \"$2\" \"$list\" || { echo \"A file $2 exists already.\" >&2; exit 1; }; fi\n"
    "mkdir -p \"$(dirname \"$2\")\"; printf '%s\\n' \"$2\" >>\"$list\"; rm -f \"$2\"; umask 077\n"
    "cat >\"$2\"; chown \"$3\" \"$2\"; chmod 0400 \"$2\"\n";
static const char drop_script[] = RECIPE_TOOLS
    "set -e; [ -e \"$1/secrets\" ] || exit 0\n"
    "while IFS= read -r f; do rm -f \"$f\"; done <\"$1/secrets\"; rm -f \"$1/secrets\"\n";

static const json_t *secrets_of(const struct recipe_place *place, unsigned step)
{
    return json_object_get(recipe_step_at(place, step), "secrets");
}

static int put_file(struct recipe_place *place, const char *target, const char *user,
                    const char *value, struct error **err)
{
    size_t size = strlen(value);
    autowipe char *text = xmalloc(BASE64_PADDED_SIZE(size));
    base64_encode(value, size, text);
    return recipe_place_call(
        place,
        json_pack("[s, s, s, s, s, s]", "-c", put_script, "sh", RECIPE_WORK_DIR, target, user),
        text, err);
}

int recipe_secrets_put(struct recipe_place *place, unsigned step, const char *user, json_t *envs,
                       struct error **err)
{
    const json_t *values = json_object_get(place->recipe, RECIPE_SECRETS);
    size_t at;
    json_t *one;
    json_array_foreach ((json_t *)(uintptr_t)secrets_of(place, step), at, one) {
        json_t *value = json_object_get(values, json_string_value(json_object_get(one, "id")));
        const char *target = json_string_value(json_object_get(one, "target"));
        const char *env = json_string_value(json_object_get(one, "env"));
        if (env)
            json_object_set(envs, env, value);
        if (target && put_file(place, target, user, json_string_value(value), err) < 0)
            return -1;
    }
    return 0;
}

int recipe_secrets_drop(struct recipe_place *place, unsigned step, struct error **err)
{
    return secrets_of(place, step)
               ? recipe_place_call(
                     place, json_pack("[s, s, s, s]", "-c", drop_script, "sh", RECIPE_WORK_DIR),
                     NULL, err)
               : 0;
}
