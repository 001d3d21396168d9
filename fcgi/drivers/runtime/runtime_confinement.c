/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The confinement of a container: its system calls, its capabilities, its view of the host, and its
 * share of the machine's counted objects. Nothing here calls Incus.
 */
#include <string.h>

#include "base/disk_view.h"
#include "base/guest_limits.h"
#include "base/mem.h"
#include "runtime/runtime_incus.h"

/*
 * Refused system calls. liblxc loads each line for the machine's own calls and for those of its
 * relatives. "errno 1": not permitted; "errno 38": not there, for callers that know another way.
 *
 * A filter compares 64 bits where the kernel looks at the lower half of some arguments; such
 * lines use a mask or refuse everything above as well.
 */
#define INET_REFUSED(family)                                                   \
    "socket errno 93 [0," family ",SCMP_CMP_EQ] [2,255,SCMP_CMP_GT]\n"         \
    "socket errno 93 [0," family ",SCMP_CMP_EQ] [2,33,SCMP_CMP_EQ]\n"          \
    "socket errno 93 [0," family ",SCMP_CMP_EQ] [2,115,SCMP_CMP_EQ]\n"         \
    "socket errno 93 [0," family ",SCMP_CMP_EQ] [2,132,SCMP_CMP_EQ]\n"         \
    "socket errno 93 [0," family ",SCMP_CMP_EQ] [2,136,SCMP_CMP_EQ]\n"         \
    "socket errno 94 [0," family ",SCMP_CMP_EQ] [1,4,SCMP_CMP_MASKED_EQ,12]\n" \
    "socket errno 94 [0," family ",SCMP_CMP_EQ] [1,8,SCMP_CMP_MASKED_EQ,8]\n"

