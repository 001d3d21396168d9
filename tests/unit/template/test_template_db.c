/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "template/template_row.h"
#include "template/template_tag.h"
#include "unit/fleet.h"
#include "unit/schema.h"

static struct team acme, other;

static int set_up(void **state)
{
    struct error *err = NULL;
    struct user user;
    if (schema_setup(state) < 0)
        return -1;
    return user_create(db, "alice", &user, &err) < 0 ||
           team_create(db, "acme", "pro", "alice", &acme, &err) < 0 ||
           team_create(db, "other", "pro", "alice", &other, &err) < 0;
}

static struct template_version add(const char *owner, const char *slug, bool ready)
{
    struct error *err = NULL;
    struct template_version version;
    assert_ok(template_version_add(db, owner, slug, "image", 2, 1024, false, &version, &err));
    assert_ok(template_version_finish(db, version.id, ready, false, "f00d", &err));
    return version;
}

static void assert_resolves(const char *team_id, const char *reference, const char *version_id)
{
    struct error *err = NULL;
    struct template_version version;
    assert_ok(template_resolve(db, team_id, reference, "/template", &version, &err));
    assert_string_equal(version.id, version_id);
}

static void assert_unknown(const char *team_id, const char *reference)
{
    struct error *err = NULL;
    struct template_version version;
    assert_fails(template_resolve(db, team_id, reference, "/template", &version, &err),
                 ERR_TEMPLATE_NOT_FOUND);
    assert_string_equal(err->field, "/template");
    error_clear(&err);
}

TEST(versions_are_numbered)
{
    struct error *err = NULL;
    struct template_version stored, first = add(TEAM_DEPLOYMENT_ID, "numbered", true);
    struct template_version second = add(TEAM_DEPLOYMENT_ID, "numbered", true),
                            elsewhere = add(acme.id, "numbered", true);
    assert_int_equal(first.version, 1);
    assert_int_equal(second.version, 2);
    assert_string_equal(second.template_id, first.template_id);
    assert_int_equal(elsewhere.version, 1);
    assert_string_not_equal(elsewhere.template_id, first.template_id);
    assert_ok(template_version_get(db, second.id, &stored, &err));
    assert_int_equal(stored.state, TEMPLATE_READY);
    assert_string_equal(stored.fingerprint, "f00d");
    assert_string_equal(stored.image, "image");
    assert_int_equal(stored.cpu, 2);
    assert_int_equal(stored.memory_mb, 1024);
    assert_fails_saying(template_version_get(db, "tpv_none", &stored, &err), ERR_NOT_FOUND,
                        "version");
}

TEST(a_slug_means_the_newest_ready_version)
{
    struct error *err = NULL;
    struct template_version building;
    assert_unknown(acme.id, "python");
    assert_ok(template_version_add(db, TEAM_DEPLOYMENT_ID, "python", "image", 1, 512, false,
                                   &building, &err));
    assert_unknown(acme.id, "python");
    assert_unknown(acme.id, "python:1");
    assert_unknown(acme.id, building.id);
    assert_ok(template_version_finish(db, building.id, true, false, "f00d", &err));
    assert_resolves(acme.id, "python", building.id);
    struct template_version second = add(TEAM_DEPLOYMENT_ID, "python", true);
    add(TEAM_DEPLOYMENT_ID, "python", false);
    assert_resolves(acme.id, "python", second.id);
    assert_resolves(TEAM_DEPLOYMENT_ID, "python", second.id);
    assert_resolves(acme.id, "python:1", building.id);
    assert_unknown(acme.id, "python:3");
    assert_unknown(acme.id, "python:4");
}

