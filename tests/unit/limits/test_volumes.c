/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is mounted in an instance that runs, or mounted anew: here a process in namespaces of its
 * own.
 */
#include "unit/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "common/mount_note.h"
#include "limits/inside.h"
#include "limits/shared_memory.h"
#include "limits/volumes.h"

#define NAME   "warm-01m84zv6v7k928m8ea9wv1r61y"
#define VOLUME "vol-01m84zv6v7k928m8ea9wv1r61y"
#define ROOTFS "pool/containers/p_" NAME "/rootfs"
#define FIRST  1000000 /* id on the host of its root */

static pid_t instance; /* 0: none could be made */

static void make_folders(const char *const paths[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(mkdir(paths[i], 0755), 0);
}

static void make_host(void)
{
    static const char *const paths[] = {
        "pool",
        "pool/custom",
        "pool/custom/p_" VOLUME,
        "pool/containers",
        "pool/containers/p_" NAME,
        ROOTFS,
        ROOTFS "/tmp",
        ROOTFS "/outside",
        ROOTFS "/stuck",
        ROOTFS "/dev",
        ROOTFS "/dev/shm",
        "groups",
        "groups/lxc.monitor.p_" NAME,
    };
    char text[16];
    assert_int_equal(chmod(".", 0755), 0); /* NOLINT */
    make_folders(paths, ARRAY_SIZE(paths));
    assert_int_equal(symlink("outside", ROOTFS "/link"), 0);
    assert_int_equal(chown(ROOTFS, FIRST, FIRST), 0);
    assert_int_equal(chown("pool/custom/p_" VOLUME, 1000, 1000), 0);
    assert_int_equal(mknod(ROOTFS "/fuse", S_IFCHR | 0600, makedev(10, 229)), 0);
    assert_int_equal(chown(ROOTFS "/fuse", FIRST, FIRST), 0);
    write_file("pool/custom/p_" VOLUME "/x", "");
    write_file("groups/cgroup.controllers", "");
    snprintf(text, sizeof text, "%d\n", (int)getpid());
    write_file("groups/lxc.monitor.p_" NAME "/cgroup.procs", text);
}

/* Mount a file system of the guest, and answer nothing but its beginning. */
static void serve_stuck(int fuse)
{
    static char request[FUSE_MIN_READ_BUFFER * 32];
    struct {
        struct fuse_out_header head;
        struct fuse_init_out init;
    } answer = {.head.len = sizeof answer,
                .init = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION}};
    const struct fuse_in_header *asked = (const void *)request;
    autofree char *options = xasprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
    if (fuse < 0 || mount("stuck", "/stuck", "fuse", 0, options) < 0)
        return;
    while (read(fuse, request, sizeof request) > 0) {
        answer.head.unique = asked->unique;
        if (asked->opcode == FUSE_INIT && write(fuse, &answer, sizeof answer) < 0)
            return;
    }
}

/* What a guest is when its host looks: its disk is its root, with a mount of its own. */
static void be_instance(int wait, int ready)
{
    char byte;
    if (read(wait, &byte, 1) == 1 && setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0) == 0 &&
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount(ROOTFS, ROOTFS, NULL, MS_BIND, NULL) == 0 && chdir(ROOTFS) == 0 &&
        syscall(SYS_pivot_root, ".", ".") == 0 && umount2(".", MNT_DETACH) == 0 &&
        mount("none", "/tmp", "tmpfs", 0, NULL) == 0 &&
        mount("none", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "size=256m,mode=1777") == 0 &&
        write(ready, "", 1) == 1) {
        serve_stuck(open("/fuse", O_RDWR | O_CLOEXEC));
        pause();
    }
    _exit(1);
}

/* Return whether the file system of these folders can map user ids in a mount. */
static bool can_map(void)
{
    autofree char *path = xasprintf("/proc/%d/ns/user", (int)instance);
    int users = open(path, O_RDONLY | O_CLOEXEC);
    int tree = open_tree(AT_FDCWD, "pool", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    struct mount_attr attributes = {.attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)users};
    bool can = mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0;
    close(tree);
    close(users);
    return can;
}

