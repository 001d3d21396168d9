/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The runtime of runtime.h on Incus. For runtime_incus*.c and their tests only.
 *
 * Memory images in Incus, and the consequences:
 *  - A stateful stop writes the image next to the root file system, inside the instance's own
 *    volume and against its size limit. The limit is raised before, and put back only after the
 *    start. A limit below the size of the image would make the instance unusable.
 *  - The image exists only while the instance is stopped. It is removed after a successful restore,
 *    or when the instance starts from its disk. The next pause writes a new one, and the instance
 *    runs until this image is whole. So a paused instance always has a whole image, and a failed
 *    pause leaves a running instance.
 *  - "start stateful" of an instance without an image boots it from its disk without an error.
 *  - A restore that fails keeps the image. It also leaves the host interfaces it made, with the
 *    route to the address, and then nothing can start: fcgi/host/helper/launcher clears that up.
 *
 *  - A restored container that reboots itself ends as stopped instead: liblxc's monitor of a
 *    restored container does not start it again.
 *
 * Leftovers of Incus that only root on the host can remove: base chains
 * prert.<project>_<instance>.eth0 in `table inet incus`. A start that failed leaves them, and so
 * does a restored container, unless fcgi/host/helper/launcher is in use. They match an interface
 * index that never comes again. But the kernel allows no more than 1024 chains, with those of
 * running instances. If incusd is killed while it starts an instance, both ends of its veth pair
 * stay on the host, with the route to the address. The address is lost until they are removed.
 *
 * boot.autostart is false, so a host that boots starts no instance. A sandbox that ran is then
 * stopped with its disk only. A paused one still has its image. The control plane sees it in
 * inspect().
 */
#pragma once

#include <jansson.h>

#include "base/link_address.h"
#include "incus/incus.h"
#include "incus/incus_events.h"
#include "runtime/runtime.h"

#define RUNTIME_PROFILE        "sandlot"
#define RUNTIME_PROFILE_VM     "sandlot-vm"

#define RUNTIME_KEEPER_PROGRAM "/sandlot-keeper"

#define RUNTIME_KEY_SANDBOX    "user.sandlot.sandbox"
#define RUNTIME_KEY_ROLE       "user.sandlot.role"
#define RUNTIME_KEY_TAKEN      "user.sandlot.archive" /* the token of take_in() */
/* The role that earlier versions gave to an incomplete copy of a sandbox from another host. */
#define RUNTIME_ROLE_MOVING "moving"

struct runtime_incus {
    struct runtime base;
    struct incus *incus;
    struct incus_events *events; /* NULL: no listener */
    char *pool;
    char *nic_prefix;
};

static inline struct runtime_incus *runtime_incus_of(struct runtime *runtime)
{
    return (struct runtime_incus *)runtime;
}

/* --- runtime_incus_body.c: no input or output --- */

#define RUNTIME_HOST_NAME_SIZE 16 /* of a network interface */
#define RUNTIME_HWADDR_SIZE    LINK_ADDRESS_SIZE

/* Write a new random name for the host's end of a network interface. */
void runtime_host_name(const char *prefix, char out[RUNTIME_HOST_NAME_SIZE]);

/* Write the hardware address for an IPv4 address. It is always the same, so that the host's
 * neighbour entry for the previous user of the address stays valid. Returns -1 for another text. */
int runtime_hwaddr(const char *address, char out[RUNTIME_HWADDR_SIZE]);

/* Return the configuration of a container's user ids, in a range of the host that its address
 * chooses. A sandbox keeps its address, and so its range: the kernel's counts by user are then
 * counts of this sandbox. NULL for a wrong address. */
json_t *runtime_users_config(const char *address);

/* Return the configuration of the project, or of a profile, as a new reference. The functions below
 * return new references too. */
json_t *runtime_project_config(void);
json_t *runtime_profile_config(bool virtual_machine);

/* Return lines for liblxc that confine a container. They replace the lines of its profile, so an
 * instance with its own lines needs them all. instance: its name (NULL: no instance, without a view
 * of its disk); init: the program to run instead of the template's, may be NULL. The caller frees
 * the text. */
char *runtime_lxc(const struct runtime_instance *instance, const char *init);

/* Return the lines of an instance, changed for another size of its memory; the caller frees them.
 */
char *runtime_lxc_resized(const char *lxc, unsigned memory_mb);

/* Return the part of the containers' profile that limits their use of the kernel. */
json_t *runtime_confinement(void);