TEST(ids_pin_templates_and_versions)
{
    struct template_version first = add(TEAM_DEPLOYMENT_ID, "pinned", true),
                            second = add(TEAM_DEPLOYMENT_ID, "pinned", true);
    struct template_version stranger = add(TEAM_DEPLOYMENT_ID, "stranger", true);
    char reference[80];
    assert_resolves(acme.id, first.template_id, second.id);
    assert_resolves(acme.id, first.id, first.id);
    snprintf(reference, sizeof reference, "pinned:%s", first.id);
    assert_resolves(acme.id, reference, first.id);
    snprintf(reference, sizeof reference, "pinned:%s", stranger.id);
    assert_unknown(acme.id, reference);
    assert_unknown(acme.id, "not a template");
}

TEST(an_own_template_hides_the_deployments)
{
    struct template_version general = add(TEAM_DEPLOYMENT_ID, "node", true);
    assert_resolves(acme.id, "node", general.id);
    struct template_version failed = add(acme.id, "node", false);
    /* Also while it has nothing to run: another thing under the same name would surprise. */
    assert_unknown(acme.id, "node");
    struct template_version own = add(acme.id, "node", true);
    assert_resolves(acme.id, "node", own.id);
    assert_resolves(acme.id, "node:2", own.id);
    assert_unknown(acme.id, "node:1");
    assert_resolves(other.id, "node", general.id);
    assert_resolves(TEAM_DEPLOYMENT_ID, "node", general.id);
    assert_resolves(acme.id, general.id, general.id);
    /* What another team owns does not exist. */
    assert_unknown(other.id, own.id);
    assert_unknown(other.id, own.template_id);
    assert_unknown(TEAM_DEPLOYMENT_ID, own.id);
    assert_string_equal(failed.template_id, own.template_id);
}

static void assign(const struct template_version *version, const char *tag)
{
    struct error *err = NULL;
    assert_ok(template_tags_assign(db, version->template_id, version->id, &tag, 1, "tag", &err));
}

TEST(wanted_tags_come_with_the_ready_version)
{
    struct error *err = NULL;
    const char *const moved = "stable";
    char many[TEMPLATE_TAGS_MAX - 2][8];
    const char *others[TEMPLATE_TAGS_MAX - 2];
    json_auto_t *tags = json_pack("[s, s, s]", moved, "new", "beyond");
    unsigned left_out;
    struct template_version first = add(acme.id, "wanted", true),
                            second = add(acme.id, "wanted", true);
    for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
        snprintf(many[i], sizeof many[i], "t%u", i);
        others[i] = many[i];
    }
    assert_ok(template_tags_assign(db, first.template_id, first.id, others, ARRAY_SIZE(others),
                                   "tag", &err));
    assign(&first, moved);
    assert_ok(template_tags_assign_wanted(db, second.template_id, second.id, &left_out, &err));
    assert_resolves(acme.id, "wanted:stable", first.id);
    assert_ok(template_tags_want(db, second.id, tags, &err));
    assert_ok(template_tags_assign_wanted(db, second.template_id, second.id, &left_out, &err));
    assert_int_equal(left_out, 1);
    assert_resolves(acme.id, "wanted:stable", second.id);
    assert_resolves(acme.id, "wanted:new", second.id);
    assert_unknown(acme.id, "wanted:beyond");
}

static int log_line(struct db *database, void *context, struct error **err)
{
    return template_row_log(database, context, "a tag is left out", err);
}

/* The transaction in which a version becomes ready says which tags are left out. */
TEST(a_transaction_can_add_to_the_log)
{
    struct error *err = NULL;
    autofree char *log = NULL;
    struct template_version version = add(acme.id, "logged", true);
    assert_ok(db_transaction(db, log_line, version.id, &err));
    assert_ok(template_row_log(db, version.id, "alone", &err));
    assert_ok(template_version_log(db, version.id, &log, &err));
    const char *first = strstr(log, " a tag is left out\n"), *second = strstr(log, " alone\n");
    assert_true(first && second && first < second);
}