static int start_instance(void **state)
{
    int go[2], ready[2];
    char byte, path[64];
    if (make_folder(state) < 0)
        return -1;
    if (geteuid() != 0 || pipe(go) < 0 || pipe(ready) < 0)
        return 0;
    make_host();
    instance = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | SIGCHLD, NULL,
                              NULL, NULL, 0);
    if (instance == 0)
        be_instance(go[0], ready[1]);
    close(ready[1]);
    if (instance > 0) {
        snprintf(path, sizeof path, "/proc/%d/uid_map", (int)instance);
        write_file(path, "0 1000000 65536\n");
        snprintf(path, sizeof path, "/proc/%d/gid_map", (int)instance);
        write_file(path, "0 1000000 65536\n");
    }
    if (instance < 0 || write(go[1], "", 1) != 1 || read(ready[0], &byte, 1) != 1 || !can_map())
        instance = 0;
    return 0;
}

static int end_instance(void **state)
{
    if (instance > 0 && kill(instance, SIGKILL) == 0)
        waitpid(instance, NULL, 0);
    return remove_folder(state);
}

static int mount_at(const char *path, struct error **err)
{
    const struct volumes volumes = {"pool", "p", "notes", 60000};
    struct order order = {.instance = NAME, .mount_count = 1, .mounts = {{.volume = VOLUME}}};
    struct groups groups;
    if (!instance)
        skip();
    snprintf(order.mounts[0].path, sizeof order.mounts[0].path, "%s", path);
    assert_int_equal(groups_open(&groups, "groups", "p", err), 0);
    int result = volumes_mount(&volumes, &groups, &order, err);
    groups_close(&groups);
    return result;
}

static bool is_there(const char *path)
{
    autofree char *seen = xasprintf("/proc/%d/root%s", (int)instance, path);
    return access(seen, F_OK) == 0;
}

static unsigned count_mounts(const char *path)
{
    autofree char *name = xasprintf("/proc/%d/mountinfo", (int)instance);
    autofree char *wanted = xasprintf(" %s ", path);
    autofree char *line = NULL;
    size_t size = 0;
    unsigned count = 0;
    autofclose FILE *file = fopen(name, "re");
    while (file && getline(&line, &size, file) >= 0)
        if (strstr(line, wanted)) {
            assert_null(strstr(line, "shared:"));
            assert_null(strstr(line, "master:"));
            count++;
        }
    return count;
}

TEST(a_volume_is_mounted_once)
{
    struct stat made;
    error_auto err = NULL;
    assert_int_equal(mount_at("/mnt/a b/c", &err), 0);
    assert_true(is_there("/mnt/a b/c/x"));
    autofree char *volume = xasprintf("/proc/%d/root/mnt/a b/c", (int)instance);
    assert_int_equal(stat(volume, &made), 0);
    assert_int_equal(made.st_uid, FIRST + 1000);
    assert_int_equal(made.st_gid, FIRST + 1000);
    assert_int_equal(count_mounts("/mnt/a\\040b/c"), 1);
    assert_int_equal(stat(ROOTFS "/mnt/a b", &made), 0);
    assert_int_equal(made.st_uid, FIRST);
    assert_int_equal(made.st_mode & 07777, 0755);
    assert_int_equal(access(ROOTFS "/mnt/a b/c/x", F_OK), -1);
    assert_int_equal(mount_at("/mnt/a b/c", &err), 0);
    assert_int_equal(count_mounts("/mnt/a\\040b/c"), 1);
    mount_note_remove("notes", NAME);
    assert_fails_saying(mount_at("/mnt/a b/c", &err), ERR_RUNTIME_REFUSED,
                        "cannot open a mount point");
}

TEST(a_guest_leads_nowhere)
{
    static const char *const places[] = {"/link", "/link/a", "/tmp", "/tmp/a"};
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        error_auto err = NULL;
        assert_fails_saying(mount_at(places[i], &err), ERR_RUNTIME_REFUSED,
                            "cannot open a mount point");
    }
    assert_false(is_there("/outside/a"));
    assert_false(is_there("/tmp/a"));
    autofree char *note = mount_note_read("notes", NAME);
    assert_null(note);
}