json_t *runtime_profile_devices(const char *pool);
/* Check that an instance can have its address. Errors: ERR_RUNTIME_REFUSED. */
int runtime_check_address(const struct runtime_instance *instance, struct error **err);
json_t *runtime_nic_device(const char *address, const char *hwaddr, const char *host_name,
                           bool virtual_machine);
json_t *runtime_root_device(const char *pool, const char *size);
/* Return the limits of an instance with these resources, and a root device with its size. */
json_t *runtime_size_config(const struct runtime_resources *resources, bool virtual_machine);
json_t *runtime_sized_root(const char *pool, const struct runtime_resources *resources,
                           bool virtual_machine);
/* Add a disk device for each mount to devices. */
void runtime_add_mounts(json_t *devices, const char *pool, const struct runtime_mount *mounts,
                        unsigned count);
/* Return the configuration of a new volume. Its files have the user ids inside instances, and each
 * mount of the volume maps these ids to those of the instance. */
json_t *runtime_volume_config(unsigned size_gb);
/* Return the definition of a volume server: a container with an empty root file system. NULL for a
 * wrong address. */
json_t *runtime_keeper_body(const struct runtime_incus *runtime,
                            const struct runtime_keeper *keeper);
json_t *runtime_source_body(const char *name, const char *fingerprint, bool virtual_machine);

/* Return the definition of a copy of another instance's disk. devices: those of the original, from
 * which the copy gets only the root. owner: stored with the copy. */
json_t *runtime_copy_body(const char *name, const char *original, const json_t *devices,
                          bool virtual_machine, const char *owner);

/* Return the definition of a new instance, or NULL for a wrong address. */
json_t *runtime_create_body(const struct runtime_incus *runtime,
                            const struct runtime_instance *instance);

/* Return the definition of an instance on the host that it moves to, without a source. original:
 * Incus' description on the old host; token: of the move, or NULL. */
json_t *runtime_move_body(const struct runtime_incus *to, const json_t *original, const char *role,
                          const char *token);

#define RUNTIME_SIZE_SIZE 24
/* Write the size limit of the root volume while the instance runs, and with room for its memory. */
void runtime_root_size(const struct runtime_resources *resources, char out[RUNTIME_SIZE_SIZE]);
void runtime_root_size_paused(const struct runtime_resources *resources,
                              char out[RUNTIME_SIZE_SIZE]);

enum runtime_status runtime_status_of(const struct incus_instance *instance);

/* --- runtime_incus.c --- */

/* Attempts within three minutes, while another caller's operation prevents success. */
struct runtime_turns {
    int64_t give_up_ms; /* monotonic */
};
struct runtime_turns runtime_turns_begin(void);

/* Clear *err (which may be NULL), and wait a moment before the next attempt. Errors: when the time
 * is over, the previous *err, or ERR_RUNTIME_REFUSED without one; those of runtime_rest(). */
int runtime_turn(struct runtime_incus *runtime, struct runtime_turns *turns, struct error **err);

/* Wait for wait_ms, and then until the request counts as a start of its pool again. Errors: those
 * of tick(), and ERR_RUNTIME_UNAVAILABLE (others start all the time). */
int runtime_rest(struct runtime_incus *runtime, unsigned wait_ms, struct error **err);

/* Change configuration and devices (NULL: unchanged). Repeat this while another operation on the
 * instance is running: Incus shows an instance as stopped before its stop has ended. */
int runtime_patch(struct runtime_incus *runtime, const char *name, json_t *config, json_t *devices,
                  struct error **err);

/* Read an instance and its status. instance may be NULL; it is unchanged with RUNTIME_ABSENT, which
 * is not an error. */
int runtime_look(struct runtime_incus *runtime, const char *name, struct incus_instance *instance,
                 enum runtime_status *status, struct error **err);

/* --- runtime_incus_volume.c --- */

int runtime_incus_volume_create(struct runtime *runtime, const char *name, unsigned size_gb,
                                struct error **err);
int runtime_incus_volume_delete(struct runtime *runtime, const char *name, struct error **err);
int runtime_incus_volume_list(struct runtime *runtime, struct runtime_volume **list, size_t *count,
                              struct error **err);

/* --- runtime_incus_archive.c --- */

int runtime_incus_export(struct runtime *runtime, enum runtime_object object, const char *name,
                         FILE *to, struct error **err);
int runtime_incus_import(struct runtime *runtime, enum runtime_object object, const char *name,
                         FILE *from, bool *made, struct error **err);
int runtime_incus_take_in(struct runtime *runtime, const char *name, const char *token, FILE *from,
                          uint64_t size, struct error **err);