static const char denied_syscalls[] =
    /* Nested namespaces. CRIU cannot dump user and process namespaces. The kernel counts namespaces
     * for the whole machine. Most kernel exploits start in one. clone3() hides its flags from
     * filters, and libc falls back to clone(). */
    "unshare errno 1\n"
    "setns errno 1\n"
    "clone3 errno 38\n"
    "clone errno 1 [0,131072,SCMP_CMP_MASKED_EQ,131072]\n"         /* CLONE_NEWNS */
    "clone errno 1 [0,33554432,SCMP_CMP_MASKED_EQ,33554432]\n"     /* CLONE_NEWCGROUP */
    "clone errno 1 [0,67108864,SCMP_CMP_MASKED_EQ,67108864]\n"     /* CLONE_NEWUTS */
    "clone errno 1 [0,134217728,SCMP_CMP_MASKED_EQ,134217728]\n"   /* CLONE_NEWIPC */
    "clone errno 1 [0,268435456,SCMP_CMP_MASKED_EQ,268435456]\n"   /* CLONE_NEWUSER */
    "clone errno 1 [0,536870912,SCMP_CMP_MASKED_EQ,536870912]\n"   /* CLONE_NEWPID */
    "clone errno 1 [0,1073741824,SCMP_CMP_MASKED_EQ,1073741824]\n" /* CLONE_NEWNET */
    /* Mounts: the capability is gone as well, the code behind them need not even be entered. */
    "mount errno 1\n"
    "umount2 errno 1\n"
    "pivot_root errno 1\n"
    "fsopen errno 1\n"
    "fspick errno 1\n"
    "fsconfig errno 1\n"
    "fsmount errno 1\n"
    "open_tree errno 1\n"
    "move_mount errno 1\n"
    "mount_setattr errno 1\n"
    "swapon errno 1\n"
    "swapoff errno 1\n"
    "quotactl errno 1\n"
    "quotactl_fd errno 1\n"
    /* The machine itself. */
    "acct errno 1\n"
    "syslog errno 1\n"
    "vhangup errno 1\n"
    "settimeofday errno 1\n"
    "clock_settime errno 1\n"
    "clock_adjtime errno 1\n"
    "adjtimex errno 1\n"
    "iopl errno 1\n"
    "ioperm errno 1\n"
    "modify_ldt errno 38\n"
    "kexec_file_load errno 38\n"
    /* System calls whose objects CRIU cannot dump, or that are counted for the machine (128 groups
     * of fanotify, keys), or that kernel exploits start from. */
    "io_uring_setup errno 38\n"
    "io_uring_enter errno 38\n"
    "io_uring_register errno 38\n"
    "memfd_secret errno 38\n"
    "userfaultfd errno 38\n"
    "fanotify_init errno 38\n"
    "perf_event_open errno 1\n"
    "bpf errno 1\n"
    "keyctl errno 38\n"
    "add_key errno 38\n"
    "request_key errno 38\n"
    /* Anyone who owns a directory of a btrfs may make subvolumes and snapshots in it
     * (BTRFS_IOC_SUBVOL_CREATE, _SNAP_CREATE and their second versions), and their contents count
     * against no limit. */
    "ioctl errno 1 [1,1342215182,SCMP_CMP_MASKED_EQ,4294967295]\n"
    "ioctl errno 1 [1,1342215169,SCMP_CMP_MASKED_EQ,4294967295]\n"
    "ioctl errno 1 [1,1342215192,SCMP_CMP_MASKED_EQ,4294967295]\n"
    "ioctl errno 1 [1,1342215191,SCMP_CMP_MASKED_EQ,4294967295]\n"
    /* The quota group that wrote an extent pays as long as the extent exists. So data that is
     * cloned into a volume would cost the volume nothing, and stay after the sandbox that paid is
     * deleted. "Not supported" and "another file system" make programs copy.
     * BTRFS_IOC_SUBVOL_SETFLAGS makes a volume read-only, for the file service of the API as well.
     * */
    "ioctl errno 1 [1,1074304026,SCMP_CMP_MASKED_EQ,4294967295]\n"  /* BTRFS_IOC_SUBVOL_SETFLAGS */
    "ioctl errno 95 [1,1074041865,SCMP_CMP_MASKED_EQ,4294967295]\n" /* FICLONE */
    "ioctl errno 95 [1,1075876877,SCMP_CMP_MASKED_EQ,4294967295]\n" /* FICLONERANGE */
    "ioctl errno 95 [1,3222836278,SCMP_CMP_MASKED_EQ,4294967295]\n" /* FIDEDUPERANGE */
    "copy_file_range errno 18\n"
    /* Sockets are of AF_UNIX (1), AF_INET (2), AF_INET6 (10) and AF_NETLINK (16): all others,
     * AF_PACKET, AF_ALG, AF_VSOCK and AF_XDP among them, are an unknown family. */
    "socket errno 97 [0,16,SCMP_CMP_GT]\n"
    "socket errno 97 [0,3,SCMP_CMP_EQ]\n"
    "socket errno 97 [0,4,SCMP_CMP_EQ]\n"
    "socket errno 97 [0,5,SCMP_CMP_EQ]\n"
    "socket errno 97 [0,6,SCMP_CMP_EQ]\n"
    "socket errno 97 [0,7,SCMP_CMP_EQ]\n"
    "socket errno 97 [0,8,SCMP_CMP_EQ]\n"
    "socket errno 97 [0,9,SCMP_CMP_EQ]\n"
    "socket errno 97 [0,11,SCMP_CMP_EQ]\n"
    "socket errno 97 [0,12,SCMP_CMP_EQ]\n"
    "socket errno 97 [0,13,SCMP_CMP_EQ]\n"
    "socket errno 97 [0,14,SCMP_CMP_EQ]\n"
    "socket errno 97 [0,15,SCMP_CMP_EQ]\n"
    "socketpair errno 97 [0,1,SCMP_CMP_NE]\n"
    /* Of AF_INET and AF_INET6: streams, datagrams and raw packets, of the usual protocols. The
     * kernel would load a module of the host for the others: SCTP (132, and SOCK_SEQPACKET), DCCP
     * (33, and type 6), L2TP (115), UDP-Lite (136), SMC (256) and MPTCP (262). */
    INET_REFUSED("2") INET_REFUSED("10")
    /* Of netlink: routes (0), sockets (4), audit (9, which sudo tries) and uevents (15). */
    "socket errno 93 [0,16,SCMP_CMP_EQ] [2,15,SCMP_CMP_GT]\n"
    "socket errno 93 [0,16,SCMP_CMP_EQ] [2,1,SCMP_CMP_EQ]\n"
    "socket errno 93 [0,16,SCMP_CMP_EQ] [2,2,SCMP_CMP_EQ]\n"
    "socket errno 93 [0,16,SCMP_CMP_EQ] [2,3,SCMP_CMP_EQ]\n"
    "socket errno 93 [0,16,SCMP_CMP_EQ] [2,5,SCMP_CMP_EQ]\n"
    "socket errno 93 [0,16,SCMP_CMP_EQ] [2,6,SCMP_CMP_EQ]\n" /* NETLINK_XFRM */
    "socket errno 93 [0,16,SCMP_CMP_EQ] [2,7,SCMP_CMP_EQ]\n"
    "socket errno 93 [0,16,SCMP_CMP_EQ] [2,8,SCMP_CMP_EQ]\n"
    "socket errno 93 [0,16,SCMP_CMP_EQ] [2,10,SCMP_CMP_EQ]\n"
    "socket errno 93 [0,16,SCMP_CMP_EQ] [2,11,SCMP_CMP_EQ]\n"
    "socket errno 93 [0,16,SCMP_CMP_EQ] [2,12,SCMP_CMP_EQ]\n" /* NETLINK_NETFILTER */
    "socket errno 93 [0,16,SCMP_CMP_EQ] [2,13,SCMP_CMP_EQ]\n"
    "socket errno 93 [0,16,SCMP_CMP_EQ] [2,14,SCMP_CMP_EQ]\n";

