/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instances and volumes as files, which Incus calls backups. */
#include <errno.h>

#include "base/clock.h"
#include "base/mem.h"
#include "incus/incus_internal.h"

/* Of a backup on the host, which is there only until it has been fetched. */
#define BACKUP_NAME    "sandlot"
#define BACKUP_KEPT_MS (24 * 3600 * (int64_t)1000)
/* Packing and unpacking take time in proportion to the disk. */
#define PACKING_MOST_S    (6 * 3600)
#define STANDSTILL_MOST_S (15 * 60)

static char *backups_path(struct incus *incus, const struct incus_archive *archive)
{
    autofree char *object = archive->object == INCUS_INSTANCE
                                ? incus_path(incus, "instances", archive->name)
                                : incus_volumes_path(incus, archive->pool, archive->name);
    return xasprintf("%s/backups", object);
}

static int drop(struct incus *incus, const char *backups, struct error **err)
{
    autofree char *path = xasprintf("%s/" BACKUP_NAME, backups);
    return incus_drop(incus, path, err);
}

/* Should we not come to remove it, Incus does in a day. */
static int pack(struct incus *incus, const struct incus_archive *archive, const char *backups,
                struct error **err)
{
    char expiry[CLOCK_ISO8601_SIZE];
    clock_format_iso8601(clock_in_ms(BACKUP_KEPT_MS), expiry);
    json_auto_t *body =
        json_pack("{s:s, s:s, s:s, s:b}", "name", BACKUP_NAME, "expires_at", expiry,
                  "compression_algorithm", "none", "optimized_storage", archive->optimized);
    return incus_order_within(incus, "POST", backups, body, PACKING_MOST_S, err);
}

static int written(FILE *to, struct error **err)
{
    return fflush(to) == 0 && !ferror(to)
               ? 0
               : error_set_errno(err, ERR_CONFIG, errno,
                                 "cannot write the temporary file of the export");
}

static int fetch(struct incus *incus, const char *backups, FILE *to, struct error **err)
{
    autofree char *path = xasprintf("%s/" BACKUP_NAME "/export", backups);
    json_auto_t *document = NULL;
    struct incus_request request = {
        .method = "GET",
        .path = path,
        .timeout_s = STANDSTILL_MOST_S,
        .answer_max = INCUS_ANSWER_MAX,
        .to = to,
    };
    struct incus_answer answer;
    enum incus_reach reach = incus_exchange(incus, &request, &document, err);
    if (ferror(to)) {
        error_clear(err);
        return written(to, err);
    }
    if (reach != INCUS_ANSWERED)
        return error_recode(err, ERR_RUNTIME_UNAVAILABLE);
    if (!document)
        return written(to, err);
    incus->last_error = INCUS_ERROR_OTHER;
    return incus_error_set(err, INCUS_ERROR_OTHER,
                           incus_answer_read(document, &answer) == 0 && answer.error
                               ? answer.error
                               : "its answer has an unknown form");
}

int incus_export(struct incus *incus, const struct incus_archive *archive, FILE *to,
                 struct error **err)
{
    autofree char *backups = backups_path(incus, archive);
    error_auto ignored = NULL;
    if (drop(incus, backups, err) < 0)
        return -1;
    int result = pack(incus, archive, backups, err);
    if (result == 0)
        result = fetch(incus, backups, to, err);
    drop(incus, backups, &ignored);
    return result;
}

int incus_import(struct incus *incus, const struct incus_archive *archive, FILE *from,
                 uint64_t size, struct error **err)
{
    autofree char *volumes = archive->object == INCUS_VOLUME
                                 ? incus_volumes_path(incus, archive->pool, NULL)
                                 : xstrdup("/1.0/instances");
    autofree char *name = xasprintf("X-Incus-name: %s", archive->name);
    autofree char *pool = xasprintf("X-Incus-pool: %s", archive->pool);
    struct incus_request request = {
        .method = "POST",
        .path = volumes,
        .places = true,
        .timeout_s = STANDSTILL_MOST_S,
        .answer_max = INCUS_ANSWER_MAX,
        .from = from,
        .from_size = size,
    };
    const char *const headers[] = {"Content-Type: application/octet-stream", "Expect:", name, pool};
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
        request.data_headers = curl_slist_append(request.data_headers, headers[i]);
    int result = incus_order_request(incus, &request, PACKING_MOST_S, err);
    curl_slist_free_all(request.data_headers);
    return result;
}

int incus_pool_driver(struct incus *incus, const char *pool, char **driver, struct error **err)
{
    autofree char *path = incus_path(incus, "storage-pools", pool);
    json_auto_t *found = NULL;
    if (incus_get(incus, path, &found, err) < 0)
        return -1;
    *driver = xstrdup(incus_string(found, "driver"));
    return 0;
}
