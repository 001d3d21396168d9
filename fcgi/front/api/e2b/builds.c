/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds of templates. E2B's clients request a build, send its files, and then send its steps. In
 * /v1 this is a version whose recipe waits. The buildID is the id of the version as a UUID.
 */
#include "api/e2b/builds.h"

#include <stdlib.h>
#include <string.h>

#include "account/volume_token.h"
#include "api/e2b/e2b.h"
#include "api/sandbox_output.h"
#include "api/template_builds.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/notify.h"
#include "base/str.h"
#include "recipe/recipe.h"
#include "recipe/recipe_file.h"

#define LOGS_MOST   100000
#define BUILDS_MOST 100

/* --- requesting a build --- */

struct name {
    char team[SLUG_MAX + 1], slug[SLUG_MAX + 1];
    json_t *tags; /* owned */
};

static int refuse_name(struct error **err)
{
    return error_set_field(err, ERR_INVALID_REQUEST, "name",
                           "A template's name is 1 to %d letters, digits, hyphens and "
                           "underscores, with no hyphen at either end. You can write your own team "
                           "and a slash before it, and a colon and a tag after it.",
                           SLUG_MAX);
}

/* Read [team/]name[:tag]. The tag is one of the new build's tags. */
static int read_name(const struct api *api, const json_t *body, struct name *name,
                     struct error **err)
{
    const struct team *team = api->access.team;
    const char *given = json_string_value(json_object_get(body, "name"));
    const json_t *tags = json_object_get(body, "tags");
    name->tags = tags ? json_deep_copy(tags) : json_array();
    if (!given)
        given = json_string_value(json_object_get(body, "alias"));
    if (!given)
        return error_set_field(err, ERR_INVALID_REQUEST, "name", "The template needs a name.");
    size_t length = strcspn(given, ":");
    autofree char *alone = xstrndup(given, length);
    e2b_lower(alone);
    if (given[length])
        json_array_insert_new(name->tags, 0, json_string(given + length + 1));
    if (template_name_parse(alone, name->team, name->slug) < 0)
        return refuse_name(err);
    if (*name->team && !str_equal(name->team, team->slug))
        return error_set_field(err, ERR_INVALID_REQUEST, "name",
                               "A key can build templates of its own team, %s, only.", team->slug);
    return e2b_read_tags(name->tags, given[length] ? "name" : "tags", err);
}

static int check_disk(struct api *api, const json_t *body, struct error **err)
{
    json_int_t wanted = json_integer_value(json_object_get(body, "minFreeDiskMb"));
    struct plan plan;
    if (plan_get(api->worker.db, api->access.team->plan, &plan, err) < 0)
        return -1;
    if (wanted <= (json_int_t)plan.disk_gb * 1024)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "minFreeDiskMb",
                           "The disk size must be that of the team's sandboxes, %u GiB.",
                           plan.disk_gb);
}

static json_t *baseline(const json_t *body)
{
    json_t *sizes = json_object();
    if (json_object_get(body, "cpuCount"))
        json_object_set(sizes, "cpu", json_object_get(body, "cpuCount"));
    if (json_object_get(body, "memoryMB"))
        json_object_set(sizes, "memory_mb", json_object_get(body, "memoryMB"));
    return json_pack("{s:o}", "runtime_baseline", sizes);
}

static int check_sizes(struct api *api, const json_t *body, struct template_request *wanted,
                       struct error **err)
{
    static const struct checkpoint none = {.id = ""};
    json_auto_t *sizes = baseline(body);
    if (template_builds_baseline(api, sizes, &none, wanted, err) == 0)
        return check_disk(api, body, err);
    if ((*err)->field) {
        bool is_cpu = str_ends_with((*err)->field, "/cpu");
        free((*err)->field);
        (*err)->field = xstrdup(is_cpu ? "cpuCount" : "memoryMB");
    }
    return -1;
}

struct opening {
    struct api *api;
    const json_t *tags;
};

static int open_build(struct db *db, const char *version_id, void *context, struct error **err)
{
    const struct opening *opening = context;
    struct api *api = opening->api;
    const struct recipe_owner owner = {api->access.team->id, api->principal.user_id, opening->tags};
    if (recipe_open(db, version_id, &owner, err) < 0)
        return -1;
    return api_claim(db, version_id, api, err);
}