TEST(tags_point_to_versions)
{
    struct error *err = NULL;
    const char *const both[] = {"stable", "old"}, *const invalid = "Old", *const gone = "gone";
    autofree struct template_tag *tags = NULL;
    unsigned count;
    struct template_version first = add(acme.id, "tagged", true),
                            second = add(acme.id, "tagged", true),
                            failed = add(acme.id, "tagged", false);
    assert_unknown(acme.id, "tagged:stable");
    assert_ok(template_tags_assign(db, first.template_id, first.id, both, 2, "tag", &err));
    assert_resolves(acme.id, "tagged:stable", first.id);
    assign(&second, "stable");
    assert_resolves(acme.id, "tagged:stable", second.id);
    assert_resolves(acme.id, "tagged:old", first.id);
    assert_ok(template_tags_list(db, first.template_id, &tags, &count, &err));
    assert_int_equal(count, 2);
    assert_string_equal(tags[0].tag, "old");
    assert_int_equal(tags[0].version, 1);
    assert_string_equal(tags[1].version_id, second.id);
    assert_fails_saying(
        template_tags_assign(db, first.template_id, failed.id, both, 1, "tag", &err),
        ERR_INVALID_REQUEST, "ready");
    assert_fails_saying(
        template_tags_assign(db, first.template_id, first.id, &invalid, 1, "tag", &err),
        ERR_INVALID_REQUEST, "lower-case");
    assert_fails_saying(template_tags_remove(db, first.template_id, &gone, 1, &err), ERR_NOT_FOUND,
                        "gone");
    assert_ok(template_version_delete(db, second.id, &err));
    assert_unknown(acme.id, "tagged:stable");
    assert_ok(template_tags_remove(db, first.template_id, both + 1, 1, &err));
    assert_unknown(acme.id, "tagged:old");
}

static void follows_the_newest_until_it_is_assigned(const char *slug, const char *tag,
                                                    const char *another)
{
    struct error *err = NULL;
    struct template_version first = add(acme.id, slug, true), second = add(acme.id, slug, true);
    autofree char *tagged = xasprintf("%s:%s", slug, tag),
                  *otherwise = xasprintf("%s:%s", slug, another);
    assert_resolves(acme.id, tagged, second.id);
    assert_resolves(acme.id, otherwise, second.id);
    assign(&first, tag);
    assert_resolves(acme.id, tagged, first.id);
    assert_resolves(acme.id, otherwise, second.id);
    /* The slug alone, and the template's id, mean the tag default. */
    const char *meant = !strcmp(tag, TEMPLATE_TAG_DEFAULT) ? first.id : second.id;
    assert_resolves(acme.id, slug, meant);
    assert_resolves(acme.id, first.template_id, meant);
    assert_ok(template_tags_remove(db, first.template_id, &tag, 1, &err));
    assert_resolves(acme.id, tagged, second.id);
    assert_resolves(acme.id, slug, second.id);
}

TEST(default_and_latest_follow_the_newest_until_they_are_assigned)
{
    follows_the_newest_until_it_is_assigned("rolled", "default", "latest");
    follows_the_newest_until_it_is_assigned("led", "latest", "default");
}

TEST(a_number_that_is_a_tag_means_the_tag)
{
    struct error *err = NULL;
    const char *const tag = "1";
    struct template_version first = add(acme.id, "counted", true),
                            second = add(acme.id, "counted", true);
    assert_resolves(acme.id, "counted:1", first.id);
    assign(&second, tag);
    assert_resolves(acme.id, "counted:1", second.id);
    assert_resolves(acme.id, "counted:2", second.id);
    assert_unknown(acme.id, "counted:3");
    assert_ok(template_tags_remove(db, first.template_id, &tag, 1, &err));
    assert_resolves(acme.id, "counted:1", first.id);
}

TEST(only_plain_tags_are_for_the_interface)
{
    char long_tag[TEMPLATE_TAG_MAX + 1] = "";
    memset(long_tag, 'a', TEMPLATE_TAG_PLAIN_MAX + 1);
    const char *const plain[] = {"a", "1.0", "v1", "default"};
    const char *const others[] = {"latest", "1", long_tag};
    for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
        struct error *err = NULL;
        assert_ok(template_tag_check_plain(plain[i], "tag", &err));
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        struct error *err = NULL;
        assert_true(template_tag_is_valid(others[i]));
        assert_fails(template_tag_check_plain(others[i], "tag", &err), ERR_INVALID_REQUEST);
    }
}

