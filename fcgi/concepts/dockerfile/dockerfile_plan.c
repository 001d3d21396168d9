/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walk through the stages. A stage that begins with another one continues its steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/str.h"
#include "dockerfile/dockerfile_walk.h"

#define ARGS_FIELD "/build_args"
#define NO_STAGE   SIZE_MAX

/* Commands see these without an ARG, as in Docker. */
static const char *const proxies[] = {"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY",   "NO_PROXY",
                                      "ALL_PROXY",  "http_proxy",  "https_proxy", "ftp_proxy",
                                      "no_proxy",   "all_proxy"};
/* These change how BuildKit works, and have no effect here. */
#define BUILDER_PREFIX "BUILDKIT_"
#define BUILDER_TIME   "SOURCE_DATE_EPOCH"
/* Docker sets these from the processor. */
static const char *const platforms[] = {"TARGETPLATFORM", "TARGETOS", "TARGETARCH", "TARGETVARIANT",
                                        "BUILDPLATFORM",  "BUILDOS",  "BUILDARCH",  "BUILDVARIANT"};

static bool is_among(const char *const names[], size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (str_equal(names[i], name))
            return true;
    return false;
}

bool dockerfile_is_proxy(const char *name)
{
    return is_among(proxies, ARRAY_SIZE(proxies), name);
}

/* --- ARG --- */

struct arguments {
    struct dockerfile_walk *walk;
    json_t *values;        /* where they go */
    const json_t *globals; /* for names without a value; NULL: none */
};

/* Return the value that Docker gives a name without one; NULL: none. The caller frees it. */
static char *value_of_platform(const struct dockerfile_build *build, const char *name)
{
    if (str_equal(name, "TARGETOS") || str_equal(name, "BUILDOS"))
        return xstrdup("linux");
    if (!build->machine || !is_among(platforms, ARRAY_SIZE(platforms), name))
        return NULL;
    return str_ends_with(name, "PLATFORM") ? xasprintf("linux/%s", build->machine)
           : str_ends_with(name, "ARCH")   ? xstrdup(build->machine)
                                           : xstrdup("");
}

/* Of ARG and ENV, the later one decides. */
static void set_argument(const struct arguments *arguments, const char *name, json_t *value)
{
    if (!json_is_null(value))
        json_object_del(arguments->walk->scope.env, name);
    json_object_set_new(arguments->values, name, value);
}

static int declare(const struct arguments *arguments, const char *name, size_t at,
                   const struct dockerfile_word *word, struct error **err)
{
    const struct dockerfile_walk *walk = arguments->walk;
    const json_t *given = json_object_get(walk->build->args, name);
    const json_t *global = json_object_get(arguments->globals, name);
    struct dockerfile_value value = {NULL, false};
    if (given || (!word && global)) {
        set_argument(arguments, name, json_incref((json_t *)(uintptr_t)(given ? given : global)));
        return 0;
    }
    int result = word ? dockerfile_walk_expand(walk, word, &value, err) : 0;
    autofree char *text = word ? value.text : value_of_platform(walk->build, name);
    if (result < 0)
        return -1;
    if (!word && !text && is_among(platforms, ARRAY_SIZE(platforms), name))
        return walk_refuse(walk, at, err,
                           "the build does not set %s: give it as a build argument, or write a "
                           "default, such as ARG NAME=VALUE.",
                           name);
    set_argument(arguments, name,
                 !text           ? json_null()
                 : value.is_open ? json_pack("[s]", text)
                                 : json_string(text));
    /* A stage also has the ARG of the stages from which it begins, and the file's first lines those
     * of the platform. */
    size_t most = arguments->globals ? (size_t)DOCKERFILE_ARGS_MAX * DOCKERFILE_STAGES_MAX
                                     : DOCKERFILE_ARGS_MAX + ARRAY_SIZE(platforms);
    if (json_object_size(arguments->values) > most)
        return walk_refuse(walk, at, err, "there are at most %zu ARG here.", most);
    return 0;
}