static int is_new(struct api *api, const char *slug, bool *new_template, struct error **err)
{
    const struct team *team = api->access.team;
    autofree struct template_version *versions = NULL;
    unsigned count = 0;
    if (template_version_list_named(api->worker.db, team->id, team->slug, slug, &versions, &count,
                                    err) < 0)
        return -1;
    *new_template = !count;
    return 0;
}

static json_t *requested_to_json(const struct template_version *version, const json_t *tags)
{
    autofree char *name = xasprintf("%s/%s", version->team_slug, version->slug);
    json_t *given = json_array_size(tags) ? json_incref((json_t *)(uintptr_t)tags)
                                          : json_pack("[s]", TEMPLATE_TAG_DEFAULT);
    return json_pack("{s:s, s:o, s:b, s:[s], s:[s], s:o}", "templateID", version->slug, "buildID",
                     e2b_build_id(version->id), "public", (int)version->is_public, "names", name,
                     "aliases", version->slug, "tags", given);
}

static int request_build(struct api *api, const json_t *body, const struct name *name,
                         struct template_version *version, struct error **err)
{
    struct opening opening = {api, name->tags};
    struct template_request wanted = {
        .owner = api->access.team->id,
        .slug = name->slug,
        .by_steps = true,
        .claim = open_build,
        .claim_context = &opening,
    };
    if (check_sizes(api, body, &wanted, err) < 0 ||
        is_new(api, name->slug, &wanted.new_template, err) < 0)
        return -1;
    return template_request_build(api->worker.db, &wanted, version, err);
}

/* Add the tag `default` to a build without tags, if the template has that tag. Otherwise `default`
 * follows the newest version by itself. */
static int add_default(struct api *api, struct name *name, struct error **err)
{
    template_view_auto view = {0};
    error_auto missing = NULL;
    unsigned at;
    if (json_array_size(name->tags))
        return 0;
    if (e2b_template_find(api, name->slug, &view, &at, &missing) < 0)
        return missing->code == ERR_NOT_FOUND ? 0 : error_move(err, &missing);
    if (!str_equal(view.versions[at].owner, api->access.team->id))
        return 0;
    if (template_view_read_tags(api, &view, at, err) < 0)
        return -1;
    for (unsigned i = 0; i < view.tag_count; i++)
        if (str_equal(view.tags[i].tag, TEMPLATE_TAG_DEFAULT))
            json_array_append_new(name->tags, json_string(TEMPLATE_TAG_DEFAULT));
    return 0;
}

int e2b_builds_create(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    struct api *api = context;
    struct name name = {.tags = NULL};
    struct template_version *version = &api->access.version;
    int result = read_name(api, request->json, &name, err);
    if (result == 0)
        result = add_default(api, &name, err);
    if (result == 0)
        result = request_build(api, request->json, &name, version, err);
    if (result == 0) {
        log_context_set("version", version->id);
        http_response_json(response, 202, requested_to_json(version, name.tags));
    }
    json_decref(name.tags);
    return result;
}

/* --- files --- */

/* Find a template that the key may change. */
static int find_own(struct api *api, const char *name, struct error **err)
{
    template_view_auto view = {0};
    unsigned at;
    if (e2b_template_find(api, name, &view, &at, err) < 0)
        return -1;
    return template_view_check_owner(api, &view.versions[at], err);
}

static int make_link(struct api *api, const struct recipe_file *file, char **url,
                     struct error **err)
{
    char token[VOLUME_TOKEN_SIZE];
    if (!*api->principal.key_lookup)
        return error_set(err, ERR_INSUFFICIENT_SCOPE,
                         "A request for an upload link needs an API key.");
    if (volume_token_make(api->worker.ring, &api->principal, file->id, token, err) < 0)
        return -1;
    *url = xasprintf("%s/templatefiles/%s?token=%s", api->settings->base_url, file->id, token);
    mem_wipe(token, sizeof token);
    return 0;
}

