/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stopping with and without memory, and starting again. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "runtime/runtime_incus.h"

/* A clean shutdown of a sandbox that is to keep its disk only: 5 seconds for its services, then one
 * or two for all other programs. */
#define SHUTDOWN_MOST_S 10
/* Orders to one instance in one call; more means that it does not stay as it was told to (an
 * init that ends at once, for one). */
#define ORDERS_MOST 8
/* A dump that took longer to fail is not tried again: its guest stood still meanwhile. */
#define RETRY_WITHIN_MS 10000

/* Free room that a file system counts as such and still gives to no file: btrfs' own records. */
#define POOL_OVERHEAD_BYTES (UINT64_C(512) << 20)

/* The instance as last looked at. */
struct subject {
    struct runtime_incus *runtime;
    const char *name;
    const struct runtime_resources *resources;
    struct incus_instance found;
    enum runtime_status status;
    unsigned orders;
    bool kept_devices, had_leftover; /* of the last start */
};

static int look(struct subject *subject, struct error **err)
{
    if (runtime_look(subject->runtime, subject->name, &subject->found, &subject->status, err) < 0)
        return -1;
    if (subject->status == RUNTIME_ABSENT)
        return error_set(err, ERR_NOT_FOUND, "instance %s is not on its host", subject->name);
    return 0;
}

static int change(struct subject *subject, struct incus_state_change order, struct error **err)
{
    if (++subject->orders > ORDERS_MOST)
        return error_set(
            err, ERR_RUNTIME_REFUSED,
            "instance %s changed its state after each call, and did not reach the wanted one",
            subject->name);
    return incus_instance_change(subject->runtime->incus, subject->name, &order, err);
}

/* A refusal after which only a new look helps: another caller was there. */
static bool look_again(const struct subject *subject)
{
    switch (incus_last_error(subject->runtime->incus)) {
    case INCUS_ERROR_BUSY:
    case INCUS_ERROR_STOPPED:
    case INCUS_ERROR_RUNNING:
        return true;
    default:
        return false;
    }
}

/* Set the size limit of the root volume, if it differs. */
static int resize_root(struct subject *subject, const char *size, struct error **err)
{
    if (subject->found.virtual_machine ||
        str_equal(incus_instance_device(&subject->found, "root", "size"), size))
        return 0;
    json_auto_t *devices = json_pack(
        "{s:o}", "root",
        runtime_root_device(incus_instance_device(&subject->found, "root", "pool"), size));
    return incus_instance_patch(subject->runtime->incus, subject->name, NULL, devices, err);
}

/*
 * Put the limit back. A limit that stays too large until the next pause does no harm. On a disk
 * that the guest has filled, Incus lowers the limit, and then has no room for its own file. It
 * reports a failure, although the limit has changed. After that, only another size than the
 * recorded one sets the limit again.
 */
static void shrink_root(struct subject *subject)
{
    struct runtime_resources larger = *subject->resources;
    char size[RUNTIME_SIZE_SIZE];
    error_auto err = NULL;
    error_auto ignored = NULL;
    runtime_root_size(subject->resources, size);
    if (resize_root(subject, size, &err) == 0)
        return;
    log_warning(
        "cannot lower the disk limit of an instance after its resume; it keeps the higher limit",
        LOG_STR("instance", subject->name), LOG_ERROR(err));
    larger.memory_mb++;
    runtime_root_size_paused(&larger, size);
    resize_root(subject, size, &ignored);
}

static void lost(const struct subject *subject, const char *why)
{
    struct runtime *base = &subject->runtime->base;
    snprintf(base->memory_lost, sizeof base->memory_lost, "%s", why);
}

/* --- pause --- */

struct pausing {
    enum runtime_pause how;
    unsigned retries;
    int64_t begun_ms;
};

static int stop_with_memory(struct subject *subject, struct error **err)
{
    char size[RUNTIME_SIZE_SIZE];
    runtime_root_size_paused(subject->resources, size);
    if (resize_root(subject, size, err) < 0)
        return -1;
    return change(subject, (struct incus_state_change){.action = INCUS_STOP, .stateful = true},
                  err);
}