static int walk_arg(const struct arguments *arguments, struct error **err)
{
    const struct dockerfile_walk *walk = arguments->walk;
    const char *text = walk->one->text;
    struct dockerfile_word word;
    size_t at = walk->one->rest;
    while (dockerfile_word_next(walk->file, walk->one, &at, &word)) {
        const char *equals = memchr(text + word.at, '=', word.length);
        size_t length = equals ? (size_t)(equals - text) - word.at : word.length;
        struct dockerfile_word value = {word.at + length + 1, word.length - length - 1};
        autofree char *name = xstrndup(text + word.at, length);
        if (!length || length > DOCKERFILE_NAME_MAX || strpbrk(name, "\"'$"))
            return walk_refuse(walk, word.at, err, "write ARG NAME or ARG NAME=VALUE.");
        if (declare(arguments, name, word.at, equals ? &value : NULL, err) < 0)
            return -1;
    }
    return 0;
}

/* Return whether an ARG of the file has this name. */
bool dockerfile_declares(const struct dockerfile *file, const char *wanted)
{
    for (size_t i = 0; i < file->instruction_count; i++) {
        const struct dockerfile_instruction *one = &file->instructions[i];
        struct dockerfile_word word;
        size_t at = one->rest, length = strlen(wanted);
        while (one->kind == DOCKERFILE_ARG && dockerfile_word_next(file, one, &at, &word))
            if (word.length >= length && !strncmp(one->text + word.at, wanted, length) &&
                (word.length == length || one->text[word.at + length] == '='))
                return true;
    }
    return false;
}

static int check_arguments(const struct dockerfile *file, const json_t *args, struct error **err)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)args, name, value) {
        if (!dockerfile_declares(file, name) && !dockerfile_is_proxy(name) &&
            !str_starts_with(name, BUILDER_PREFIX) && !str_equal(name, BUILDER_TIME))
            return error_set_field(err, ERR_INVALID_REQUEST, ARGS_FIELD,
                                   "The Dockerfile has no ARG %.64s.", name);
    }
    return 0;
}

/* --- FROM --- */

bool dockerfile_stage_find(const struct dockerfile *file, const char *name, size_t before,
                           size_t *found)
{
    uint64_t number;
    for (*found = before; (*found)-- > 0;)
        if (file->stages[*found].name && !strcasecmp(file->stages[*found].name, name))
            return true;
    if (str_parse_u64(name, 0, UINT32_MAX, &number) < 0 || number >= before)
        return false;
    *found = (size_t)number;
    return true;
}

/* Return whether a platform is that of the machine: amd64, linux/x86_64, linux/arm64/v8. */
static bool is_own_platform(const char *platform, const char *machine)
{
    static const char *const names[][2] = {
        {"amd64", "amd64"}, {"x86_64", "amd64"},  {"x86-64", "amd64"},   {"amd64/v1", "amd64"},
        {"arm64", "arm64"}, {"aarch64", "arm64"}, {"arm64/v8", "arm64"}, {"aarch64/v8", "arm64"}};
    const char *name = str_starts_with(platform, "linux/") ? platform + 6 : platform;
    if (str_equal(platform, "linux"))
        return true;
    for (size_t i = 0; machine && i < ARRAY_SIZE(names); i++)
        if (str_equal(name, names[i][0]) && str_equal(machine, names[i][1]))
            return true;
    return false;
}

static int check_platform(const struct dockerfile_walk *walk,
                          const struct dockerfile_scope *globals, struct error **err)
{
    struct dockerfile_flag flags[] = {{.name = "platform"}, {.name = NULL}};
    struct dockerfile_value value;
    const char *machine = walk->build->machine;
    autofree char *own = xasprintf("linux/%s", machine ? machine : "");
    if (dockerfile_walk_flags(walk, flags, err) < 0)
        return -1;
    if (!flags[0].is_given)
        return 0;
    int result = dockerfile_expand(walk->file, walk->one, &flags[0].value, globals, &value, err);
    autofree char *text = value.text;
    /* Of an unknown machine the variables of platforms have no value. */
    if (result < 0 || !*text || is_own_platform(text, machine))
        return result;
    return walk_refuse(
        walk, flags[0].at, err,
        "the build always uses the image for the host's processor%s%s. Remove the flag.",
        machine ? ", " : "", machine ? own : "");
}