int e2b_template_files_link(void *context, struct http_request *request,
                            struct http_response *response, struct error **err)
{
    struct api *api = context;
    const char *hash = request->captures[1];
    struct recipe_file file;
    autowipe char *url = NULL;
    bool present;
    if (!recipe_hash_is_valid(hash))
        return error_set_field(err, ERR_INVALID_REQUEST, "hash",
                               "A hash has %d to %d lower-case hexadecimal digits.",
                               RECIPE_HASH_MIN, RECIPE_HASH_MAX);
    if (find_own(api, request->captures[0], err) < 0 ||
        recipe_file_find(api->worker.db, api->access.team->id, hash, &file, &present, err) < 0 ||
        recipe_file_expect(api->worker.db, api->access.team->id, hash, &file, err) < 0 ||
        make_link(api, &file, &url, err) < 0)
        return -1;
    return http_response_json(response, 201,
                              json_pack("{s:b, s:s}", "present", (int)present, "url", url));
}

/* The authorization calls this before the query is parsed. The token has no escapes. */
char *e2b_template_files_token(const struct http_request *request)
{
    const char *query = http_parameter(request, "QUERY_STRING");
    if (!query || !str_starts_with(query, "token=" VOLUME_TOKEN_PREFIX))
        return NULL;
    return xstrdup(query + strlen("token="));
}

int e2b_template_files_put(void *context, struct http_request *request,
                           struct http_response *response, struct error **err)
{
    struct api *api = context;
    struct recipe_file file;
    const char *id = request->captures[0];
    /* An ordinary key gives no access to an archive. */
    if (!str_equal(api->principal.volume_id, id) || !id_is_valid("rcf_", id) ||
        recipe_file_get(api->worker.db, id, &file, err) < 0 ||
        !principal_writes(&api->principal, file.team_id)) {
        error_clear(err);
        return error_set(err, ERR_NOT_FOUND, "There is no such link.");
    }
    if (!request->read_body)
        return error_set(err, ERR_UNSUPPORTED_MEDIA_TYPE,
                         "Send the archive as application/octet-stream.");
    api->audit.team_id = file.team_id;
    if (template_files_take(api, request, &file, err) < 0)
        return -1;
    return http_response_json(response, 200, json_pack("{s:b}", "present", 1));
}

/* --- one build --- */

/* Find the build that the path names, for the team of the key. */
static int find_build(struct api *api, const struct http_request *request,
                      struct template_version *version, struct error **err)
{
    char id[ID_SIZE];
    const char *slash = strchr(request->captures[0], '/');
    autofree char *slug = xstrdup(slash ? slash + 1 : request->captures[0]);
    error_auto missing = NULL;
    e2b_lower(slug);
    if (id_of_uuid("tpv_", request->captures[1], id) == 0 &&
        template_version_get(api->worker.db, id, version, &missing) == 0 &&
        str_equal(version->owner, api->access.team->id) &&
        (str_equal(version->slug, slug) || str_equal(version->template_id, slug)) &&
        version->state < TEMPLATE_DELETING)
        return 0;
    if (missing && missing->code != ERR_NOT_FOUND)
        return error_move(err, &missing);
    return error_set(err, ERR_NOT_FOUND, "This template has no such build.");
}

/* Check the steps of a build. A version whose base is not served can never be built, so it fails at
 * once. */
static int order_build(struct api *api, const json_t *body, const struct template_version *version,
                       struct template_order *order, json_t **recipe, struct error **err)
{
    autofree char *base = NULL;
    struct template_origin origin;
    if (e2b_build_origin(api, body, &base, &origin, err) == 0) {
        if (e2b_build_recipe(body, recipe, err) < 0)
            return -1;
        if (template_builds_order(api, &origin, *recipe, order, err) == 0)
            return 0;
    }
    error_auto ignored = NULL;
    if ((*err)->code == ERR_NOT_SERVED)
        recipe_give_up(api->worker.db, version->id, (*err)->message, &ignored);
    e2b_build_rename(*err);
    return -1;
}

struct starting {
    struct template_order order;
    const char *version_id;
};

static int start_body(struct db *db, void *context, struct error **err)
{
    struct starting *starting = context;
    return template_builds_begin(db, starting->version_id, &starting->order, err);
}