TEST(a_template_has_so_many_tags)
{
    struct error *err = NULL;
    char tag[16];
    const char *names = tag;
    struct template_version version = add(acme.id, "full", true);
    for (unsigned i = 0; i < TEMPLATE_TAGS_MAX; i++) {
        snprintf(tag, sizeof tag, "t%u", i);
        assign(&version, tag);
    }
    assign(&version, tag);
    snprintf(tag, sizeof tag, "one-more");
    assert_fails_saying(
        template_tags_assign(db, version.template_id, version.id, &names, 1, "tag", &err),
        ERR_INVALID_REQUEST, "at most");
    assert_unknown(acme.id, "full:one-more");
}

TEST(names_with_a_team)
{
    struct error *err = NULL;
    struct template_version general = add(TEAM_DEPLOYMENT_ID, "named", true),
                            own = add(acme.id, "named", true);
    autofree struct template_version *seen = NULL;
    unsigned count;
    assert_resolves(acme.id, "named", own.id);
    assert_resolves(acme.id, "acme/named", own.id);
    assert_resolves(acme.id, "deployment/named", general.id);
    assert_resolves(other.id, "deployment/named:1", general.id);
    assert_unknown(other.id, "acme/named");
    assert_unknown(other.id, own.id);
    assert_ok(template_set_public(db, own.template_id, true, &err));
    assert_resolves(other.id, "acme/named", own.id);
    assert_resolves(other.id, "acme/named:1", own.id);
    assert_resolves(other.id, own.id, own.id);
    assert_resolves(other.id, own.template_id, own.id);
    /* A slug alone never means what another team publishes. */
    assert_resolves(other.id, "named", general.id);
    assert_unknown(other.id, "other/named");
    assert_ok(template_version_list_named(db, other.id, "acme", "named", &seen, &count, &err));
    assert_int_equal(count, 1);
    assert_true(seen[0].is_public);
    assert_ok(template_set_public(db, own.template_id, false, &err));
    assert_unknown(other.id, "acme/named");
}

static unsigned count_listed(const char *team_id, const char *slug)
{
    struct error *err = NULL;
    autofree struct template_version *seen = NULL;
    unsigned count, found = 0;
    assert_ok(template_version_list(db, team_id, &seen, &count, &err));
    for (unsigned i = 0; i < count; i++)
        found += !strcmp(seen[i].slug, slug);
    return found;
}

static unsigned count_named(const char *team_id, const char *team_slug, const char *slug)
{
    struct error *err = NULL;
    autofree struct template_version *seen = NULL;
    unsigned count;
    assert_ok(template_version_list_named(db, team_id, team_slug, slug, &seen, &count, &err));
    return count;
}

TEST(only_the_owner_sees_failed_versions)
{
    struct error *err = NULL;
    struct template_version version, own = add(acme.id, "shaky", true);
    add(acme.id, "shaky", false);
    assert_ok(template_set_public(db, own.template_id, true, &err));
    assert_int_equal(count_named(acme.id, "acme", "shaky"), 2);
    assert_int_equal(count_named(other.id, "acme", "shaky"), 1);
    assert_int_equal(count_listed(acme.id, "shaky"), 2);
    add(TEAM_DEPLOYMENT_ID, "broken", false);
    assert_int_equal(count_listed(acme.id, "broken"), 0);
    assert_int_equal(count_named(acme.id, "deployment", "broken"), 0);
    assert_int_equal(count_listed(TEAM_DEPLOYMENT_ID, "broken"), 1);
    assert_int_equal(count_listed(NULL, "broken"), 1);
    assert_fails_saying(
        template_resolve(db, TEAM_DEPLOYMENT_ID, "broken", "/template", &version, &err),
        ERR_TEMPLATE_NOT_FOUND, "1 is failed");
    assert_fails_saying(template_resolve(db, acme.id, "broken", "/template", &version, &err),
                        ERR_TEMPLATE_NOT_FOUND, "has a template");
}