/* --- runtime_incus_keeper.c --- */

int runtime_incus_keeper_start(struct runtime *runtime, const struct runtime_keeper *keeper,
                               struct error **err);
int runtime_incus_keeper_mount(struct runtime *runtime, const char *name, const char *volume,
                               const char *volume_id, struct error **err);
int runtime_incus_keeper_unmount(struct runtime *runtime, const char *name, const char *volume,
                                 struct error **err);

/* --- runtime_incus_move.c --- */

int runtime_incus_receive(struct runtime *to, struct runtime *from, const char *name,
                          const char *source, struct error **err);
int runtime_incus_receive_checkpoint(struct runtime *to, struct runtime *from, const char *name,
                                     const char *source, const struct runtime_receipt *receipt,
                                     struct error **err);
int runtime_incus_receive_volume(struct runtime *to, struct runtime *from, const char *name,
                                 struct error **err);
int runtime_incus_receive_source(struct runtime *to, struct runtime *from, const char *source,
                                 struct error **err);

/* --- runtime_incus_source.c, _copy.c, _create.c, _measure.c, _memory.c, _pause.c --- */

int runtime_incus_measure_source(struct runtime *runtime, const char *source,
                                 const char *fingerprint, bool virtual_machine, uint32_t *size_mb,
                                 struct error **err);
int runtime_incus_build_source(struct runtime *runtime, const char *source, const char *image,
                               char **fingerprint, bool *virtual_machine, struct error **err);
int runtime_incus_create(struct runtime *runtime, const struct runtime_instance *instance,
                         struct error **err);
int runtime_incus_copy(struct runtime *runtime, const char *name, const char *copy,
                       enum runtime_copy kind, const char *owner, uint32_t *size_mb,
                       struct error **err);
/* Measure the original's or the copy's space in the storage pool, whichever is larger, without the
 * part that it shares with its own source. */
int runtime_incus_measure_copy(struct runtime *runtime, const char *name, const char *copy,
                               bool virtual_machine, uint32_t *size_mb, struct error **err);
int runtime_incus_copy_memory(struct runtime *runtime, const char *name, const char *copy,
                              const char *owner, uint32_t *size_mb, struct error **err);
int runtime_incus_undo_copy_memory(struct runtime *runtime, const char *name, const char *copy,
                                   struct error **err);
int runtime_incus_snapshot_memory(struct runtime *runtime, const char *name, const char *snapshot,
                                  struct error **err);
int runtime_incus_snapshot_drop(struct runtime *runtime, const char *name, const char *snapshot,
                                struct error **err);
/* Do create() of an instance with_memory. */
int runtime_incus_continue(struct runtime *runtime, const struct runtime_instance *instance,
                           struct error **err);
/* Return why the memory was not kept, from Incus' error. ERR_RUNTIME_SHORT: the host was short of
 * descriptors, inotify instances, disk, memory, processes or time. ERR_MEMORY_NOT_KEPT: CRIU cannot
 * save a process of the instance. Otherwise ERR_HOST_KEEPS_NO_MEMORY. */
enum error_code runtime_memory_refusal(const char *text);
int runtime_incus_adapt(struct runtime *runtime, const char *name,
                        const struct runtime_resources *resources,
                        const struct runtime_mount *mounts, unsigned mount_count,
                        struct error **err);
int runtime_incus_destroy(struct runtime *runtime, const char *name, struct error **err);
int runtime_incus_measure(struct runtime *runtime, struct runtime_usage **list, size_t *count,
                          struct error **err);
int runtime_incus_measure_disk(struct runtime *runtime, const char *name, bool virtual_machine,
                               uint64_t *used_bytes, struct error **err);
int runtime_incus_memory_loss(struct runtime *runtime, const char *name,
                              char cause[MEMORY_LOSS_SIZE], struct error **err);
int runtime_incus_console(struct runtime *runtime, const char *name,
                          char tail[RUNTIME_CONSOLE_SIZE], struct error **err);
int runtime_incus_measure_pool(struct runtime *runtime, uint64_t *total_bytes, uint64_t *used_bytes,
                               struct error **err);
int runtime_incus_pause(struct runtime *runtime, const char *name,
                        const struct runtime_resources *resources, enum runtime_pause how,
                        enum runtime_origin *origin, struct error **err);
int runtime_incus_resume(struct runtime *runtime, const char *name,
                         const struct runtime_resources *resources, bool with_memory,
                         enum runtime_origin *origin, struct error **err);