int e2b_builds_start(void *context, struct http_request *request, struct http_response *response,
                     struct error **err)
{
    struct api *api = context;
    struct template_version version;
    json_auto_t *recipe = NULL;
    if (find_build(api, request, &version, err) < 0)
        return -1;
    struct starting starting = {.version_id = version.id};
    int result = order_build(api, request->json, &version, &starting.order, &recipe, err);
    if (result == 0) {
        result = db_transaction(api->worker.db, start_body, &starting, err);
        if (result < 0 && (*err)->code == ERR_NOT_FOUND) /* the build has its steps already */
            error_recode(err, ERR_INVALID_REQUEST);
    }
    template_order_deinit(&starting.order);
    if (result < 0)
        return -1;
    notify_send(api->settings->api_socket, NOTIFY_BUILDS);
    response->status = 202;
    return 0;
}

/* --- progress --- */

/* Return the length of the time at the start of an entry. 0: the line continues an entry. */
static size_t time_length(const char *line)
{
    char time[CLOCK_ISO8601_SIZE];
    int64_t at_ms;
    size_t length = strcspn(line, " \n");
    if (line[length] != ' ' || length >= sizeof time)
        return 0;
    memcpy(time, line, length);
    time[length] = '\0';
    return clock_parse_iso8601(time, &at_ms) == 0 ? length : 0;
}

/* Return the length of the first entry of a log, without the end of its last line. An error may
 * have several lines. */
static size_t entry_length(const char *log)
{
    size_t length = strcspn(log, "\n");
    while (log[length] && log[length + 1] && !time_length(log + length + 1))
        length += 1 + strcspn(log + length + 1, "\n");
    return length;
}

/* Turn an entry of the log into JSON: its time, then its text. */
static json_t *entry_to_json(const char *entry, size_t length)
{
    static const char mark[] = "error: ";
    size_t time = time_length(entry), before = time + 1;
    if (!time)
        return NULL;
    bool is_error = str_starts_with(entry + before, mark);
    return json_pack("{s:s%, s:s, s:s%}", "timestamp", entry, time, "level",
                     is_error ? "error" : "info", "message", entry + before, length - before);
}

static json_t *read_log(const char *log)
{
    json_t *entries = json_array();
    while (*log) {
        size_t length = entry_length(log);
        json_t *entry = entry_to_json(log, length);
        if (entry)
            json_array_append_new(entries, entry);
        log += length + (log[length] == '\n');
    }
    return entries;
}

static int read_number(const struct http_request *request, const char *name, uint64_t least,
                       uint64_t *value, struct error **err)
{
    const char *text = http_query(request, name);
    if (!text || str_parse_u64(text, least, LOGS_MOST, value) == 0)
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, name, "%s must be a number from %llu to %d.",
                           name, (unsigned long long)least, LOGS_MOST);
}

/* Read the level. The log has two levels only. */
static int read_level(const struct http_request *request, bool *errors_alone, struct error **err)
{
    const char *level = http_query(request, "level");
    *errors_alone = level && (str_equal(level, "error") || str_equal(level, "warn"));
    if (!level || *errors_alone || str_equal(level, "info") || str_equal(level, "debug"))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "level",
                           "level must be debug, info, warn or error.");
}

static json_t *page_of(const json_t *entries, size_t from, size_t most, bool errors_alone)
{
    json_t *page = json_array();
    for (size_t i = from; i < json_array_size(entries) && json_array_size(page) < most; i++) {
        json_t *entry = json_array_get(entries, i);
        const char *level = json_string_value(json_object_get(entry, "level"));
        if (!errors_alone || str_equal(level, "error"))
            json_array_append(page, entry);
    }
    return page;
}

/* Return E2B's status. A version by steps is ready when its recipe is done: then the sandbox of
 * its steps counts no longer. */
static const char *status_of(const struct template_version *version,
                             const struct recipe_status *status, bool by_steps)
{
    if (by_steps && version->state == TEMPLATE_BUILDING && status->state == RECIPE_WAITING)
        return "waiting";
    if (by_steps && version->state == TEMPLATE_READY && status->state != RECIPE_DONE)
        return "building";
    return e2b_build_status(version->state);
}