static int stop_without_memory(struct subject *subject, bool at_once, struct error **err)
{
    struct incus_state_change clean = {.action = INCUS_STOP, .timeout_s = SHUTDOWN_MOST_S};
    struct incus_state_change force = {.action = INCUS_STOP, .force = true};
    /* The unwritten data of a virtual machine is in the guest's kernel. */
    bool kill = at_once && !subject->found.virtual_machine;
    if (subject->status == RUNTIME_RUNNING && !kill) {
        if (change(subject, clean, err) == 0)
            return 0;
        if ((*err)->code != ERR_RUNTIME_REFUSED || look_again(subject))
            return -1;
        error_clear(err);
    }
    return change(subject, force, err);
}

static bool has_one_of(const char *text, const char *const words[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(text, words[i]))
            return true;
    return false;
}

enum error_code runtime_memory_refusal(const char *text)
{
    static const char *const short_of[] = {
        "Too many open files",    "an't create inotify",
        "o space left on device", "Disk quota exceeded",
        "Cannot allocate memory", "Resource temporarily unavailable",
        "Timeout reached",        "timed out",
    };
    /* CRIU names the file of its source. Without that it was not run, or did not begin. */
    static const char *const processes[] = {"Error (criu/", "Error (compel/"};
    static const char *const kernel[] = {"Operation not supported", "Function not implemented"};
    if (has_one_of(text, short_of, ARRAY_SIZE(short_of)))
        return ERR_RUNTIME_SHORT;
    return has_one_of(text, processes, ARRAY_SIZE(processes)) &&
                   !has_one_of(text, kernel, ARRAY_SIZE(kernel))
               ? ERR_MEMORY_NOT_KEPT
               : ERR_HOST_KEEPS_NO_MEMORY;
}

/* Whether the memory of the instance may not have fitted into the pool. On a full one CRIU has no
 * room for its log either, and then its words say nothing. */
static bool pool_was_short(struct subject *subject)
{
    uint64_t memory_bytes = (uint64_t)subject->resources->memory_mb << 20;
    uint64_t total_bytes = 0;
    uint64_t used_bytes = 0;
    error_auto ignored = NULL;
    return runtime_incus_measure_pool(&subject->runtime->base, &total_bytes, &used_bytes,
                                      &ignored) == 0 &&
           used_bytes + memory_bytes + POOL_OVERHEAD_BYTES > total_bytes;
}

/* A pause with memory that was refused. Returns 1 when it is to be tried again in a moment, or
 * without the memory; else -1. */
static int pause_refused(struct subject *subject, struct pausing *pausing, struct error **err)
{
    static const unsigned waits_ms[] = {1000, 3000};
    enum error_code why = runtime_memory_refusal((*err)->message);
    bool pool_is_short = pool_was_short(subject);
    bool is_short = why == ERR_RUNTIME_SHORT || pool_is_short;
    bool in_time = clock_monotonic_ms() < pausing->begun_ms + RETRY_WITHIN_MS;
    if (is_short && in_time && pausing->retries < ARRAY_SIZE(waits_ms)) {
        log_warning("cannot save the memory of an instance yet; trying again",
                    LOG_STR("instance", subject->name), LOG_ERROR(*err));
        error_clear(err);
        return runtime_rest(subject->runtime, waits_ms[pausing->retries++], err) ? -1 : 1;
    }
    /* A dump that failed late leaves its files until the next pause or start from disk. The limit
     * stays raised by their size, so that the guest can still fill its own share. */
    if (pausing->how == RUNTIME_PAUSE_MEMORY)
        return error_recode(err, is_short ? ERR_RUNTIME_SHORT : why);
    log_warning("cannot save the memory of an instance; stopping it with the disk only",
                LOG_STR("instance", subject->name), LOG_ERROR(*err));
    lost(subject, pool_is_short ? RUNTIME_POOL_SHORT : (*err)->message);
    error_clear(err);
    pausing->how = RUNTIME_PAUSE_DISK;
    return 1;
}