/*
 * The capabilities of root in a sandbox, which every process there can gain. sys_boot lets it
 * switch its sandbox off: in a process namespace reboot() ends only that namespace's init.
 * sys_ptrace is for debuggers, and for the agent, which finds the owner of a listening port. A
 * template may add net_admin, for interfaces, addresses and routes of the instance's own.
 */
static const char capabilities[] =
    "lxc.cap.drop=\n"
    "lxc.cap.keep=chown dac_override fowner fsetid kill setgid setuid setpcap setfcap "
    "net_bind_service net_raw sys_chroot sys_ptrace sys_boot audit_write";

/*
 * For hosts with AppArmor, rules that Incus puts into the profile of the instance: another part of
 * the kernel refuses the same acts as the filter and the missing capabilities.
 *
 * sys_admin is not refused here: liblxc loads the filter when the profile is in force already, and
 * the kernel wants that capability for it. lxc.cap.keep drops it before the first process runs.
 */
static const char apparmor[] = "deny mount,\n"
                               "deny umount,\n"
                               "deny pivot_root,\n"
                               "deny capability sys_module,\n"
                               "deny capability sys_rawio,\n"
                               "deny capability sys_resource,\n"
                               "deny capability sys_time,\n"
                               "deny capability syslog,\n"
                               "deny capability mac_admin,\n"
                               "deny capability mac_override,\n"
                               "deny network packet,\n"
                               "deny network vsock,\n"
                               "deny network alg,\n"
                               "deny network xdp,\n"
                               "deny /sys/** wklx,\n"
                               "deny @{PROC}/sys/kernel/** wklx,\n"
                               "deny @{PROC}/sys/fs/** wklx,\n"
                               "deny @{PROC}/sys/vm/** wklx,\n"
                               "deny @{PROC}/sysrq-trigger rwklx,\n"
                               "deny @{PROC}/kcore rwklx,\n";

/* The host's disks, loop files, load and interrupts; and no write to /sys. */
static const char view[] =
    "lxc.mount.auto=sys:ro cgroup:ro:force\n"
    "lxc.mount.entry=none sys/block tmpfs ro,nosuid,nodev,noexec,size=4k,mode=555,optional 0 0\n"
    "lxc.mount.entry=none sys/devices/virtual/block tmpfs "
    "ro,nosuid,nodev,noexec,size=4k,mode=555,optional 0 0\n"
    "lxc.mount.entry=none sys/kernel/slab tmpfs "
    "ro,nosuid,nodev,noexec,size=4k,mode=555,optional 0 0\n"
    "lxc.mount.entry=none proc/pressure tmpfs "
    "ro,nosuid,nodev,noexec,size=4k,mode=555,optional 0 0\n"
    "lxc.mount.entry=none proc/irq tmpfs ro,nosuid,nodev,noexec,size=4k,mode=555,optional 0 0\n"
    "lxc.mount.entry=/dev/null proc/interrupts none bind,ro,optional 0 0\n"
    "lxc.mount.entry=/dev/null proc/softirqs none bind,ro,optional 0 0\n"
    "lxc.mount.entry=/dev/null proc/vmstat none bind,ro,optional 0 0\n"
    "lxc.mount.entry=/dev/null proc/zoneinfo none bind,ro,optional 0 0\n"
    "lxc.mount.entry=/dev/null proc/buddyinfo none bind,ro,optional 0 0\n"
    "lxc.mount.entry=/dev/null proc/schedstat none bind,ro,optional 0 0\n"
    "lxc.mount.entry=/dev/null proc/partitions none bind,ro,optional 0 0\n"
    "lxc.mount.entry=/dev/null proc/keys none bind,ro,optional 0 0\n"
    "lxc.mount.entry=/dev/null proc/key-users none bind,ro,optional 0 0\n";

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