/* Return the command of the step that failed, from its title in the build log. */
static const char *failed_command(const json_t *steps, const struct recipe_status *status)
{
    static const char run[] = "run ";
    size_t at;
    json_t *step;
    json_array_foreach ((json_t *)(uintptr_t)steps, at, step) {
        const char *title = json_string_value(json_object_get(step, "title"));
        if (title &&
            str_equal(json_string_value(json_object_get(step, "name")), status->failed_step))
            return str_starts_with(title, run) ? title + strlen(run) : title;
    }
    return "";
}

/* Return the reason of a failed build. Programs compare E2B's sentence about a user of RUN who does
 * not exist. */
static char *read_failure(const json_t *steps, const struct recipe_status *status)
{
    if (status->code == RECIPE_NO_USER)
        return xasprintf("failed to run command '%s': command failed: unauthenticated: "
                         "invalid username: '%s'",
                         failed_command(steps, status), status->no_user);
    return xstrdup(*status->failure
                       ? status->failure
                       : "The template could not be built; the build's log has the reason.");
}

static void add_reason(const json_t *steps, const struct recipe_status *status, json_t *json)
{
    autofree char *message = read_failure(steps, status);
    json_t *reason = json_pack("{s:s, s:[]}", "message", message, "logEntries");
    if (*status->failed_step)
        json_object_set_new(reason, "step", json_string(status->failed_step));
    json_object_set_new(json, "reason", reason);
}

int e2b_builds_status(void *context, struct http_request *request, struct http_response *response,
                      struct error **err)
{
    struct api *api = context;
    struct template_version version;
    struct recipe_status status;
    autofree char *log = NULL;
    json_auto_t *steps = NULL;
    uint64_t offset = 0, limit = LOGS_MOST;
    bool by_steps, errors_alone;
    if (find_build(api, request, &version, err) < 0 ||
        read_number(request, "logsOffset", 0, &offset, err) < 0 ||
        read_number(request, "limit", 0, &limit, err) < 0 ||
        read_level(request, &errors_alone, err) < 0 ||
        recipe_status_get(api->worker.db, version.id, &status, &by_steps, err) < 0 ||
        recipe_steps_read(api->worker.db, &version, &steps, err) < 0 ||
        template_version_log(api->worker.db, version.id, &log, err) < 0)
        return -1;
    json_auto_t *entries = read_log(log);
    json_t *json = json_pack("{s:s, s:o, s:s, s:o, s:[]}", "templateID", version.slug, "buildID",
                             e2b_build_id(version.id), "status",
                             status_of(&version, &status, by_steps), "logEntries",
                             page_of(entries, (size_t)offset, (size_t)limit, errors_alone), "logs");
    if (version.state == TEMPLATE_FAILED)
        add_reason(steps, &status, json);
    return http_response_json(response, 200, json);
}

static int is_backward(const struct http_request *request, bool *backward, struct error **err)
{
    const char *direction = http_query(request, "direction");
    *backward = direction && str_equal(direction, "backward");
    if (!direction || *backward || str_equal(direction, "forward"))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, "direction",
                           "direction must be forward or backward.");
}

static int64_t time_of(const json_t *entry)
{
    int64_t at_ms = 0;
    const char *text = json_string_value(json_object_get(entry, "timestamp"));
    return text && clock_parse_iso8601(text, &at_ms) == 0 ? at_ms : 0;
}

/* Select the entries from a time on, or backward from it. */
static json_t *turn(const json_t *entries, bool backward, int64_t cursor_ms)
{
    json_t *turned = json_array();
    size_t count = json_array_size(entries);
    for (size_t i = 0; i < count; i++) {
        json_t *entry = json_array_get(entries, backward ? count - 1 - i : i);
        int64_t at_ms = time_of(entry);
        if (!cursor_ms || (backward ? at_ms <= cursor_ms : at_ms >= cursor_ms))
            json_array_append(turned, entry);
    }
    return turned;
}

