/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A Dockerfile: it is refused with a place, or its steps are within their bounds. Its base x has
 * ONBUILD. */
#include <stdint.h>
#include <stdlib.h>

#include "base/str.h"
#include "dockerfile/dockerfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Check that each step has what a recipe needs. */
static void check_steps(const json_t *steps)
{
    size_t at;
    json_t *step;
    if (json_array_size(steps) > DOCKERFILE_STEPS_MAX)
        abort();
    json_array_foreach ((json_t *)(uintptr_t)steps, at, step) {
        if (!json_string_value(json_object_get(step, "type")) ||
            json_integer_value(json_object_get(step, "line")) < 1)
            abort();
    }
}

static void plan(const struct dockerfile *file, const char *context)
{
    json_auto_t *args = json_pack("{s:s}", "HTTP_PROXY", "x");
    json_auto_t *triggers =
        json_pack("{s:[s, s, s]}", "x", "ARG A=1", "SHELL [\"s\"]", "COPY --from=a /b /c");
    const struct dockerfile_build build = {.args = args, .context = context, .triggers = triggers};
    struct dockerfile_plan made;
    error_auto err = NULL;
    if (dockerfile_plan(file, &build, &made, &err) == 0) {
        if (err || !json_array_size(made.bases))
            abort();
        check_steps(made.steps);
    } else if (!err || err->code != ERR_INVALID_REQUEST || !err->field)
        abort();
    dockerfile_plan_deinit(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dockerfile_auto *file = NULL;
    error_auto err = NULL;
    if (dockerfile_parse((const char *)data, size, &file, &err) < 0) {
        if (!err || err->code != ERR_INVALID_REQUEST || !str_equal(err->field, DOCKERFILE_FIELD))
            abort();
        return 0;
    }
    plan(file, "0123456789abcdef0123456789abcdef");
    plan(file, NULL);
    return 0;
}