/* Read the base of a stage: a name, or an earlier stage. parent: NO_STAGE for a name. */
static int read_base(const struct dockerfile_walk *walk, size_t stage, char **base, size_t *parent,
                     struct error **err)
{
    const struct dockerfile_scope globals = {NULL, walk->globals, true, walk->scope.expanded};
    struct dockerfile_word word;
    struct dockerfile_value value;
    size_t at = walk->one->rest;
    if (check_platform(walk, &globals, err) < 0)
        return -1;
    dockerfile_word_next(walk->file, walk->one, &at, &word);
    int result = dockerfile_expand(walk->file, walk->one, &word, &globals, &value, err);
    *base = value.text;
    if (result < 0)
        return -1;
    if (!**base)
        return walk_refuse(walk, word.at, err,
                           "FROM has an empty name: give the ARG before it a value.");
    if (!dockerfile_stage_find(walk->file, *base, stage, parent))
        *parent = NO_STAGE;
    return 0;
}

/* --- stages --- */

static int walk_one(struct dockerfile_walk *walk, struct error **err)
{
    const struct arguments arguments = {walk, walk->scope.args, walk->globals};
    switch (walk->one->kind) {
    case DOCKERFILE_ADD:
    case DOCKERFILE_COPY:
        return dockerfile_walk_copy(walk, err);
    case DOCKERFILE_ARG:
        return walk_arg(&arguments, err);
    case DOCKERFILE_CMD:
    case DOCKERFILE_ENTRYPOINT:
        return dockerfile_walk_command(walk, err);
    case DOCKERFILE_ENV:
        return dockerfile_walk_env(walk, err);
    case DOCKERFILE_EXPOSE:
        return dockerfile_walk_expose(walk, err);
    case DOCKERFILE_HEALTHCHECK:
        return dockerfile_walk_health_check(walk, err);
    case DOCKERFILE_LABEL:
        return dockerfile_walk_label(walk, err);
    case DOCKERFILE_ONBUILD:
        return dockerfile_walk_onbuild(walk, err);
    case DOCKERFILE_RUN:
        return dockerfile_walk_run(walk, err);
    case DOCKERFILE_SHELL:
        return dockerfile_walk_shell(walk, err);
    case DOCKERFILE_STOPSIGNAL:
        return dockerfile_walk_stop_signal(walk, err);
    case DOCKERFILE_USER:
        return dockerfile_walk_user(walk, err);
    case DOCKERFILE_VOLUME:
        return dockerfile_walk_volume(walk, err);
    case DOCKERFILE_WORKDIR:
        return dockerfile_walk_workdir(walk, err);
    case DOCKERFILE_FROM:
    case DOCKERFILE_MAINTAINER:
    case DOCKERFILE_KINDS:
        break;
    }
    return 0;
}

/* Only some instructions have flags. */
static int check_flags(const struct dockerfile_walk *walk, struct error **err)
{
    static const struct dockerfile_flag none = {.name = NULL};
    struct dockerfile_flag flags[] = {none};
    enum dockerfile_kind kind = walk->one->kind;
    if (kind == DOCKERFILE_ADD || kind == DOCKERFILE_COPY || kind == DOCKERFILE_RUN ||
        kind == DOCKERFILE_HEALTHCHECK || kind == DOCKERFILE_FROM)
        return 0;
    return dockerfile_walk_flags(walk, flags, err);
}

static json_t *proxies_of(const json_t *args)
{
    json_t *values = json_object();
    for (size_t i = 0; i < ARRAY_SIZE(proxies); i++)
        if (json_object_get(args, proxies[i]))
            json_object_set(values, proxies[i], json_object_get(args, proxies[i]));
    return values;
}

