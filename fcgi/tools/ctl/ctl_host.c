/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/output.h"
#include "ctl/source_build.h"
#include "host/host.h"
#include "host/host_check.h"
#include "incus/incus.h"
#include "sandbox/sandbox_lost.h"
#include "sandbox/sandbox_row.h"
#include "template/warm.h"

#define CERTIFICATE_FILE_MAX 65536
/* Most sandboxes write little of their quota; the guard of the storage pool protects the space that
 * was promised twice. */
#define DISK_OVERCOMMIT   20
#define MEMORY_OVERCOMMIT 100
/* A restart of Incus, a reboot and most faults of a network take less. */
#define LOST_AFTER_MIN 15
#define MINUTE_MS      (60 * (int64_t)1000)

static json_t *gb_of(uint64_t mb)
{
    return json_integer((json_int_t)(mb >> 10));
}

static json_t *host_json(const struct host *host)
{
    int64_t since_ms;
    const char *condition = host_condition_name(&host->condition, &since_ms);
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:s, s:s?, s:s?, s:s, s:s, s:s, s:s?, s:s, s:s, s:I, s:I}", "name",
        host->name, "state", host_state_names[host->state], "condition", condition, "since",
        time_to_json(since_ms), "url", host->url, "firewall", host->firewall_url, "relay",
        host->relay_url, "project", host->project, "pool", host->pool, "range", host->address_range,
        "network", *host->network ? host->network : NULL, "nic_prefix", host->nic_prefix,
        "architecture", host->architecture, "vcpus", (json_int_t)host->vcpus, "memory_mb",
        (json_int_t)host->memory_mb);
}

static int read_certificate(const char *path, char **pem, struct error **err)
{
    char text[CERTIFICATE_FILE_MAX];
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    size_t size = fread(text, 1, sizeof text, file);
    if (ferror(file) || size == sizeof text)
        return error_set(err, ERR_CONFIG, "%s is not a certificate file", path);
    *pem = xstrndup(text, size);
    return 0;
}

/* A value for a field of fixed size; host_check() also refuses longer values. */
static int take(char *field, size_t size, const char *value, const char *option, struct error **err)
{
    if (strlen(value) >= size)
        return error_set_field(err, ERR_INVALID_REQUEST, option, "This value is too long.");
    memcpy(field, value, strlen(value) + 1);
    return 0;
}

/* Return the value of an option, or the one that the host has; NULL: none. */
static const char *text_or(const struct ctl_arguments *arguments, const char *option,
                           const char *known)
{
    const char *text = ctl_text(arguments, option);
    if (!text)
        return known;
    return str_equal(text, "none") ? NULL : text;
}

static int read_server_cert(const struct ctl_arguments *arguments, const struct host *known,
                            struct host *host, struct error **err)
{
    const char *path = text_or(arguments, "server-cert", NULL);
    if (path)
        return read_certificate(path, &host->server_cert, err);
    host->server_cert =
        ctl_text(arguments, "server-cert") ? NULL : xstrdup_or_null(known->server_cert);
    return 0;
}

/* An option that is not given keeps the value of a known host: without its relay or certificate,
 * nothing would reach the host. */
static int read_host_arguments(const struct ctl_arguments *arguments, const struct host *known,
                               struct host *host, struct error **err)
{
    const char *network = text_or(arguments, "network", known->network);
    if (take(host->name, sizeof host->name, arguments->operands[0], "NAME", err) < 0 ||
        take(host->project, sizeof host->project, ctl_text(arguments, "project"), "--project",
             err) < 0 ||
        take(host->pool, sizeof host->pool, ctl_text(arguments, "pool"), "--pool", err) < 0 ||
        take(host->nic_prefix, sizeof host->nic_prefix, ctl_text(arguments, "nic-prefix"),
             "--nic-prefix", err) < 0 ||
        take(host->address_range, sizeof host->address_range, ctl_text(arguments, "range"),
             "--range", err) < 0 ||
        (network && take(host->network, sizeof host->network, network, "--network", err) < 0))
        return -1;
    host->url = xstrdup(ctl_text(arguments, "url"));
    host->firewall_url = xstrdup_or_null(text_or(arguments, "firewall", known->firewall_url));
    host->relay_url = xstrdup_or_null(text_or(arguments, "relay", known->relay_url));
    host->vcpus = (uint32_t)ctl_number(arguments, "vcpus", 0);
    host->memory_mb = (uint32_t)ctl_number(arguments, "memory-mb", 0);
    host->memory_overcommit =
        (uint32_t)ctl_number(arguments, "memory-overcommit", known->memory_overcommit);
    host->disk_overcommit =
        (uint32_t)ctl_number(arguments, "disk-overcommit", known->disk_overcommit);
    return read_server_cert(arguments, known, host, err);
}

