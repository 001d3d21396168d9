/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/order.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sizing.h"
#include "base/str.h"
#include "http/http.h"

#define ULID_LENGTH   26
#define CPU_MAX       4096
#define MEMORY_MB_MAX (64u << 20)
#define DISK_GB_MAX   (1u << 20)

/* Return whether a name is a prefix and an id. */
static bool is_name(const char *name, const char *prefix)
{
    if (!str_starts_with(name, prefix))
        return false;
    const char *id = name + strlen(prefix);
    return strlen(id) == ULID_LENGTH &&
           strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz") == ULID_LENGTH;
}

bool order_name_is_valid(const char *name)
{
    return is_name(name, "sbx-") || is_name(name, "warm-");
}

static int read_number(char **left, const char *what, uint64_t min, uint64_t max, unsigned *number,
                       struct error **err)
{
    uint64_t value;
    const char *word = strsep(left, " ");
    if (!word || str_parse_u64(word, min, max, &value) < 0)
        return error_set(err, ERR_INVALID_REQUEST, "%s is not a number from %llu to %llu", what,
                         (unsigned long long)min, (unsigned long long)max);
    *number = (unsigned)value;
    return 0;
}

static bool is_plain_path(const char *path)
{
    const char *at = path;
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return false;
    while (*at == '/') {
        size_t length = strcspn(++at, "/");
        if (!length || (length <= 2 && !strncmp(at, "..", length)))
            return false;
        at += length;
    }
    return at > path && !*at;
}

/* Read VOLUME:PATH. */
static int read_mount(char *word, struct order *order, struct error **err)
{
    struct order_mount *mount = &order->mounts[order->mount_count];
    autofree char *path = NULL;
    const char *volume = strsep(&word, ":");
    if (order->mount_count == ORDER_MOUNTS_MAX)
        return error_set(err, ERR_INVALID_REQUEST, "the line has more than %d volumes",
                         ORDER_MOUNTS_MAX);
    if (!is_name(volume, "vol-") || !word ||
        http_percent_decode(word, strlen(word), false, &path) < 0 || !is_plain_path(path) ||
        strlen(path) >= sizeof mount->path)
        return error_set(err, ERR_INVALID_REQUEST,
                         "the line has a volume without a valid name or path");
    snprintf(mount->volume, sizeof mount->volume, "%s", volume);
    snprintf(mount->path, sizeof mount->path, "%s", path);
    order->mount_count++;
    return 0;
}

static int read_word(char *word, struct order *order, struct error **err)
{
    if (!str_starts_with(word, SIZING_TENANT))
        return read_mount(word, order, err);
    if (order->tenant.team || order->mount_count ||
        tenant_parse(word + strlen(SIZING_TENANT), &order->tenant) < 0)
        return error_set(err, ERR_INVALID_REQUEST, "the line has no numbers of a tenant");
    return 0;
}

int order_read(const char *line, struct order *order, struct error **err)
{
    char text[SIZING_MAX];
    char *left = text;
    if ((size_t)snprintf(text, sizeof text, "%s", line) >= sizeof text)
        return error_set(err, ERR_INVALID_REQUEST, "the line is too long");
    const char *name = strsep(&left, " ");
    if (!order_name_is_valid(name))
        return error_set(err, ERR_INVALID_REQUEST, "the line has no instance of a sandbox");
    *order = (struct order){.cpu = 0};
    snprintf(order->instance, sizeof order->instance, "%s", name);
    if ((!left || !str_starts_with(left, SIZING_TENANT)) &&
        (read_number(&left, "cpu", 1, CPU_MAX, &order->cpu, err) < 0 ||
         read_number(&left, "memory_mb", 16, MEMORY_MB_MAX, &order->memory_mb, err) < 0 ||
         read_number(&left, "disk_gb", 0, DISK_GB_MAX, &order->disk_gb, err) < 0))
        return -1;
    while (left)
        if (read_word(strsep(&left, " "), order, err) < 0)
            return -1;
    if (!order->cpu && order->mount_count)
        return error_set(err, ERR_INVALID_REQUEST, "the line has volumes without a size");
    return 0;
}
