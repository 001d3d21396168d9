/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/launcher/processors.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/sizing.h"
#include "base/str.h"
#include "common/cpus.h"

#define CONTROLLERS "cgroup.controllers"
#define GROUP       "lxc.payload."

void processors_uncover(void)
{
    autofree char *incusd = xasprintf("/proc/%d/cgroup", (int)getppid());
    umount2(incusd, MNT_DETACH);
    umount2(PROCESSORS_ROOT "/" CONTROLLERS, MNT_DETACH);
}

/* Return the folder of the controller "cpuset"; the caller frees it. */
static char *folder_of(const char *root, bool *unified)
{
    autofree char *mark = xasprintf("%s/" CONTROLLERS, root);
    *unified = access(mark, F_OK) == 0;
    return xasprintf("%s%s", root, *unified ? "" : "/cpuset");
}

static bool read_cpus(const char *folder, const char *group, const char *file, struct cpus *cpus)
{
    char text[CPUS_TEXT_SIZE];
    error_auto ignored = NULL;
    autofree char *path = xasprintf("%s/%s/%s", folder, group, file);
    autofclose FILE *in = fopen(path, "re");
    if (!in || !fgets(text, sizeof text, in))
        return false;
    text[strcspn(text, "\n")] = '\0';
    return cpus_read(text, cpus, &ignored) == 0;
}

static void count_uses(const char *folder, const char *own_group, struct cpu_uses *uses)
{
    struct cpus cpus;
    DIR *all = opendir(folder);
    for (const struct dirent *entry; all && (entry = readdir(all));)
        if (str_starts_with(entry->d_name, GROUP) && !str_equal(entry->d_name, own_group) &&
            read_cpus(folder, entry->d_name, "cpuset.cpus", &cpus))
            cpus_use(&cpus, uses, 1);
    if (all)
        closedir(all);
}

/* Choose processors. Returns false if those of the machine are not known. */
static bool choose(const char *folder, bool unified, const char *own_group, unsigned wanted,
                   struct cpus *own)
{
    struct cpu_uses uses = {.of = {0}};
    struct cpus there;
    if (!read_cpus(folder, ".", unified ? "cpuset.cpus.effective" : "cpuset.effective_cpus",
                   &there))
        return false;
    count_uses(folder, own_group, &uses);
    cpus_choose(own, &there, wanted, &uses);
    return true;
}

int processors_configure(const char *root, const char *config_path,
                         const struct container_config *config, struct error **err)
{
    struct cpus own = {.words = {0}};
    char text[CPUS_TEXT_SIZE];
    bool unified;
    autofree char *folder = folder_of(root, &unified);
    if (!config->vcpus || !choose(folder, unified, "", config->vcpus, &own))
        return 0;
    cpus_write(&own, text);
    FILE *file = fopen(config_path, "ae");
    if (file)
        fprintf(file, "lxc.cgroup%s.cpuset.cpus = %s\n", unified ? "2" : "", text);
    return file && fclose(file) == 0
               ? 0
               : error_set_errno(err, ERR_CONFIG, errno, "cannot write configuration %s",
                                 config_path);
}

static void write_number(const char *path, uint64_t number)
{
    autofclose FILE *file = fopen(path, "we");
    if (file)
        fprintf(file, "%llu", (unsigned long long)number);
}

void processors_correct(const char *root, const char *name, const struct container_config *config)
{
    struct cpus own, chosen;
    char text[CPUS_TEXT_SIZE];
    bool unified;
    autofree char *folder = folder_of(root, &unified);
    autofree char *group = xasprintf(GROUP "%s", name);
    autofree char *path = xasprintf("%s/%s/cpuset.cpus", folder, group);
    autofree char *weight = xasprintf("%s/%s%s/%s", root, unified ? "" : "cpu/", group,
                                      unified ? "cpu.weight" : "cpu.shares");
    if (!config->vcpus || !read_cpus(folder, group, "cpuset.cpus", &own))
        return;
    write_number(weight, cpu_weight(config->vcpus, unified));
    chosen = own;
    if (!choose(folder, unified, group, config->vcpus, &chosen) ||
        cpus_count(&chosen) == cpus_count(&own))
        return;
    cpus_write(&chosen, text);
    autofclose FILE *file = fopen(path, "we");
    if (file)
        fputs(text, file);
}
