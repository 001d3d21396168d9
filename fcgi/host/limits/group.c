/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "limits/group.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sizing.h"
#include "base/str.h"

#define NUMBER_SIZE 32
#define SHARES_MIN  2 /* the kernel's limit, v1 */

/* --- opening --- */

static int open_folder(const char *root, const char *controller, struct error **err)
{
    autofree char *path = xasprintf("%s%s", root, controller);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 ? fd : error_set_errno(err, ERR_CONFIG, errno, "cannot open %s", path);
}

int groups_open(struct groups *groups, const char *root, const char *project, struct error **err)
{
    autofree char *mark = xasprintf("%s/cgroup.controllers", root);
    *groups =
        (struct groups){.cpuset = -1, .cpu = -1, .cpuacct = -1, .memory = -1, .project = project};
    groups->unified = access(mark, F_OK) == 0;
    groups->cpuset = open_folder(root, groups->unified ? "" : "/cpuset", err);
    if (groups->cpuset >= 0)
        groups->cpu = open_folder(root, groups->unified ? "" : "/cpu", err);
    if (groups->cpu >= 0)
        groups->cpuacct = open_folder(root, groups->unified ? "" : "/cpuacct", err);
    if (groups->cpuacct >= 0)
        groups->memory = open_folder(root, groups->unified ? "" : "/memory", err);
    if (groups->memory >= 0)
        return 0;
    groups_close(groups);
    return -1;
}

void groups_close(struct groups *groups)
{
    cleanup_close_(&groups->cpuset);
    cleanup_close_(&groups->cpu);
    cleanup_close_(&groups->cpuacct);
    cleanup_close_(&groups->memory);
}

/* Open a file inside a folder. Links are not followed. */
static int open_beneath(int folder, const char *name, uint64_t flags)
{
    const struct open_how how = {.flags = flags | O_CLOEXEC,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, folder, name, &how, sizeof how);
}

static char *prefix_of(const struct groups *groups, const char *kind)
{
    bool is_default = str_equal(groups->project, "default");
    return xasprintf("lxc.%s.%s%s", kind, is_default ? "" : groups->project, is_default ? "" : "_");
}

char *groups_prefix(const struct groups *groups)
{
    return prefix_of(groups, "payload");
}

/* Open the group of an instance. kind: payload or monitor. */
static int open_group(const struct groups *groups, int folder, const char *kind,
                      const char *instance, struct error **err)
{
    autofree char *prefix = prefix_of(groups, kind);
    autofree char *name = xasprintf("%s%s", prefix, instance);
    int fd = open_beneath(folder, name, O_PATH | O_DIRECTORY);
    return fd >= 0 ? fd
                   : error_set_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_RUNTIME_REFUSED,
                                     errno, "cannot open control group %s", name);
}

int group_open(const struct groups *groups, const char *instance, struct instance_group *group,
               struct error **err)
{
    *group = (struct instance_group){.cpuset = -1, .cpu = -1};
    group->cpuset = open_group(groups, groups->cpuset, "payload", instance, err);
    if (group->cpuset >= 0)
        group->cpu = open_group(groups, groups->cpu, "payload", instance, err);
    if (group->cpu >= 0)
        return 0;
    group_close(group);
    return -1;
}

void group_close(struct instance_group *group)
{
    cleanup_close_(&group->cpuset);
    cleanup_close_(&group->cpu);
}

/* --- files --- */

/* Read the first line of a file. A file that does not exist reads as "". */
static int read_text(int group, const char *file, char *text, size_t size, struct error **err)
{
    autoclose int fd = open_beneath(group, file, O_RDONLY);
    text[0] = '\0';
    if (fd < 0)
        return errno == ENOENT
                   ? 0
                   : error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "cannot open %s", file);
    ssize_t length = read(fd, text, size - 1);
    if (length < 0)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "cannot read %s", file);
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return 0;
}

static int write_text(int group, const char *file, const char *text, struct error **err)
{
    autoclose int fd = open_beneath(group, file, O_WRONLY | O_TRUNC);
    ssize_t length = (ssize_t)strlen(text);
    if (fd < 0 || write(fd, text, (size_t)length) != length)
        return error_set_errno(err, ERR_RUNTIME_REFUSED, errno, "cannot set %s to %s", file, text);
    return 0;
}

/* Read a number. Other text ("max", "-1") and a file that does not exist read as UINT64_MAX. */
static int read_number(int group, const char *file, uint64_t *number, struct error **err)
{
    char text[NUMBER_SIZE];
    if (read_text(group, file, text, sizeof text, err) < 0)
        return -1;
    if (str_parse_u64(text, 0, UINT64_MAX - 1, number) < 0)
        *number = UINT64_MAX;
    return 0;
}