/* Read the host as it will be; a new one has the default values. */
static int read_host(const struct ctl *ctl, const struct ctl_arguments *arguments,
                     struct host *host, struct error **err)
{
    struct host known;
    error_auto absent = NULL;
    if (host_get_by_name(ctl->db, arguments->operands[0], &known, &absent) < 0) {
        if (absent->code != ERR_NOT_FOUND)
            return error_move(err, &absent);
        known = (struct host){.memory_overcommit = MEMORY_OVERCOMMIT,
                              .disk_overcommit = DISK_OVERCOMMIT};
    }
    int result = read_host_arguments(arguments, &known, host, err);
    host_deinit(&known);
    return result;
}

/* Incus does not answer. A host that exists keeps its architecture, and a new one is refused. */
static int keep_architecture(const struct ctl *ctl, struct host *host, struct error **err)
{
    struct host known;
    error_auto missing = NULL;
    if (host_get_by_name(ctl->db, host->name, &known, &missing) < 0)
        return error_context(err,
                             "host %s was not added, because its Incus at %s does not answer; "
                             "remove the cause and run the same command again",
                             host->name, host->url);
    snprintf(host->architecture, sizeof host->architecture, "%s", known.architecture);
    host_deinit(&known);
    error_clear(err);
    return 0;
}

/* Ask before the row is stored, because a stored host may get sandboxes. */
static int ask_architecture(const struct ctl *ctl, struct host *host, struct error **err)
{
    struct incus *incus;
    autofree char *architecture = NULL;
    if (ctl_open_incus(ctl, host, &incus, err) < 0)
        return -1;
    int result = incus_architecture(incus, &architecture, err);
    incus_close(incus);
    if (result < 0)
        return keep_architecture(ctl, host, err);
    return take(host->architecture, sizeof host->architecture, architecture, "architecture", err);
}

/* --- sandboxes that the database does not have --- */

static int list_sandboxes(const struct ctl *ctl, const struct host *host,
                          struct runtime_listing **list, size_t *count, struct error **err)
{
    struct runtime *runtime;
    const struct runtime_host place = {
        .url = host->url,
        .server_cert = host->server_cert,
        .client_cert_file = ctl->settings->incus_client_cert_file,
        .client_key_file = ctl->settings->incus_client_key_file,
        .project = host->project,
        .pool = host->pool,
        .nic_prefix = host->nic_prefix,
    };
    if (runtime_incus_open(&place, &runtime, err) < 0)
        return -1;
    int result = runtime->ops->list(runtime, list, count, err);
    runtime_close(runtime);
    return result;
}

/* A running instance of a warm pool may be a claimed sandbox; the host does not know this. */
static bool may_be_unused(const struct runtime_listing *instance)
{
    return instance->status == RUNTIME_RUNNING && warm_names(instance->name);
}

/* Count the sandboxes of a list. *foreign: 0 if this deployment has a row for at least one. */
static int count_foreign(struct ctl *ctl, const struct runtime_listing *list, size_t count,
                         size_t *foreign, struct error **err)
{
    *foreign = 0;
    for (size_t i = 0; i < count; i++) {
        char id[ID_SIZE];
        enum sandbox_state state;
        bool known;
        if (sandbox_row_of_instance(ctl->db, 0, list[i].name, id, &state, err) < 0 ||
            warm_knows(ctl->db, list[i].name, &known, err) < 0)
            return -1;
        if (*id || known) {
            *foreign = 0;
            return 0;
        }
        *foreign += !may_be_unused(&list[i]);
    }
    return 0;
}

static int refuse_foreign(struct ctl *ctl, const struct host *host, struct error **err)
{
    struct runtime_listing *list = NULL;
    size_t count = 0, foreign;
    error_auto unlisted = NULL;
    if (list_sandboxes(ctl, host, &list, &count, &unlisted) < 0) {
        if (unlisted->code != ERR_RUNTIME_UNAVAILABLE)
            return 0; /* no project yet, or prepare() reports the reason */
        error_move(err, &unlisted);
        return error_context(
            err,
            "host %s was not added, because its Incus does not list its instances; "
            "run the same command again",
            host->name);
    }
    int result = count_foreign(ctl, list, count, &foreign, err);
    runtime_listing_free(list, count);
    if (result < 0 || !foreign)
        return result;
    return error_set(
        err, ERR_INVALID_REQUEST,
        "Incus at %s has at least %zu sandboxes in the project %s, and the database has no row "
        "for any of them: sandlot-dispatcher would delete them. To restore a backup with them, "
        "first run `systemctl stop sandlot.target` on each front node (doc/howto/restore.md). To "
        "give the sandboxes up, repeat the command with --delete-sandboxes.",
        host->url, foreign, host->project);
}