TEST(a_version_is_finished_once)
{
    struct error *err = NULL;
    struct template_version version = add(TEAM_DEPLOYMENT_ID, "once", true);
    assert_fails_saying(template_version_finish(db, version.id, false, false, "", &err),
                        ERR_NOT_FOUND, "built");
    assert_resolves(TEAM_DEPLOYMENT_ID, "once", version.id);
}

TEST(lists_what_a_team_sees)
{
    struct error *err = NULL;
    struct template_version *versions;
    unsigned count, all;
    struct template_version hidden = add(other.id, "zebra", true), own = add(acme.id, "zz", true);
    struct template_version newest = add(acme.id, "zz", true);
    assert_ok(template_version_list(db, acme.id, &versions, &count, &err));
    assert_true(count >= 2);
    assert_string_equal(versions[count - 2].id, newest.id);
    assert_string_equal(versions[count - 1].id, own.id);
    assert_string_equal(versions[count - 1].owner, acme.id);
    for (unsigned i = 0; i < count; i++)
        assert_string_not_equal(versions[i].id, hidden.id);
    free(versions);
    assert_ok(template_version_list(db, NULL, &versions, &all, &err));
    assert_true(all > count);
    free(versions);
}

TEST(bad_requests_name_their_field)
{
    struct error *err = NULL;
    struct template_version version;
    char long_image[257];
    memset(long_image, 'i', 256);
    long_image[256] = '\0';
    const struct {
        const char *slug, *image;
        uint32_t cpu, memory_mb;
        const char *field;
    } bad[] = {
        {"Slug", "image", 1, 512, "slug"},    {"slug", "", 1, 512, "image"},
        {"slug", "im age", 1, 512, "image"},  {"slug", long_image, 1, 512, "image"},
        {"slug", "image", 0, 512, "cpu"},     {"slug", "image", 1025, 512, "cpu"},
        {"slug", "image", 1, 0, "memory_mb"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_fails(template_version_add(db, TEAM_DEPLOYMENT_ID, bad[i].slug, bad[i].image,
                                          bad[i].cpu, bad[i].memory_mb, false, &version, &err),
                     ERR_INVALID_REQUEST);
        assert_string_equal(err->field, bad[i].field);
        error_clear(&err);
    }
}

static bool is_missing(uint32_t host_id, const char *version_id)
{
    struct error *err = NULL;
    autofree struct template_version *versions = NULL;
    unsigned count;
    assert_ok(template_missing_sources(db, host_id, &versions, &count, &err));
    for (unsigned i = 0; i < count; i++)
        if (!strcmp(versions[i].id, version_id))
            return true;
    return false;
}

TEST(knows_which_sources_a_host_lacks)
{
    struct error *err = NULL;
    struct host host = {UNIT_HOST, .name = "h", .address_range = "10.1.0.0/29", .vcpus = 1,
                        .memory_mb = 64};
    assert_ok(host_put(db, &host, &err));
    struct template_version ready = add(TEAM_DEPLOYMENT_ID, "sources", true),
                            failed = add(TEAM_DEPLOYMENT_ID, "sources", false);
    char name[64];
    assert_true(is_missing(host.id, ready.id));
    assert_false(is_missing(host.id, failed.id));
    runtime_source_name(ready.id, name);
    assert_ok(template_source_add(db, ready.id, host.id, name, &err));
    assert_ok(template_source_add(db, ready.id, host.id, name, &err));
    assert_false(is_missing(host.id, ready.id));
}

LIST_TEST(every_statement_can_be_prepared, NULL, NULL)

TEST_GROUP(set_up, schema_teardown)