int e2b_builds_logs(void *context, struct http_request *request, struct http_response *response,
                    struct error **err)
{
    struct api *api = context;
    struct template_version version;
    autofree char *log = NULL;
    const char *cursor = http_query(request, "cursor");
    uint64_t limit = 100, cursor_ms = 0;
    bool errors_alone, backward;
    if (find_build(api, request, &version, err) < 0 ||
        read_number(request, "limit", 0, &limit, err) < 0 ||
        read_level(request, &errors_alone, err) < 0 || is_backward(request, &backward, err) < 0 ||
        template_version_log(api->worker.db, version.id, &log, err) < 0)
        return -1;
    if (cursor && str_parse_u64(cursor, 0, INT64_MAX, &cursor_ms) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "cursor",
                               "cursor must be a time in milliseconds since 1970.");
    json_auto_t *entries = read_log(log);
    json_auto_t *turned = turn(entries, backward, (int64_t)cursor_ms);
    return http_response_json(
        response, 200, json_pack("{s:o}", "logs", page_of(turned, 0, (size_t)limit, errors_alone)));
}

/* --- a template and its builds --- */

static json_t *build_to_json(const struct template_version *version)
{
    json_t *json = json_pack(
        "{s:o, s:s, s:o, s:o, s:I, s:I}", "buildID", e2b_build_id(version->id), "status",
        e2b_build_status(version->state), "createdAt", time_to_json(version->created_at_ms),
        "updatedAt",
        time_to_json(version->finished_at_ms ? version->finished_at_ms : version->created_at_ms),
        "cpuCount", (json_int_t)version->cpu, "memoryMB", (json_int_t)version->memory_mb);
    if (version->finished_at_ms)
        json_object_set_new(json, "finishedAt", time_to_json(version->finished_at_ms));
    return json;
}

static int read_page(const struct http_request *request, uint64_t *limit, uint64_t *before,
                     struct error **err)
{
    const char *token = http_query(request, "nextToken");
    const char *given = http_query(request, "limit");
    if (given && str_parse_u64(given, 1, BUILDS_MOST, limit) < 0)
        return error_set_field(err, ERR_INVALID_REQUEST, "limit",
                               "limit must be a number from 1 to %d.", BUILDS_MOST);
    if (token && str_parse_u64(token, 1, UINT32_MAX, before) < 0)
        return error_set_field(err, ERR_INVALID_NEXT_TOKEN, "nextToken",
                               "This token does not belong to this list.");
    return 0;
}

int e2b_templates_show(void *context, struct http_request *request, struct http_response *response,
                       struct error **err)
{
    struct api *api = context;
    template_view_auto view = {0};
    uint64_t limit = BUILDS_MOST, before = (uint64_t)UINT32_MAX + 1;
    autofree struct template_use *uses = NULL;
    unsigned at, use_count = 0;
    if (read_page(request, &limit, &before, err) < 0 ||
        e2b_template_find(api, request->captures[0], &view, &at, err) < 0)
        return -1;
    const struct template_version *newest = &view.versions[at], *last = NULL;
    /* Other teams do not see how often a team uses its template. */
    if (principal_reaches(&api->principal, newest->owner) &&
        template_uses_list(api->worker.db, newest->owner, &uses, &use_count, err) < 0)
        return -1;
    struct template_use use = template_use_of(uses, use_count, newest->template_id);
    json_t *builds = json_array();
    for (unsigned i = at; i < view.count && template_view_same(&view, i, at); i++) {
        if (view.versions[i].version >= before)
            continue;
        if (json_array_size(builds) == limit) {
            http_response_header(response, "X-Next-Token", "%u", last->version);
            break;
        }
        last = &view.versions[i];
        json_array_append_new(builds, build_to_json(last));
    }
    autofree char *name = xasprintf("%s/%s", newest->team_slug, newest->slug);
    bool is_public = newest->is_public || template_is_deployments(newest);
    return http_response_json(
        response, 200,
        json_pack("{s:s, s:b, s:[s], s:[s], s:o, s:o, s:o, s:I, s:o}", "templateID", newest->slug,
                  "public", (int)is_public, "aliases", newest->slug, "names", name, "createdAt",
                  time_to_json(newest->template_created_at_ms), "updatedAt",
                  time_to_json(newest->created_at_ms), "lastSpawnedAt", e2b_last_use_to_json(&use),
                  "spawnCount", (json_int_t)use.sandboxes, "builds", builds));
}