/* A dispatcher deletes sandboxes without a row: those of another deployment, or of this one before
 * it lost its database. A host that the database has may have such sandboxes after a restore. */
static int check_foreign(struct ctl *ctl, const struct ctl_arguments *arguments,
                         const struct host *host, struct error **err)
{
    struct host known;
    error_auto absent = NULL;
    bool watched;
    if (ctl_flag(arguments, "delete-sandboxes"))
        return 0;
    if (host_get_by_name(ctl->db, host->name, &known, &absent) == 0) {
        host_deinit(&known);
        return 0;
    }
    if (absent->code != ERR_NOT_FOUND)
        return error_move(err, &absent);
    if (host_is_watched(ctl->db, &watched, err) < 0)
        return -1;
    return watched ? refuse_foreign(ctl, host, err) : 0;
}

/* --- adding a host --- */

static int prepare(struct ctl *ctl, const struct host *host, struct error **err)
{
    struct runtime *runtime;
    runtimes_regardless(ctl->runtimes); /* it may have come back just now */
    if (runtimes_get(ctl->runtimes, ctl->db, host->id, &runtime, err) < 0 ||
        runtime->ops->prepare(runtime, err) < 0)
        return error_context(err,
                             "host %s is in the database, but not ready; remove the cause and run "
                             "the same command again",
                             host->name);
    return 0;
}

/* Build all templates on the host. When one cannot be built here, its sandboxes start on other
 * hosts. */
static int build_missing_sources(struct ctl *ctl, const struct host *host, unsigned *built,
                                 struct error **err)
{
    autofree struct template_version *versions = NULL;
    unsigned count;
    *built = 0;
    if (template_missing_sources(ctl->db, host->id, &versions, &count, err) < 0)
        return -1;
    for (unsigned i = 0; i < count; i++) {
        error_auto failure = NULL;
        if (source_build_again(ctl, &versions[i], host, &failure) == 0)
            ++*built;
        else
            fprintf(stderr, "sandlotctl: template %s:%u is not available on host %s: %s\n",
                    versions[i].slug, versions[i].version, host->name, failure->message);
    }
    return 0;
}

int ctl_host_add(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct host host = {0};
    unsigned built = 0;
    int result = -1;
    if (read_host(ctl, arguments, &host, err) == 0 && host_check(&host, err) == 0 &&
        ask_architecture(ctl, &host, err) == 0 && check_foreign(ctl, arguments, &host, err) == 0 &&
        host_put(ctl->db, &host, err) == 0 && prepare(ctl, &host, err) == 0 &&
        build_missing_sources(ctl, &host, &built, err) == 0) {
        json_t *object = host_json(&host);
        json_object_set_new(object, "sources_built", json_integer(built));
        ctl_print(ctl, object, "Host %s is %s: %u vCPUs and %u MB at %s.", host.name,
                  host_state_names[host.state], host.vcpus, host.memory_mb, host.url);
        result = 0;
    }
    host_deinit(&host);
    return result;
}

int ctl_host_list(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    static const struct ctl_column columns[] = {
        {"NAME", "name"},
        {"STATE", "state"},
        {"CONDITION", "condition"},
        {"SINCE", "since"},
        {"SANDBOXES", "sandboxes"},
        {"VCPUS", "vcpus"},
        {"RESERVED", "used_vcpus"},
        {"MEMORY MB", "memory_mb"},
        {"RESERVED", "used_memory_mb"},
        {"POOL GB", "pool_gb"},
        {"USED", "pool_used_gb"},
        {"PROMISED", "promised_gb"},
        {"RANGE", "range"},
        {"URL", "url"},
    };
    struct host *hosts = NULL;
    unsigned count;
    (void)arguments;
    if (host_list(ctl->db, &hosts, &count, err) < 0)
        return -1;
    json_t *rows = json_array();
    for (unsigned i = 0; i < count; i++) {
        json_t *row = host_json(&hosts[i]);
        json_object_set_new(row, "used_vcpus", json_integer(hosts[i].used_vcpus));
        json_object_set_new(row, "used_memory_mb", json_integer(hosts[i].used_memory_mb));
        json_object_set_new(row, "memory_overcommit", json_integer(hosts[i].memory_overcommit));
        json_object_set_new(row, "memory_low", json_boolean(hosts[i].memory_low));
        json_object_set_new(row, "disk_overcommit", json_integer(hosts[i].disk_overcommit));
        json_object_set_new(row, "pool_gb", gb_of(hosts[i].storage.total_mb));
        json_object_set_new(row, "pool_used_gb", gb_of(hosts[i].storage.used_mb));
        json_object_set_new(row, "promised_gb",
                            json_integer((json_int_t)hosts[i].storage.promised_gb));
        json_object_set_new(row, "sandboxes", json_integer(hosts[i].sandboxes));
        json_array_append_new(rows, row);
    }
    hosts_free(hosts, count);
    ctl_print_rows(ctl, "hosts", rows, columns, ARRAY_SIZE(columns));
    return 0;
}