static int write_number(int group, const char *file, uint64_t number, struct error **err)
{
    char text[NUMBER_SIZE];
    snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return write_text(group, file, text, err);
}

/* --- memory --- */

struct memory_files {
    const char *used, *hard;
    const char *soft; /* nine tenths of the limit, if incusd sets it */
    const char *swap; /* follows the limit, if it is set */
};
static const struct memory_files files_unified = {"memory.current", "memory.max", "memory.high",
                                                  "memory.swap.max"};
/* The swap file of v1 limits memory and swap together, and is never below the hard limit. */
static const struct memory_files files_single = {"memory.usage_in_bytes", "memory.limit_in_bytes",
                                                 "memory.soft_limit_in_bytes",
                                                 "memory.memsw.limit_in_bytes"};

/* Calculate the soft limit as incusd does. */
static uint64_t soft_of(uint64_t limit)
{
    return (uint64_t)((double)limit * 0.9);
}

/* Return whether a limit was derived from another: the kernel rounds limits to whole pages. */
static bool is_about(uint64_t limit, uint64_t of)
{
    uint64_t apart = limit > of ? limit - of : of - limit;
    return apart < 65536;
}

static int set_soft(int group, const struct memory_files *files, uint64_t before, uint64_t bytes,
                    struct error **err)
{
    uint64_t soft;
    if (read_number(group, files->soft, &soft, err) < 0)
        return -1;
    return is_about(soft, soft_of(before)) ? write_number(group, files->soft, soft_of(bytes), err)
                                           : 0;
}

static int set_swap(int group, const struct memory_files *files, uint64_t before, uint64_t bytes,
                    struct error **err)
{
    uint64_t swap;
    if (read_number(group, files->swap, &swap, err) < 0)
        return -1;
    if (is_about(swap, before))
        return write_number(group, files->swap, bytes, err);
    return is_about(swap, 2 * before) ? write_number(group, files->swap, 2 * bytes, err) : 0;
}

static int set_memory(const struct groups *groups, int group, uint64_t bytes, struct error **err)
{
    const struct memory_files *files = groups->unified ? &files_unified : &files_single;
    uint64_t used, before;
    if (read_number(group, files->used, &used, err) < 0 ||
        read_number(group, files->hard, &before, err) < 0)
        return -1;
    if (used > bytes)
        return error_set(err, ERR_RUNTIME_REFUSED, "the instance already uses %llu bytes of memory",
                         (unsigned long long)used);
    /* Without a present hard limit, it is not known which of the other limits follow it. */
    if (before == UINT64_MAX)
        return error_set(err, ERR_RUNTIME_REFUSED, "the instance has no limit of memory");
    if (bytes > before && set_swap(group, files, before, bytes, err) < 0)
        return -1;
    if (write_number(group, files->hard, bytes, err) < 0 ||
        (bytes < before && set_swap(group, files, before, bytes, err) < 0))
        return -1;
    return set_soft(group, files, before, bytes, err);
}

/* --- processors --- */

const char *groups_weight_file(const struct groups *groups)
{
    return groups->unified ? "cpu.weight" : "cpu.shares";
}

static int set_weight(const struct groups *groups, int group, unsigned cpu, struct error **err)
{
    return write_number(group, groups_weight_file(groups), cpu_weight(cpu, groups->unified), err);
}

static int read_cpus(int group, const char *file, struct cpus *cpus, struct error **err)
{
    char text[CPUS_TEXT_SIZE];
    if (read_text(group, file, text, sizeof text, err) < 0)
        return -1;
    if (cpus_read(text, cpus, err) < 0)
        return error_context(err, "%s", file);
    return 0;
}

int groups_cpus(const struct groups *groups, struct cpus *there, struct error **err)
{
    const char *all = groups->unified ? "cpuset.cpus.effective" : "cpuset.effective_cpus";
    if (read_cpus(groups->cpuset, all, there, err) < 0)
        return -1;
    return cpus_count(there)
               ? 0
               : error_set(err, ERR_RUNTIME_REFUSED, "cannot read the processors of the machine");
}

int group_cpus(const struct groups *groups, const struct instance_group *group, struct cpus *own,
               unsigned *wanted, struct error **err)
{
    uint64_t weight;
    if (read_cpus(group->cpuset, "cpuset.cpus", own, err) < 0 ||
        read_number(group->cpu, groups_weight_file(groups), &weight, err) < 0)
        return -1;
    unsigned weighed = cpu_of_weight(weight, groups->unified);
    *wanted = weighed ? weighed : cpus_count(own);
    return 0;
}

int group_set_cpus(const struct instance_group *group, const struct cpus *own, struct error **err)
{
    char text[CPUS_TEXT_SIZE];
    cpus_write(own, text);
    return write_text(group->cpuset, "cpuset.cpus", text, err);
}

