/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every table and every worker pool has a row in bounds.def, the rows name existing things, and the
 * page of the documentation is what `sandlotctl limits --markdown` prints. */
#include "unit/unit.h"

#include <dirent.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"
#include "bound/bound.h"

#define FILE_MAX  (8u << 20)
#define NAMES_MAX 256

#define REQUIRED                              \
    "base_url = https://api.example.com\n"    \
    "data_plane_host = sandbox.example.com\n" \
    "key_file = /etc/sandlot/keyring\n"

static const char *source;
static struct settings *settings;

static char *read_file(const char *path)
{
    struct buffer text = BUFFER_INIT(FILE_MAX);
    char part[8192];
    size_t size;
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    while ((size = fread(part, 1, sizeof part, file)) > 0)
        buffer_append(&text, part, size);
    fclose(file);
    buffer_append_string(&text, "");
    return buffer_steal(&text);
}

static char *read_source(const char *path)
{
    autofree char *full = xasprintf("%s/%s", source, path);
    char *text = read_file(full);
    if (!text)
        fail_msg("cannot read %s", full);
    return text;
}

static int set_up(void **state)
{
    struct error *err = NULL;
    char path[] = "/tmp/sandlot-bounds-XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    source = getenv("SANDLOT_SOURCE_DIR");
    source = source ? source : ".";
    if (!file)
        return -1;
    fputs(REQUIRED, file);
    fclose(file);
    int result = settings_load(path, &settings, &err);
    unlink(path);
    return result;
}

static int tear_down(void **state)
{
    settings_free(settings);
    return 0;
}

/* --- names that the table covers --- */

struct names {
    char *list[NAMES_MAX];
    size_t count;
};

static void names_add(struct names *names, const char *text, size_t length)
{
    assert_true(names->count < NAMES_MAX);
    names->list[names->count++] = xstrndup(text, length);
}

static bool names_have(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (str_equal(names->list[i], name))
            return true;
    return false;
}

static void names_free(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->list[i]);
    names->count = 0;
}

/* The names that rows of a kind cover; no name twice. */
static void read_covered(enum bound_kind kind, struct names *names)
{
    for (size_t i = 0; i < bound_count; i++) {
        const char *at = bounds[i].covers;
        if (bounds[i].kind != kind)
            continue;
        for (size_t length; *(at += strspn(at, " ")); at += length) {
            length = strcspn(at, " ");
            names_add(names, at, length);
            const char *last = names->list[--names->count];
            if (names_have(names, last))
                fail_msg("bounds.def covers %s twice", last);
            names->count++;
        }
    }
}

static void compare(enum bound_kind kind, const struct names *known)
{
    struct names covered = {.count = 0};
    read_covered(kind, &covered);
    for (size_t i = 0; i < known->count; i++)
        if (!names_have(&covered, known->list[i]))
            fail_msg("%s has no row in bounds.def", known->list[i]);
    for (size_t i = 0; i < covered.count; i++)
        if (!names_have(known, covered.list[i]))
            fail_msg("bounds.def has a row for %s, which does not exist", covered.list[i]);
    names_free(&covered);
}

static void read_tables(const char *path, struct names *tables)
{
    static const char begin[] = "\nCREATE TABLE ";
    autofree char *text = read_source(path);
    for (const char *at = text; (at = strstr(at, begin));) {
        at += sizeof begin - 1;
        names_add(tables, at, strcspn(at, " ("));
    }
}

TEST(every_table_has_a_row)
{
    struct names tables = {.count = 0};
    autofree char *folder = xasprintf("%s/sql", source);
    DIR *files = opendir(folder);
    assert_non_null(files);
    for (const struct dirent *file; (file = readdir(files));) {
        autofree char *path = xasprintf("sql/%s", file->d_name);
        if (str_ends_with(path, ".sql"))
            read_tables(path, &tables);
    }
    closedir(files);
    assert_true(tables.count > 50);
    compare(BOUND_TABLE, &tables);
    names_free(&tables);
}

/* Sockets below /run, by their settings, and the processes of a dispatcher. */
static void read_pools(struct names *pools)
{
    static const char ending[] = "_socket";
    static const struct {
        const char *name, *fallback;
    } strings[] = {
#define SETTING_STRING(name, fallback, check, prose) {#name, fallback},
#define SETTING_NUMBER(name, fallback, min, max, unit, prose)
#define SETTING_CHOICE(name, fallback, choices, prose)
#include "config/settings.def"
#undef SETTING_STRING
#undef SETTING_NUMBER
#undef SETTING_CHOICE
    };
    for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
        if (str_ends_with(strings[i].name, ending) && strings[i].fallback && *strings[i].fallback)
            names_add(pools, strings[i].name, strlen(strings[i].name) - (sizeof ending - 1));
    autofree char *header = read_source("fcgi/front/dispatcher/jobs.h");
    const char *end = strstr(header, "PROCESS_COUNT\n");
    assert_non_null(end);
    for (const char *at = header; (at = strstr(at, "    PROCESS_")) && at < end;) {
        at += strspn(at, " ");
        size_t length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
        if (at != end)
            names_add(pools, at, length);
        at += length;
    }
}