/* Build the templates that were added while it took no sandboxes, unless it does not answer. */
int ctl_host_activate(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct host host = {0};
    unsigned built = 0;
    int result = -1;
    if (host_set_state(ctl->db, arguments->operands[0], HOST_ACTIVE, err) == 0 &&
        host_get_by_name(ctl->db, arguments->operands[0], &host, err) == 0 &&
        (!host_answers(&host) || build_missing_sources(ctl, &host, &built, err) == 0)) {
        ctl_print(ctl,
                  json_pack("{s:s, s:s, s:i}", "name", host.name, "state",
                            host_state_names[host.state], "sources_built", (int)built),
                  "Host %s gets new sandboxes.", host.name);
        result = 0;
    }
    host_deinit(&host);
    return result;
}

/* Sandboxes run on a machine that nothing has switched off, and would run twice if the archive has
 * them. Time says that it is off, unless its relay answers. */
static int check_is_off(const struct host *host, struct error **err)
{
    const struct host_condition *condition = &host->condition;
    int64_t since_ms = host->relay_url ? condition->down_since_ms : condition->silent_since_ms;
    if (condition->lost_at_ms ||
        (since_ms && clock_now_ms() - since_ms >= LOST_AFTER_MIN * MINUTE_MS))
        return 0;
    return error_set(
        err, ERR_INVALID_REQUEST,
        "Host %s is not lost yet: %s. If its sandboxes still run, those of the archive would run "
        "twice. Wait, or switch the machine off and repeat the command with --powered-off.",
        host->name,
        since_ms ? "it has been silent for less than 15 minutes"
                 : "its Incus is silent, but its relay answers");
}

/* The act cannot be undone, so the command accepts only a host that does not answer. */
static int may_be_lost(const struct host *host, const struct ctl_arguments *arguments,
                       struct error **err)
{
    if (!host->condition.silent_since_ms && !host->condition.lost_at_ms)
        return error_set(err, ERR_INVALID_REQUEST,
                         "Host %s answers; use `sandlotctl host drain %s` instead.", host->name,
                         host->name);
    if (!ctl_flag(arguments, "yes"))
        return error_set(
            err, ERR_INVALID_REQUEST,
            "This deletes all sandboxes, checkpoints and volumes of host %s (`sandlotctl sandbox "
            "list --host %s` lists the sandboxes), and cannot be undone. Sandboxes and checkpoints "
            "with a copy in the archive stay. The machine must be off, and must never start again "
            "with its data. To do this, repeat the command with --yes.",
            host->name, host->name);
    return ctl_flag(arguments, "powered-off") ? 0 : check_is_off(host, err);
}

int ctl_host_lost(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    struct worker worker = ctl_worker(ctl);
    struct host host;
    struct host_loss loss;
    if (host_get_by_name(ctl->db, arguments->operands[0], &host, err) < 0)
        return -1;
    int result =
        may_be_lost(&host, arguments, err) < 0 ? -1 : sandbox_host_lost(&worker, &host, &loss, err);
    if (result == 0)
        ctl_print(ctl,
                  json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:i}", "name", host.name, "condition",
                            "lost", "sandboxes", (int)loss.sandboxes, "checkpoints",
                            (int)loss.checkpoints, "volumes", (int)loss.volumes, "archived",
                            (int)loss.archived, "archived_checkpoints",
                            (int)loss.archived_checkpoints),
                  "Host %s is lost, with %u sandboxes, %u checkpoints and %u volumes. %u sandboxes "
                  "and %u checkpoints are in the archive and move to other hosts.",
                  host.name, loss.sandboxes, loss.checkpoints, loss.volumes, loss.archived,
                  loss.archived_checkpoints);
    host_deinit(&host);
    return result;
}