/* Choose processors when the number changes. */
static int set_cpus(struct groups *groups, const struct instance_group *group, unsigned cpu,
                    struct error **err)
{
    struct cpus there, own;
    if (groups_cpus(groups, &there, err) < 0 ||
        read_cpus(group->cpuset, "cpuset.cpus", &own, err) < 0)
        return -1;
    unsigned count = cpus_count(&there);
    if (cpus_count(&own) == (cpu < count ? cpu : count))
        return 0;
    struct cpus chosen = own;
    cpus_choose(&chosen, &there, cpu, &groups->uses);
    if (group_set_cpus(group, &chosen, err) < 0)
        return -1;
    cpus_use(&own, &groups->uses, -1);
    cpus_use(&chosen, &groups->uses, 1);
    return 0;
}

static int read_used(const struct groups *groups, const char *instance, uint64_t *used_us,
                     struct error **err)
{
    static const char first[] = "usage_usec ";
    char text[NUMBER_SIZE];
    autoclose int group = open_group(groups, groups->cpuacct, "payload", instance, err);
    if (group < 0)
        return -1;
    if (!groups->unified) {
        int result = read_number(group, "cpuacct.usage", used_us, err);
        *used_us /= 1000;
        return result;
    }
    if (read_text(group, "cpu.stat", text, sizeof text, err) < 0)
        return -1;
    if (str_starts_with(text, first) &&
        str_parse_u64(text + strlen(first), 0, UINT64_MAX, used_us) == 0)
        return 0;
    return error_set(err, ERR_RUNTIME_REFUSED, "cpu.stat has an unknown form");
}

int groups_use(const struct groups *groups, const char *instance, struct group_use *use,
               struct error **err)
{
    struct cpus cpus;
    autoclose int cpuset = open_group(groups, groups->cpuset, "payload", instance, err);
    if (cpuset < 0 || read_cpus(cpuset, "cpuset.cpus", &cpus, err) < 0)
        return -1;
    use->cpus = cpus_count(&cpus);
    return read_used(groups, instance, &use->used_us, err);
}

int groups_weigh(struct groups *groups, const char *instance, double weight, struct error **err)
{
    const char *file = groups_weight_file(groups);
    double least = groups->unified ? 1 : SHARES_MIN;
    double value = groups->unified ? weight : weight * CPU_SHARES_FULL / 100;
    uint64_t before, wanted = (uint64_t)((value > least ? value : least) + 0.5);
    struct instance_group group;
    wanted += cpu_of_weight(wanted, groups->unified) != 0; /* a weight of whole vCPUs is a size */
    if (group_open(groups, instance, &group, err) < 0)
        return -1;
    int result = read_number(group.cpu, file, &before, err);
    unsigned sized = result == 0 ? cpu_of_weight(before, groups->unified) : 0;
    if (sized) /* Incus has set it; this is the last moment at which it can be seen */
        result = set_cpus(groups, &group, sized, err);
    if (result == 0 && before != wanted)
        result = write_number(group.cpu, file, wanted, err);
    group_close(&group);
    return result;
}

int groups_check(const struct groups *groups, struct error **err)
{
    const int folders[] = {groups->cpuset, groups->cpu, groups->memory};
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        autoclose int fd = open_beneath(folders[i], ".", O_PATH | O_DIRECTORY);
        if (fd < 0)
            return error_set_errno(err, ERR_RUNTIME_REFUSED, errno,
                                   "cannot open control groups with openat2");
    }
    return 0;
}

int groups_monitor(const struct groups *groups, const char *instance, pid_t *pid,
                   struct error **err)
{
    char text[NUMBER_SIZE];
    uint64_t number;
    autoclose int group = open_group(groups, groups->memory, "monitor", instance, err);
    if (group < 0 || read_text(group, "cgroup.procs", text, sizeof text, err) < 0)
        return -1;
    if (str_parse_u64(text, 2, INT_MAX, &number) < 0)
        return error_set(err, ERR_NOT_FOUND, "the instance has no LXC monitor process");
    *pid = (pid_t)number;
    return 0;
}

int groups_size(struct groups *groups, const struct order *order, struct error **err)
{
    struct instance_group group;
    autoclose int memory = open_group(groups, groups->memory, "payload", order->instance, err);
    if (memory < 0 || group_open(groups, order->instance, &group, err) < 0)
        return -1;
    int result = set_memory(groups, memory, (uint64_t)order->memory_mb << 20, err) < 0 ||
                         set_weight(groups, group.cpu, order->cpu, err) < 0 ||
                         set_cpus(groups, &group, order->cpu, err) < 0
                     ? -1
                     : 0;
    group_close(&group);
    return result;
}