int dockerfile_walk_instruction(struct dockerfile_walk *walk, struct error **err)
{
    return check_flags(walk, err) < 0 ? -1 : walk_one(walk, err);
}

/* Walk through a stage, after the stage that it begins with. *base: the caller's. */
static int walk_stage(struct dockerfile_walk *walk, size_t number, char **base, struct error **err)
{
    const struct dockerfile_stage *stage = &walk->file->stages[number];
    json_auto_t *triggers = NULL;
    size_t parent = NO_STAGE;
    walk->one = &walk->file->instructions[stage->first];
    if (read_base(walk, number, base, &parent, err) < 0)
        return -1;
    if (parent != NO_STAGE) {
        free(*base);
        *base = NULL;
        if (walk_stage(walk, parent, base, err) < 0)
            return -1;
        walk->one = &walk->file->instructions[stage->first];
        triggers = json_incref(json_object_get(walk->config, DOCKERFILE_TRIGGERS));
        json_object_del(walk->config, DOCKERFILE_TRIGGERS);
    }
    /* A stage has the ARG of the stage that it begins with. */
    if (parent == NO_STAGE) {
        walk->scope.args = proxies_of(walk->build->args);
        walk->place = dockerfile_place(walk->file, walk->one, walk->one->rest);
        triggers = json_incref(json_object_get(walk->build->triggers, *base));
    }
    walk->has_command = false;
    walk->number = number;
    if (dockerfile_walk_triggers(walk, triggers, parent == NO_STAGE, err) < 0)
        return -1;
    for (size_t i = 1; i < stage->count; i++) {
        walk->one = &walk->file->instructions[stage->first + i];
        if (dockerfile_walk_instruction(walk, err) < 0)
            return -1;
    }
    return 0;
}

/* The state that all stages share. */
struct shared {
    json_t *globals;  /* values of the ARG before the first FROM */
    size_t *expanded; /* bytes of words */
    json_t *images;   /* of COPY --from */
};

/* The result of one stage, with the results of the stages that it begins with. */
struct part {
    char *base;
    json_t *place; /* that names the base */
    json_t *steps, *config;
    bool is_wanted;
};

/* Plan one stage. A stage that the build does not need is checked only. copied: gets the paths that
 * it copies from others. */
static int plan_stage(const struct dockerfile *file, const struct dockerfile_build *build,
                      size_t number, const struct shared *shared, json_t *copied, struct part *part,
                      struct error **err)
{
    struct dockerfile_walk walk = {
        .file = file,
        .whole = file,
        .build = build,
        .scope = {json_object(), NULL, false, shared->expanded},
        .globals = shared->globals,
        .steps = json_array(),
        .config = json_object(),
        .copied = copied,
        .images = shared->images,
        .is_wanted = part->is_wanted,
    };
    part->steps = walk.steps;
    part->config = walk.config;
    int result = walk_stage(&walk, number, &part->base, err);
    part->place = walk.place;
    json_decref(walk.scope.env);
    json_decref(walk.scope.args);
    json_decref(walk.shell);
    return result;
}

/* Plan all stages, the target first: a stage is wanted when a wanted one copies from it. */
static int plan_stages(const struct dockerfile *file, const struct dockerfile_build *build,
                       size_t target, const struct shared *shared, struct part *parts,
                       json_t *copied, struct error **err)
{
    parts[target].is_wanted = true;
    for (size_t i = file->stage_count; i-- > 0;) {
        char number[24];
        json_auto_t *ignored = json_object();
        snprintf(number, sizeof number, "%zu", i);
        if (i < target)
            parts[i].is_wanted = json_object_get(copied, number) != NULL;
        if (plan_stage(file, build, i, shared, parts[i].is_wanted ? copied : ignored, &parts[i],
                       err) < 0)
            return -1;
    }
    return 0;
}