/* One attempt. Returns 1 when the instance must be looked at again. */
static int pause_step(struct subject *subject, struct pausing *pausing, enum runtime_origin *origin,
                      struct error **err)
{
    if (look(subject, err) < 0)
        return -1;
    if (subject->status == RUNTIME_PAUSED || subject->status == RUNTIME_STOPPED) {
        *origin = subject->status == RUNTIME_PAUSED ? RUNTIME_FROM_MEMORY : RUNTIME_FROM_DISK;
        return 0;
    }
    if (subject->status == RUNTIME_OTHER)
        return 1;
    if (pausing->how == RUNTIME_PAUSE_DISK || pausing->how == RUNTIME_PAUSE_DISK_AT_ONCE) {
        bool at_once = pausing->how == RUNTIME_PAUSE_DISK_AT_ONCE;
        int result = stop_without_memory(subject, at_once, err);
        return result == 0 || look_again(subject) ? 1 : -1;
    }
    /* Also after success: a resume starts from the present state. */
    if (stop_with_memory(subject, err) == 0 || look_again(subject))
        return 1;
    if ((*err)->code != ERR_RUNTIME_REFUSED)
        return -1;
    return pause_refused(subject, pausing, err);
}

int runtime_incus_pause(struct runtime *base, const char *name,
                        const struct runtime_resources *resources, enum runtime_pause how,
                        enum runtime_origin *origin, struct error **err)
{
    struct subject subject = {
        .runtime = runtime_incus_of(base), .name = name, .resources = resources};
    struct pausing pausing = {how, 0, clock_monotonic_ms()};
    struct runtime_turns turns = runtime_turns_begin();
    int result;
    base->memory_lost[0] = '\0';
    while ((result = pause_step(&subject, &pausing, origin, err)) > 0) {
        bool at_rest = !*err && subject.status != RUNTIME_OTHER;
        if (!at_rest && runtime_turn(subject.runtime, &turns, err) < 0) {
            result = -1;
            break;
        }
    }
    incus_instance_deinit(&subject.found);
    return result;
}

/* --- resume --- */

/* The interface under this name on the host. */
static json_t *nic_of(const struct incus_instance *found, const char *host_name)
{
    return runtime_nic_device(incus_instance_device(found, "eth0", "ipv4.address"),
                              incus_instance_device(found, "eth0", "hwaddr"), host_name,
                              found->virtual_machine);
}

/* A name that no interface has had: leftovers of an earlier start on the host must not be in the
 * way. And room beyond its quota: Incus writes a file of its own into the volume at each start,
 * which a guest that has filled its disk would prevent for good. */
static int ready_devices(struct subject *subject, struct error **err)
{
    const struct incus_instance *found = &subject->found;
    char host_name[RUNTIME_HOST_NAME_SIZE], size[RUNTIME_SIZE_SIZE];
    runtime_host_name(subject->runtime->nic_prefix, host_name);
    json_auto_t *devices = json_pack("{s:o}", "eth0", nic_of(found, host_name));
    runtime_root_size_paused(subject->resources, size);
    if (!found->virtual_machine && !str_equal(incus_instance_device(found, "root", "size"), size))
        json_object_set_new(
            devices, "root",
            runtime_root_device(incus_instance_device(found, "root", "pool"), size));
    return incus_instance_patch(subject->runtime->incus, subject->name, NULL, devices, err);
}

/* Whether its devices can stay as they are: a pause with memory has removed the interface, and left
 * room in the volume. */
static bool has_ready_devices(const struct subject *subject)
{
    const struct incus_instance *found = &subject->found;
    const char *host_name = incus_instance_device(found, "eth0", "host_name");
    char size[RUNTIME_SIZE_SIZE];
    json_auto_t *nic = nic_of(found, host_name);
    runtime_root_size_paused(subject->resources, size);
    return !found->virtual_machine && str_starts_with(host_name, subject->runtime->nic_prefix) &&
           json_equal(json_object_get(found->devices, "eth0"), nic) &&
           str_equal(incus_instance_device(found, "root", "size"), size);
}