/*
 * Limits that are counted by user; all sandboxes have the same user. See also load-network. No
 * limit is above the kernel's default, so that no start needs a right to raise it. Only with a core
 * file limit of 1 the kernel does not run a crash program of the host.
 */
static const struct {
    const char *key, *value;
} limits[] = {
    {"limits.processes", TEXT(GUEST_PROCESSES_MAX)},
    {"limits.memory.swap", "false"},
    {"limits.kernel.core", "1"},
    {"limits.kernel.msgqueue", "819200"},
    {"limits.kernel.sigpending", "8192"},
};

/* The sandbox's own quota group replaces the groups of the whole storage pool for the agent. */
static char *disk_view(const struct runtime_instance *instance)
{
    return instance ? xasprintf("lxc.mount.entry=" DISK_VIEW_LINKS "/%s " DISK_VIEW_TARGET
                                " none bind,ro,optional 0 0\n",
                                instance->name)
                    : xstrdup("lxc.mount.entry=none " DISK_VIEW_TARGET
                              " tmpfs ro,nosuid,nodev,noexec,size=4k,mode=555,optional 0 0\n");
}

#define SHARED_MEMORY "lxc.mount.entry=shm dev/shm tmpfs nosuid,nodev,mode=1777,create=dir"
#define SHARED_SIZE   ",size=%um"

char *runtime_lxc(const struct runtime_instance *instance, const char *init)
{
    /* Shared memory is half of all, to leave room for others; a template cannot mount it. liblxc
     * must load its filter although the launcher has set one before. A console is a pty of the
     * host that no dump can hold. Programs inside must not see the name of an instance; a warm
     * instance has another name than its sandbox. */
    autofree char *size =
        instance ? xasprintf(SHARED_SIZE, instance->resources.memory_mb / 2) : xstrdup("");
    autofree char *disk = disk_view(instance);
    autofree char *first = init ? xasprintf("lxc.init.cmd=%s\n", init) : xstrdup("");
    /* fcgi/host/helper/launcher reads this at the first start of an instance that continues from
     * memory. */
    const char *group = instance && instance->with_memory && !instance->step_by_step
                            ? "lxc.group=sandlot-memory\n"
                            : "";
    return xasprintf("lxc.uts.name=sandbox\n"
                     "lxc.console.path=none\n"
                     "lxc.pty.max=256\n"
                     "lxc.seccomp.allow_nesting=1\n" SHARED_MEMORY "%s 0 0\n"
                     "%s%s%s%s\n%s%s",
                     size, group, first, capabilities,
                     instance && instance->net_admin ? " net_admin" : "", view, disk);
}

char *runtime_lxc_resized(const char *lxc, unsigned memory_mb)
{
    const char *found = strstr(lxc, SHARED_MEMORY);
    if (!found)
        return xstrdup(lxc);
    const char *behind = found + strlen(SHARED_MEMORY);
    return xasprintf("%.*s" SHARED_SIZE "%s", (int)(behind - lxc), lxc, memory_mb / 2,
                     behind + strcspn(behind, " \n"));
}

json_t *runtime_confinement(void)
{
    json_t *config = json_pack("{s:s, s:s, s:s, s:s, s:s}", "security.privileged", "false",
                               "security.nesting", "false", "security.syscalls.deny_compat", "true",
                               "security.syscalls.deny", denied_syscalls, "raw.apparmor", apparmor);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        json_object_set_new(config, limits[i].key, json_string(limits[i].value));
    autofree char *lxc = runtime_lxc(NULL, NULL);
    json_object_set_new(config, "raw.lxc", json_string(lxc));
    return config;
}