struct addition {
    size_t stage; /* its number, or one behind those for an image */
    const char *base, *title;
    json_int_t line;
    json_t *place;
    json_t *steps; /* NULL: none */
};

/* Append a stage to the plan of several ones. */
static void add_part(const struct addition *part, const json_t *copied,
                     struct dockerfile_plan *plan)
{
    char number[24];
    snprintf(number, sizeof number, "%zu", part->stage);
    const json_t *paths = json_object_get(copied, number);
    json_array_append_new(plan->steps, json_pack("{s:s, s:I, s:s, s:I, s:o*}", "type", "stage",
                                                 "number", (json_int_t)json_array_size(plan->bases),
                                                 "path", part->base, "line", part->line,
                                                 "files_only", part->steps ? NULL : json_true()));
    json_array_extend(plan->steps, part->steps);
    if (paths)
        json_array_append_new(plan->steps,
                              json_pack("{s:s, s:I, s:O, s:s, s:I}", "type", "save", "stage",
                                        (json_int_t)part->stage, "sources", paths, "path",
                                        part->title, "line", part->line));
    json_array_append_new(plan->bases, json_string(part->base));
    json_array_append(plan->places, part->place);
}

/* The images come first, because any stage may copy from them. */
static void add_images(const struct dockerfile *file, const json_t *images, const json_t *copied,
                       struct dockerfile_plan *plan)
{
    size_t at;
    json_t *image;
    json_array_foreach ((json_t *)(uintptr_t)images, at, image) {
        char number[24];
        const char *name = json_string_value(json_object_get(image, "name"));
        const struct addition part = {file->stage_count + at,
                                      name,
                                      name,
                                      json_integer_value(json_object_get(image, "line")),
                                      json_object_get(image, "place"),
                                      NULL};
        snprintf(number, sizeof number, "%zu", part.stage);
        if (json_object_get(copied, number))
            add_part(&part, copied, plan);
    }
}

static void add_stage(const struct dockerfile *file, size_t stage, const struct part *part,
                      const json_t *copied, struct dockerfile_plan *plan)
{
    const struct dockerfile_instruction *from = &file->instructions[file->stages[stage].first];
    const struct addition addition = {stage,      part->base,  from->text + from->rest,
                                      from->line, part->place, part->steps};
    add_part(&addition, copied, plan);
}

static int check_size(const struct dockerfile *file, const struct dockerfile_plan *plan,
                      struct error **err)
{
    if (json_array_size(plan->steps) <= DOCKERFILE_STEPS_MAX &&
        json_dumpb(plan->steps, NULL, 0, JSON_COMPACT) <= DOCKERFILE_STEPS_BYTES_MAX)
        return 0;
    return dockerfile_refuse_source(file, 0, err,
                                    "all stages together have more than %d steps or %zu KiB.",
                                    DOCKERFILE_STEPS_MAX, DOCKERFILE_STEPS_BYTES_MAX >> 10);
}

static int join(const struct dockerfile *file, size_t target, const struct part *parts,
                const json_t *images, const json_t *copied, struct dockerfile_plan *plan,
                struct error **err)
{
    plan->bases = json_array();
    plan->places = json_array();
    plan->config = json_incref(parts[target].config);
    if (!json_object_size(copied)) {
        plan->steps = json_incref(parts[target].steps);
        json_array_append_new(plan->bases, json_string(parts[target].base));
        json_array_append(plan->places, parts[target].place);
        return 0;
    }
    plan->steps = json_array();
    add_images(file, images, copied, plan);
    for (size_t i = 0; i <= target; i++)
        if (parts[i].is_wanted)
            add_stage(file, i, &parts[i], copied, plan);
    return check_size(file, plan, err);
}