/* A start failed because its interface or route was still there. */
static bool has_leftover(const struct subject *subject, const struct error *err)
{
    const char *host_name = incus_instance_device(&subject->found, "eth0", "host_name");
    return strstr(err->message, "File exists") || (*host_name && strstr(err->message, host_name));
}

static int start(struct subject *subject, bool stateful, struct error **err)
{
    subject->kept_devices = stateful && !subject->had_leftover && has_ready_devices(subject);
    if (!subject->kept_devices && ready_devices(subject, err) < 0)
        return -1;
    return change(subject, (struct incus_state_change){.action = INCUS_START, .stateful = stateful},
                  err);
}

/* One attempt. Returns 1 when the instance must be inspected again. *started: the starting point of
 * this caller's own start; *with_memory becomes false when the memory image is given up. */
static int resume_step(struct subject *subject, bool *with_memory, bool *acted,
                       enum runtime_origin *started, struct error **err)
{
    if (look(subject, err) < 0)
        return -1;
    if (subject->status == RUNTIME_RUNNING)
        return 0;
    if (subject->status == RUNTIME_OTHER)
        return 1;
    if (subject->status == RUNTIME_FROZEN) {
        *acted = true;
        *started = RUNTIME_FROM_MEMORY;
        change(subject, (struct incus_state_change){.action = INCUS_UNFREEZE}, err);
        return !*err || look_again(subject) ? 1 : -1;
    }
    if (*acted && *started == RUNTIME_FROM_MEMORY && subject->status == RUNTIME_STOPPED) {
        log_warning(
            "an instance stopped right after its memory was restored; starting it from the disk",
            LOG_STR("instance", subject->name));
        lost(subject, "Incus reported that it restored the memory, but the instance did not run");
    }
    bool stateful = *with_memory && subject->status == RUNTIME_PAUSED;
    if (start(subject, stateful, err) == 0) {
        *acted = true;
        *started = stateful ? RUNTIME_FROM_MEMORY : RUNTIME_FROM_DISK;
        return 1;
    }
    if (look_again(subject))
        return 1;
    bool refused = (*err)->code == ERR_RUNTIME_REFUSED || (*err)->code == ERR_RUNTIME_FAILED ||
                   (*err)->code == ERR_RUNTIME_STUCK;
    if (!refused || !stateful)
        return -1;
    if (subject->kept_devices && has_leftover(subject, *err)) {
        log_info("the network interface of an instance's previous start still exists; resuming "
                 "with another name",
                 LOG_STR("instance", subject->name), LOG_ERROR(*err));
        error_clear(err);
        subject->had_leftover = true;
        return 1;
    }
    log_warning("cannot restore the memory of an instance; starting from the disk",
                LOG_STR("instance", subject->name), LOG_ERROR(*err));
    lost(subject, (*err)->message);
    error_clear(err);
    *with_memory = false;
    return 1;
}

int runtime_incus_resume(struct runtime *base, const char *name,
                         const struct runtime_resources *resources, bool with_memory,
                         enum runtime_origin *origin, struct error **err)
{
    struct subject subject = {
        .runtime = runtime_incus_of(base), .name = name, .resources = resources};
    struct runtime_turns turns = runtime_turns_begin();
    enum runtime_origin started = RUNTIME_FROM_DISK;
    bool acted = false;
    int result;
    base->memory_lost[0] = '\0';
    while ((result = resume_step(&subject, &with_memory, &acted, &started, err)) > 0) {
        bool at_rest = !*err && subject.status != RUNTIME_OTHER;
        if (!at_rest && runtime_turn(subject.runtime, &turns, err) < 0) {
            result = -1;
            break;
        }
    }
    if (result == 0) {
        if (acted)
            *origin = started;
        shrink_root(&subject);
    }
    incus_instance_deinit(&subject.found);
    return result;
}