TEST(every_worker_pool_has_a_row)
{
    struct names pools = {.count = 0};
    read_pools(&pools);
    assert_true(names_have(&pools, "records") && names_have(&pools, "PROCESS_WEBHOOKS"));
    compare(BOUND_POOL, &pools);
    names_free(&pools);
}

/* --- texts of rows --- */

static void check_text(const struct bound *bound, const char *text)
{
    for (const char *at = text; (at = strchr(at, '$'));) {
        size_t length = strspn(++at, "abcdefghijklmnopqrstuvwxyz0123456789_");
        autofree char *name = xstrndup(at, length);
        autofree char *value = settings_get(settings, name);
        if (!value)
            fail_msg("%s: no setting is called %s", bound->name, name);
    }
    if (strchr(text, '|') || strstr(text, "_MAX"))
        fail_msg("%s: \"%s\" has an unknown number or a bar", bound->name, text);
}

TEST(rows_name_settings_and_bounds)
{
    for (size_t i = 0; i < bound_count; i++) {
        const struct bound *bound = &bounds[i];
        assert_true(*bound->name);
        check_text(bound, bound->per_user);
        check_text(bound, bound->per_team);
        check_text(bound, bound->in_all);
        check_text(bound, bound->at_bound);
        if (!*bound->per_user && !*bound->per_team && !*bound->in_all)
            fail_msg("%s: the row names no bound", bound->name);
        if (!*bound->covers && (bound->kind == BOUND_TABLE || bound->kind == BOUND_POOL))
            fail_msg("%s: the row covers nothing", bound->name);
    }
}

/* Whether the text defines a test of this name: TEST(name) or TEST_WITH(name, in C, def name( in
 * Python. */
static bool defines(const char *text, const char *name)
{
    autofree char *alone = xasprintf("\nTEST(%s)\n", name);
    autofree char *with_fixture = xasprintf("\nTEST_WITH(%s, ", name);
    autofree char *python = xasprintf("def %s(", name);
    return strstr(text, alone) || strstr(text, with_fixture) || strstr(text, python);
}

TEST(each_row_names_a_test)
{
    for (size_t i = 0; i < bound_count; i++) {
        const char *test = bounds[i].test, *colons = strstr(test, "::");
        if (!colons)
            fail_msg("%s: the row names no test", bounds[i].name);
        autofree char *path = xasprintf("%s/tests/%.*s", source, (int)(colons - test), test);
        autofree char *text = read_file(path);
        if (!text || !defines(text, colons + 2))
            fail_msg("%s: there is no test %s", bounds[i].name, test);
    }
}

TEST(settings_are_shown_with_unit_and_name)
{
    buffer_auto text = BUFFER_INIT(FILE_MAX);
    bound_append("up to $pool_wait_ms, of $sandbox_ports_max", settings, "`", &text);
    assert_string_equal(buffer_string(&text),
                        "up to 20000 ms (`pool_wait_ms`), of 100 (`sandbox_ports_max`)");
}

TEST(the_page_is_the_one_in_the_tree)
{
    char *printed = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    assert_non_null(out);
    bound_print_page(settings, out);
    fclose(out);
    autofree char *page = read_source("doc/reference/shared-bounds.md");
    assert_string_equal(page, printed);
    free(printed);
}

/* The row of a pool of workers names their number. */
TEST(rows_name_the_workers_of_their_pools)
{
    static const struct {
        const char *name, *workers;
    } pools[] = {
#define POOL(name, program, workers, ...) {#name, #workers " workers (SANDLOT_"},
#include "config/pools.def"
#undef POOL
    };
    for (size_t i = 0; i < ARRAY_SIZE(pools); i++) {
        const struct bound *row = NULL;
        for (size_t j = 0; j < bound_count; j++)
            if (bounds[j].kind == BOUND_POOL && str_equal(bounds[j].covers, pools[i].name))
                row = &bounds[j];
        if (!row || !str_starts_with(row->in_all, pools[i].workers))
            fail_msg("the row of %s in bounds.def does not begin with %s", pools[i].name,
                     pools[i].workers);
    }
}

TEST_GROUP(set_up, tear_down)