static int read_globals(const struct dockerfile *file, const struct dockerfile_build *build,
                        const struct shared *shared, struct error **err)
{
    struct dockerfile_walk walk = {
        .file = file, .build = build, .scope = {NULL, shared->globals, true, shared->expanded}};
    const struct arguments arguments = {&walk, shared->globals, NULL};
    for (size_t i = 0; i < ARRAY_SIZE(platforms); i++) {
        autofree char *value = value_of_platform(build, platforms[i]);
        if (value)
            json_object_set_new(shared->globals, platforms[i], json_string(value));
    }
    for (size_t i = 0; i < file->first_stage; i++) {
        walk.one = &file->instructions[i];
        if (check_flags(&walk, err) < 0 || walk_arg(&arguments, err) < 0)
            return -1;
    }
    return 0;
}

static int plan_target(const struct dockerfile *file, const struct dockerfile_build *build,
                       size_t target, const struct shared *shared, struct dockerfile_plan *plan,
                       struct error **err)
{
    struct part parts[DOCKERFILE_STAGES_MAX] = {{NULL, NULL, NULL, NULL, false}};
    json_auto_t *copied = json_object();
    int result = plan_stages(file, build, target, shared, parts, copied, err);
    if (result == 0)
        result = join(file, target, parts, shared->images, copied, plan, err);
    plan->unused = json_array();
    for (size_t i = 0; i < target && result == 0; i++)
        if (!parts[i].is_wanted)
            json_array_append_new(plan->unused, json_string(parts[i].base));
    for (size_t i = 0; i < file->stage_count; i++) {
        free(parts[i].base);
        json_decref(parts[i].place);
        json_decref(parts[i].steps);
        json_decref(parts[i].config);
    }
    return result;
}

int dockerfile_plan(const struct dockerfile *file, const struct dockerfile_build *build,
                    struct dockerfile_plan *plan, struct error **err)
{
    json_auto_t *globals = json_object(), *images = json_array();
    size_t expanded = 0;
    const struct shared shared = {globals, &expanded, images};
    size_t target = file->stage_count - 1;
    *plan = (struct dockerfile_plan){.bases = NULL};
    if (check_arguments(file, build->args, err) < 0 || read_globals(file, build, &shared, err) < 0)
        return -1;
    if (build->target && !dockerfile_stage_find(file, build->target, file->stage_count, &target))
        return error_set_field(err, ERR_INVALID_REQUEST, "/target",
                               "The Dockerfile has no stage %.64s.", build->target);
    if (plan_target(file, build, target, &shared, plan, err) < 0)
        return -1;
    plan->build = json_pack("{s:s, s:O*, s:s*, s:s*, s:s*, s:O}", "dockerfile", file->source,
                            "args", build->args, "target", build->target, "context", build->context,
                            "machine", build->machine, "base",
                            json_array_get(plan->bases, json_array_size(plan->bases) - 1));
    return 0;
}

int dockerfile_plan_again(const json_t *kept, const json_t *secrets, const json_t *triggers,
                          struct dockerfile_plan *plan, struct error **err)
{
    const struct dockerfile_build build = {
        .args = json_object_get(kept, "args"),
        .secrets = secrets,
        .target = json_string_value(json_object_get(kept, "target")),
        .context = json_string_value(json_object_get(kept, "context")),
        .machine = json_string_value(json_object_get(kept, "machine")),
        .triggers = triggers,
    };
    const json_t *text = json_object_get(kept, "dockerfile");
    dockerfile_auto *file = NULL;
    *plan = (struct dockerfile_plan){.bases = NULL};
    if (!text)
        return error_set_field(err, ERR_INVALID_REQUEST, DOCKERFILE_FIELD,
                               "The build is of an older version of the service, which did not "
                               "keep its Dockerfile. Build a new version.");
    return dockerfile_parse(json_string_value(text), json_string_length(text), &file, err) < 0
               ? -1
               : dockerfile_plan(file, &build, plan, err);
}

void dockerfile_plan_deinit(struct dockerfile_plan *plan)
{
    json_decref(plan->bases);
    json_decref(plan->places);
    json_decref(plan->unused);
    json_decref(plan->steps);
    json_decref(plan->config);
    json_decref(plan->build);
}
