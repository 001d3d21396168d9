/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The groups of calls of a daemon that lacks them. */
#include "base/clock.h"
#include "runtime/runtime.h"

/* The calls have all parameters of the driver interface, and use few. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define FAIL(name, code, text, ...)                                           \
    static int name(struct runtime *runtime, __VA_ARGS__, struct error **err) \
    {                                                                         \
        return error_set(err, code, text);                                    \
    }
#define REFUSE(name, ...)                                                                 \
    FAIL(name, ERR_RUNTIME_REFUSED, "the runtime of the host does not support this call", \
         __VA_ARGS__)
#define REFUSE_MEMORY(name, ...) \
    FAIL(name, ERR_HOST_KEEPS_NO_MEMORY, "the runtime of the host cannot save memory", __VA_ARGS__)
#define FIND_NOTHING(name, ...)                                               \
    static int name(struct runtime *runtime, __VA_ARGS__, struct error **err) \
    {                                                                         \
        return 0;                                                             \
    }
#define LIST_NOTHING(name, type)                                                             \
    static int name(struct runtime *runtime, type **list, size_t *count, struct error **err) \
    {                                                                                        \
        *list = NULL;                                                                        \
        *count = 0;                                                                          \
        return 0;                                                                            \
    }

REFUSE_MEMORY(copy, const char *name, const char *copy, const char *owner, uint32_t *size_mb)
FIND_NOTHING(undo_copy, const char *name, const char *copy)
REFUSE_MEMORY(snapshot, const char *name, const char *snapshot)
FIND_NOTHING(snapshot_drop, const char *name, const char *snapshot)

const struct runtime_memory_ops runtime_no_memory = {
    .copy = copy,
    .undo_copy = undo_copy,
    .snapshot = snapshot,
    .snapshot_drop = snapshot_drop,
};

REFUSE(volume_create, const char *name, unsigned size_gb)
FIND_NOTHING(volume_delete, const char *name)
LIST_NOTHING(volume_list, struct runtime_volume)
REFUSE(keeper_start, const struct runtime_keeper *keeper)
REFUSE(keeper_mount, const char *name, const char *volume, const char *volume_id)
FIND_NOTHING(keeper_unmount, const char *name, const char *volume)

const struct runtime_volume_ops runtime_no_volumes = {
    .create = volume_create,
    .delete = volume_delete,
    .list = volume_list,
    .keeper_start = keeper_start,
    .keeper_mount = keeper_mount,
    .keeper_unmount = keeper_unmount,
};

REFUSE(receive, struct runtime *from, const char *name, const char *source)
REFUSE(receive_checkpoint, struct runtime *from, const char *name, const char *source,
       const struct runtime_receipt *receipt)
REFUSE(receive_one, struct runtime *from, const char *name)
REFUSE(export_object, enum runtime_object object, const char *name, FILE *to)
REFUSE(import_object, enum runtime_object object, const char *name, FILE *from, bool *made)
REFUSE(take_in, const char *name, const char *token, FILE *from, uint64_t size)

const struct runtime_transfer_ops runtime_no_transfers = {
    .receive = receive,
    .receive_checkpoint = receive_checkpoint,
    .receive_volume = receive_one,
    .receive_source = receive_one,
    .export_object = export_object,
    .import_object = import_object,
    .take_in = take_in,
};

LIST_NOTHING(measure_instances, struct runtime_usage)
REFUSE(measure_disk, const char *name, bool virtual_machine, uint64_t *used_bytes)
REFUSE(measure_pool, uint64_t *total_bytes, uint64_t *used_bytes)
REFUSE(read_console, const char *name, char tail[RUNTIME_CONSOLE_SIZE])
static int memory_loss(struct runtime *runtime, const char *name, char cause[MEMORY_LOSS_SIZE],
                       struct error **err)
{
    cause[0] = '\0';
    return 0;
}

const struct runtime_measure_ops runtime_no_measures = {
    .instances = measure_instances,
    .disk = measure_disk,
    .pool = measure_pool,
    .console = read_console,
    .memory_loss = memory_loss,
};

static int listen_for(struct runtime *runtime, unsigned wait_ms, struct runtime_event *event,
                      struct error **err)
{
    event->kind = wait_ms ? RUNTIME_EVENT_BEGIN : RUNTIME_EVENT_NONE;
    clock_sleep_ms(wait_ms);
    return 0;
}

const struct runtime_event_ops runtime_no_events = {.listen = listen_for};