TEST(one_without_ids_of_instances_is_left_to_incusd)
{
    static const uid_t others[] = {65535, FIRST + 1000};
    error_auto err = NULL;
    if (!instance)
        skip();
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        assert_int_equal(chown("pool/custom/p_" VOLUME, others[i], others[i]), 0);
        assert_fails_saying(mount_at("/data", &err), ERR_RUNTIME_REFUSED, "user ids");
        assert_false(is_there("/data/x"));
    }
    assert_int_equal(chown("pool/custom/p_" VOLUME, 1000, 1000), 0);
}

TEST(what_is_not_there_is_refused)
{
    error_auto err = NULL;
    if (!instance)
        skip();
    assert_int_equal(rename("pool/custom/p_" VOLUME, "pool/away"), 0);
    assert_fails_saying(mount_at("/data", &err), ERR_RUNTIME_REFUSED, VOLUME);
    assert_int_equal(symlink("../away", "pool/custom/p_" VOLUME), 0);
    assert_fails_saying(mount_at("/data", &err), ERR_RUNTIME_REFUSED, VOLUME);
    assert_int_equal(unlink("pool/custom/p_" VOLUME), 0);
    assert_int_equal(rename("pool/away", "pool/custom/p_" VOLUME), 0);
    autofree char *other = xasprintf("%d\n", (int)instance); /* which has no children */
    write_file("groups/lxc.monitor.p_" NAME "/cgroup.procs", other);
    assert_fails_saying(mount_at("/data", &err), ERR_NOT_FOUND, "first process");
}

static uint64_t shared_memory_mb(struct statvfs *found)
{
    autofree char *path = xasprintf("/proc/%d/root/dev/shm", (int)instance);
    assert_int_equal(statvfs(path, found), 0);
    return (uint64_t)found->f_blocks * found->f_frsize >> 20;
}

TEST(shared_memory_is_half_of_the_new_size)
{
    const struct order order = {.instance = NAME, .memory_mb = 1664};
    struct groups groups;
    struct statvfs found;
    error_auto err = NULL;
    if (!instance)
        skip();
    autofree char *monitor = xasprintf("%d\n", (int)getpid());
    write_file("groups/lxc.monitor.p_" NAME "/cgroup.procs", monitor);
    assert_int_equal(shared_memory_mb(&found), 256);
    assert_int_equal(groups_open(&groups, "groups", "p", &err), 0);
    assert_ok(shared_memory_size(&groups, &order, 60000, &err));
    groups_close(&groups);
    assert_int_equal(shared_memory_mb(&found), 832);
    assert_int_equal(found.f_flag & (ST_NOSUID | ST_NODEV | ST_RDONLY), ST_NOSUID | ST_NODEV);
}

static const char *go_into_stuck(const void *context)
{
    (void)context;
    return access("/stuck/a", F_OK) < 0 && errno != ENOENT ? "it is stuck" : NULL;
}

/* Whether a process has ended by then. */
static bool ends(pid_t pid, unsigned within_ms)
{
    for (unsigned waited_ms = 0; waited_ms < within_ms; waited_ms += 10) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return true;
        usleep(10000);
    }
    return false;
}

/* An order keeps its place as long as the guest holds one of its processes. */
TEST(a_process_that_a_guest_holds_is_waited_for)
{
    error_auto err = NULL;
    if (!instance)
        skip();
    for (unsigned i = 0; i < 100 && !count_mounts("/stuck"); i++)
        usleep(10000);
    if (!count_mounts("/stuck"))
        skip();
    pid_t pid = fork();
    if (pid == 0) {
        int init = pidfd_open(instance, 0);
        int result = inside_run(init, 100, go_into_stuck, NULL, &err);
        inside_wait();
        _exit(result < 0 ? 0 : 1);
    }
    assert_false(ends(pid, 1000));
    assert_int_equal(kill(instance, SIGKILL), 0);
    assert_int_equal(waitpid(instance, NULL, 0), instance);
    instance = 0;
    assert_true(ends(pid, 10000));
}

TEST_GROUP(start_instance, end_instance)
