/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What incusd-exec reads of a container's configuration, what it looks at before a start, how it
 * ends one that does not end, which memory one goes on from, how it tells incusd of a container's
 * hooks, which volumes one was given before incusd knew, and how it slows down reboots. */
#include "unit/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "common/bounded_run.h"
#include "common/mount_note.h"
#include "helper/launcher/container_config.h"
#include "helper/launcher/granted_mounts.h"
#include "helper/launcher/hook.h"
#include "helper/launcher/incusd.h"
#include "helper/launcher/machine.h"
#include "helper/launcher/memory.h"
#include "helper/launcher/mount_points.h"
#include "helper/launcher/orphans.h"
#include "helper/launcher/processors.h"
#include "helper/launcher/reboots.h"

/* --- the configuration --- */

TEST(a_configuration_is_read)
{
    container_config_auto config;
    error_auto err = NULL;
    write_file("lxc.conf",
               "lxc.log.file = /log/c/lxc.log\n"
               "# a remark\n"
               "no value\n"
               "lxc.rootfs.path = btrfs:/former\n"
               "lxc.rootfs.path = dir:/pool/c/rootfs\n"
               "lxc.mount.entry = /dev/fuse dev/fuse none bind,create=file,optional 0 0\n"
               "lxc.mount.entry = /a\\040b\\134c //data\\011x none bind,create=dir 0 0\n"
               "lxc.mount.entry = lonely\n"
               "lxc.mount.entry = proc proc\n"
               "lxc.mount.entry = /\\4 x\\\n"
               "lxc.net.0.link = veth0\n"
               "lxc.net.0.hwaddr = 10:66:6a:00:00:01\n"
               "lxc.net.11.link = veth11\n"
               "lxc.group = sandlot-memory-not\n"
               "lxc.link = none\n");
    assert_ok(container_config_read("lxc.conf", &config, &err));
    assert_string_equal(config.rootfs, "/pool/c/rootfs");
    assert_string_equal(config.log_file, "/log/c/lxc.log");
    assert_string_equal(config.run_folder, ".");
    assert_int_equal(config.mount_count, 4);
    assert_string_equal(config.mounts[0].target, "dev/fuse");
    assert_true(config.mounts[0].is_file);
    assert_string_equal(config.mounts[1].source, "/a b\\c");
    assert_string_equal(config.mounts[1].target, "data\tx");
    assert_false(config.mounts[1].is_file);
    assert_string_equal(config.mounts[2].target, "proc");
    assert_string_equal(config.mounts[3].source, "/\\4");
    assert_string_equal(config.mounts[3].target, "x\\");
    assert_int_equal(config.link_count, 2);
    assert_string_equal(config.links[0], "veth0");
    assert_string_equal(config.links[1], "veth11");
    assert_false(config.goes_on);
}

TEST(a_configuration_has_a_bound)
{
    container_config_auto config, missing;
    error_auto err = NULL;
    FILE *file = fopen("large.conf", "we");
    for (unsigned i = 0; i <= CONTAINER_MOUNTS_MAX; i++)
        assert_true(fprintf(file, "lxc.mount.entry = /s t%u\n", i) > 0);
    assert_int_equal(fclose(file), 0);
    assert_fails_saying(container_config_read("large.conf", &config, &err), ERR_CONFIG,
                        "more than");
    assert_fails_saying(container_config_read("missing.conf", &missing, &err), ERR_CONFIG,
                        "missing.conf");
}

/* --- processors --- */

static void make_groups(const char *others)
{
    assert_int_equal(system("rm -rf groups && mkdir -p groups/lxc.payload.a"), 0); /* NOLINT */
    write_file("groups/cgroup.controllers", "cpuset cpu memory\n");
    write_file("groups/cpuset.cpus.effective", "0-3\n");
    write_file("groups/lxc.payload.a/cpuset.cpus", others);
}

static void assert_configured(const char *weight, const char *expected)
{
    container_config_auto config;
    char found[256] = "";
    error_auto err = NULL;
    write_file("cpus.conf", weight);
    assert_ok(container_config_read("cpus.conf", &config, &err));
    assert_ok(processors_configure("groups", "cpus.conf", &config, &err));
    autofclose FILE *file = fopen("cpus.conf", "re");
    assert_non_null(file);
    assert_true(fread(found, 1, sizeof found - 1, file) > 0);
    autofree char *whole = xasprintf("%s%s", weight, expected);
    assert_string_equal(found, whole);
}

TEST(a_start_has_the_processors_of_its_weight)
{
    make_groups("0-1\n");
    assert_configured("lxc.cgroup2.cpu.weight = 25\n", "lxc.cgroup2.cpuset.cpus = 2\n");
    assert_configured("lxc.cgroup2.cpu.weight = 75\n", "lxc.cgroup2.cpuset.cpus = 0,2,3\n");
    assert_configured("lxc.cgroup2.cpu.weight = 200\n", "lxc.cgroup2.cpuset.cpus = 0,1,2,3\n");
    assert_configured("lxc.cgroup2.cpu.weight = x\n", "");
    assert_configured("lxc.cgroup2.memory.max = 25\n", "");
    assert_int_equal(unlink("groups/cpuset.cpus.effective"), 0);
    assert_configured("lxc.cgroup2.cpu.weight = 25\n", "");
}

TEST(a_start_with_a_hierarchy_for_each_controller)
{
    make_groups("0\n");
    assert_int_equal(system("mv groups cpuset && mkdir groups && mv cpuset groups &&" /* NOLINT */
                            " rm groups/cpuset/cgroup.controllers"),
                     0);
    write_file("groups/cpuset/cpuset.effective_cpus", "0-1\n");
    assert_configured("lxc.cgroup.cpu.shares = 256\n", "lxc.cgroup.cpuset.cpus = 1\n");
    assert_configured("lxc.cgroup.cpu.shares = 512\n", "lxc.cgroup.cpuset.cpus = 0,1\n");
}

static void assert_corrected(unsigned vcpus, const char *expected)
{
    const struct container_config config = {.vcpus = vcpus};
    char found[64] = "";
    processors_correct("groups", "b", &config);
    autofclose FILE *file = fopen("groups/lxc.payload.b/cpuset.cpus", "re");
    assert_non_null(file);
    assert_non_null(fgets(found, sizeof found, file));
    assert_string_equal(found, expected);
}

TEST(a_restore_has_another_number_of_processors)
{
    make_groups("0-1\n");
    assert_int_equal(mkdir("groups/lxc.payload.b", 0755), 0);
    write_file("groups/lxc.payload.b/cpuset.cpus", "0\n");
    assert_corrected(0, "0\n");
    assert_corrected(1, "0\n");
    assert_corrected(2, "2,3");
}

/* --- what is mounted on --- */

/* A root file system with the places of every start, and one more mount entry. */
static void check_mount(const char *entry, struct error **err)
{
    container_config_auto config;
    autofree char *text =
        xasprintf("lxc.rootfs.path = dir:%s/rootfs\nlxc.mount.entry = %s\n", folder, entry);
    write_file("mounts.conf", text);
    assert_int_equal(container_config_read("mounts.conf", &config, err), 0);
    mount_points_check(&config, err);
}

static void assert_refused(const char *entry, const char *says)
{
    error_auto err = NULL;
    check_mount(entry, &err);
    if (!err)
        fail_msg("%s is not refused", entry);
    assert_int_equal(err->code, ERR_INVALID_REQUEST);
    if (!strstr(err->message, says))
        fail_msg("\"%s\" does not say \"%s\"", err->message, says);
}

static void assert_let(const char *entry)
{
    error_auto err = NULL;
    check_mount(entry, &err);
    if (err)
        fail_msg("%s is refused: %s", entry, err->message);
}

static void make_rootfs(void)
{
    static const char *const folders[] = {"rootfs",     "rootfs/proc", "rootfs/sys",
                                          "rootfs/dev", "rootfs/mnt",  "outside"};
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        assert_int_equal(mkdir(folders[i], 0755), 0);
    assert_int_equal(mkfifo("rootfs/pipe", 0600), 0);
    assert_int_equal(symlink("/etc", "rootfs/link"), 0);
    write_file("rootfs/file", "");
    assert_int_equal(mkfifo("outside/pipe", 0600), 0);
}

TEST(places_of_mounts_are_looked_at)
{
    make_rootfs();
    assert_let("/s mnt none bind");
    assert_let("/s not/there/yet none bind");
    assert_let("/s file none bind,create=file");
    assert_refused("/s pipe none bind", "a named pipe");
    assert_refused("/s pipe none bind,create=file", "a named pipe");
    assert_refused("/s pipe/below none bind", "/pipe is a named pipe");
    assert_refused("/s link none bind", "a symbolic link");
    assert_refused("/s link/below none bind", "a symbolic link");
    assert_refused("/s file none bind", "a file");
    assert_refused("/s mnt/../pipe none bind", "cannot have . or ..");
    /* Covered before anything below them. */
    assert_let("/s dev/fuse none bind,create=file");
}

TEST(a_mount_on_a_mount_is_looked_at_where_it_is)
{
    autofree char *let =
        xasprintf("%s/outside mnt none bind\nlxc.mount.entry = /s mnt/new", folder);
    autofree char *refused =
        xasprintf("%s/outside mnt none bind\nlxc.mount.entry = /s mnt/pipe", folder);
    assert_let(let);
    assert_refused(refused, "a named pipe");
    assert_let("/s mnt/pipe none bind");
}

TEST(the_kernels_own_places_are_looked_at)
{
    assert_int_equal(rmdir("rootfs/sys"), 0);
    assert_int_equal(mkfifo("rootfs/sys", 0600), 0);
    assert_refused("/s mnt none bind", "/sys: it is a named pipe");
}

/* --- the limit --- */

static int run_shell(const char *script, unsigned limit_s, int *status, struct error **err)
{
    char shell[] = "/bin/sh", option[] = "-c";
    autofree char *copy = xstrdup(script);
    return bounded_run((char *[]){shell, option, copy, NULL}, limit_s, status, err);
}

static pid_t pid_in(const char *path)
{
    int pid = 0;
    FILE *file = fopen(path, "re");
    if (file) {
        assert_int_equal(fscanf(file, "%d", &pid), 1); /* NOLINT(cert-err34-c) */
        assert_int_equal(fclose(file), 0);
    }
    return pid;
}

TEST(a_command_in_time_has_its_status)
{
    char missing[] = "/nothing/there";
    error_auto err = NULL;
    int status = 0;
    assert_ok(run_shell("exit 7", 60, &status, &err));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_ok(bounded_run((char *[]){missing, NULL}, 60, &status, &err));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

static int go_to_root(void)
{
    return chdir("/");
}

static int refuse(void)
{
    errno = EACCES;
    return -1;
}

TEST(a_command_begins_after_what_comes_before)
{
    char shell[] = "/bin/sh", option[] = "-c", script[] = "test \"$PWD\" = / && exit 7";
    error_auto err = NULL;
    int status = 0;
    assert_ok(
        bounded_run_after(go_to_root, (char *[]){shell, option, script, NULL}, 60, &status, &err));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_ok(
        bounded_run_after(refuse, (char *[]){shell, option, script, NULL}, 60, &status, &err));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

TEST(what_made_itself_independent_is_killed_too)
{
    error_auto err = NULL;
    int status;
    assert_fails_saying(
        run_shell("(setsid sh -c 'trap \"\" TERM HUP; echo $$ >pid; exec sleep 1000' &); "
                  "until test -s pid; do sleep 0.01; done; exec sleep 1000",
                  5, &status, &err),
        ERR_RUNTIME_STUCK, "5 s");
    pid_t pid = pid_in("pid");
    assert_true(pid > 0);
    assert_int_equal(kill(pid, 0), -1);
}

TEST(what_a_command_in_time_left_lives_on)
{
    error_auto err = NULL;
    int status;
    assert_ok(run_shell("(setsid sleep 1000 & echo $! >alive)", 60, &status, &err));
    pid_t pid = pid_in("alive");
    assert_int_equal(kill(pid, 0), 0);
    kill(pid, SIGKILL);
}

/* --- orphans --- */

static void make_old(const char *path)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

TEST(folders_of_deleted_instances_go)
{
    static const char *const folders[] = {
        "state",
        "state/containers",
        "state/containers/there",
        "state/virtual-machines",
        "state/virtual-machines/vm",
        "run",
        "run/there",
        "run/vm",
        "run/gone",
        "run/young",
        "run/.ours",
        "run/full",
        "run/full/folder",
    };
    autofree char *containers = xasprintf("%s/state/containers", folder);
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
        assert_int_equal(mkdir(folders[i], 0755), 0);
    write_file("run/gone/lxc.conf", "");
    assert_int_equal(symlink("/etc", "run/link"), 0);
    for (size_t i = 6; i < ARRAY_SIZE(folders); i++)
        if (strcmp(folders[i], "run/young"))
            make_old(folders[i]);
    assert_int_equal(orphans_remove_in("run", containers), 1);
    assert_int_equal(access("run/gone", F_OK), -1);
    for (size_t i = 6; i < ARRAY_SIZE(folders); i++)
        if (strcmp(folders[i], "run/gone"))
            assert_int_equal(access(folders[i], F_OK), 0);
    assert_int_equal(access("/etc/passwd", F_OK), 0);
}

/* --- hooks --- */

TEST(a_start_calls_the_launcher)
{
    static const char known[] =
        "lxc.hook.version = 1\n"
        "lxc.hook.pre-start = /proc/17/exe callhook /run/incus \"p\" \"n\" start\n"
        "lxc.hook.stop = /x/incusd-exec callhook /run/incus \"p\" \"n\" stopns\n";
    char text[1024];
    struct stat found;
    write_file("hooks.conf", known);
    assert_int_equal(chmod("hooks.conf", 0640), 0);
    hook_take_over("hooks.conf", "/a b/launcher");
    read_file("hooks.conf", text, sizeof text);
    assert_string_equal(text, known);
    hook_take_over("hooks.conf", "/x/launcher");
    hook_take_over("hooks.conf", "/x/launcher");
    read_file("hooks.conf", text, sizeof text);
    assert_string_equal(text,
                        "lxc.hook.version = 1\n"
                        "lxc.hook.pre-start = /x/launcher callhook /run/incus \"p\" \"n\" start\n"
                        "lxc.hook.stop = /x/incusd-exec callhook /run/incus \"p\" \"n\" stopns\n");
    assert_int_equal(stat("hooks.conf", &found), 0);
    assert_int_equal(found.st_mode & 07777, 0640);
    assert_int_equal(access("hooks.conf.sandlot", F_OK), -1);
}

/* FOLDER PROJECT NAME HOOK */
static int call_hook(const char *text, struct error **err)
{
    char *words[8], *rest = NULL;
    autofree char *copy = xasprintf("incusd callhook %s", text);
    size_t count = 0;
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    words[count] = NULL;
    return hook_call(words, err);
}

static int listen_there(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "unix.socket"};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    unlink(address.sun_path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

/* What hook_call() returns when incusd, which notes what it is asked, answers so. */
static int call_answered(const char *answer, const char *hook, struct error **err)
{
    autofree char *text = xasprintf(". project name-1 %s", hook);
    char asked[1024];
    int fd = listen_there();
    pid_t incusd = fork();
    if (incusd == 0) {
        int one = accept(fd, NULL, NULL);
        ssize_t size = read(one, asked, sizeof asked - 1);
        asked[size < 0 ? 0 : size] = '\0';
        asked[strcspn(asked, "\r")] = '\0';
        write_file("asked", asked);
        _exit(write(one, answer, strlen(answer)) == (ssize_t)strlen(answer) ? 0 : 1);
    }
    close(fd);
    int result = call_hook(text, err);
    kill(incusd, SIGKILL);
    assert_int_equal(waitpid(incusd, NULL, 0), incusd);
    return result;
}

TEST(a_hook_is_told_to_incusd)
{
    static const char fine[] = "HTTP/1.0 200 OK\r\n\r\n{}";
    error_auto err = NULL;
    error_auto refused = NULL;
    error_auto none = NULL;
    char text[1024];
    assert_int_equal(call_answered(fine, "start", &err), 0);
    read_file("asked", text, sizeof text);
    assert_string_equal(text, "GET /internal/containers/name-1/onstart?project=project HTTP/1.0");
    setenv("LXC_TARGET", "stop", 1);
    setenv("LXC_NET_NS", "/proc/17/fd/4", 1);
    assert_int_equal(call_answered(fine, "stopns", &err), 0);
    read_file("asked", text, sizeof text);
    assert_string_equal(text, "GET /internal/containers/name-1/onstopns?project=project&target=stop"
                              "&netns=/proc/17/fd/4 HTTP/1.0");
    assert_int_equal(call_answered("HTTP/1.0 404 Not Found\r\n\r\n", "stop", &err), 1);
    assert_int_equal(call_answered("", "stop", &none), -1);
    setenv("LXC_TARGET", "reboot", 1);
    assert_int_equal(call_answered(fine, "stop", &refused), -1);
}

TEST(a_hook_that_is_not_known_is_left_to_incusd)
{
    error_auto err = NULL;
    assert_int_equal(call_hook(". project name freeze", &err), 1);
    assert_int_equal(call_hook(". a%b name start", &err), 1);
    assert_int_equal(call_hook(".", &err), 1);
    assert_int_equal(call_hook("/nonexistent project name start", &err), 1);
}

/* --- memory --- */

static void make_folders(const char *const paths[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(mkdir(paths[i], 0755), 0);
}

static void assert_image(const char *folder_path, const char *expected)
{
    autofree char *image = memory_image(folder_path);
    assert_string_equal(image, expected);
}

/* An instance whose folder is a link into the pool, as Incus has it. */
TEST(the_memory_that_one_goes_on_from_is_found)
{
    static const char *const folders[] = {
        "pool",        "pool/containers",   "pool/containers/p_one",
        "pool/copies", "pool/copies/p_one", "pool/containers/p_one/sandlot-memory",
    };
    struct container_config config = {.goes_on = true};
    autofree char *shared = xasprintf("%s/pool/sandlot-images/p_two.fork-1", folder);
    const char *memory = "pool/containers/p_one/sandlot-memory";
    make_folders(folders, ARRAY_SIZE(folders));
    assert_false(memory_is_of_other(&config, "p_one", memory));
    write_file("pool/containers/p_one/sandlot-memory/sandlot-owner", "p_two\n");
    assert_true(memory_is_of_other(&config, "p_one", memory));
    assert_false(memory_is_of_other(&config, "p_two", memory));
    config.goes_on = false;
    assert_false(memory_is_of_other(&config, "p_one", memory));
    config.goes_on = true;
    assert_image(memory, memory);
    /* The name alone counts: it lies among the images of the pool. */
    write_file("pool/containers/p_one/sandlot-memory/sandlot-image", "../../etc/p_two.fork-1\n");
    assert_image(memory, shared);
    assert_int_equal(memory_hold(shared), -1);
    assert_true(memory_mark_used(memory));
    assert_false(memory_is_of_other(&config, "p_one", memory));
}

TEST(a_restore_has_time_by_its_size)
{
    static char block[1 << 20];
    FILE *file;
    assert_int_equal(mkdir("large", 0755), 0);
    assert_int_equal(memory_read_s("nothing"), 0);
    assert_int_equal(memory_read_s("large"), 0);
    memset(block, 'x', sizeof block);
    file = fopen("large/pages-1.img", "we");
    for (unsigned i = 0; i < 33; i++)
        assert_int_equal(fwrite(block, sizeof block, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(memory_read_s("large"), 2);
}

TEST(an_image_that_was_put_aside_is_given_back)
{
    static const char *const folders[] = {"i", "i/state", "i/sandlot-memory"};
    make_folders(folders, ARRAY_SIZE(folders));
    write_file("i/sandlot-memory/pages", "aside");
    memory_give_back("i/state");
    assert_int_equal(access("i/state/pages", F_OK), 0);
    assert_int_equal(access("i/sandlot-memory", F_OK), -1);
    /* What is there already stays, and what is no use goes. */
    assert_int_equal(mkdir("i/sandlot-memory", 0755), 0);
    assert_int_equal(mkdir("i/sandlot-memory/below", 0755), 0);
    write_file("i/sandlot-memory/below/file", "");
    memory_give_back("i/state");
    assert_int_equal(access("i/state/pages", F_OK), 0);
    assert_int_equal(access("i/sandlot-memory", F_OK), -1);
    memory_give_back("i/state");
    memory_remove("i/state");
    assert_int_equal(access("i/state", F_OK), -1);
}

/* A folder that is no subvolume has nothing that would delete it later. */
TEST(a_restored_image_without_subvolume_is_deleted_at_once)
{
    static const char *const folders[] = {"q", "q/containers", "q/containers/p_one",
                                          "q/containers/p_one/state"};
    make_folders(folders, ARRAY_SIZE(folders));
    write_file("q/containers/p_one/state/pages-1.img", "pages");
    memory_retire("p_one", "q/containers/p_one/state");
    assert_int_equal(access("q/containers/p_one/state", F_OK), -1);
    assert_int_equal(access("q/sandlot-images", F_OK), -1);
    memory_retire("p_one", "q/containers/p_one/state");
}

/* --- incusd --- */

TEST(what_is_no_daemon_has_no_library)
{
    assert_null(incusd_library());
    setenv("SANDLOT_INCUSD", "/x/incusd", 1);
    assert_string_equal(incusd_program(), "/x/incusd");
}

/* --- reboots --- */

static void write_reboots(unsigned count, int64_t ago_s)
{
    char text[64];
    snprintf(text, sizeof text, "%u %lld\n", count,
             (long long)(clock_monotonic_ms() / 1000 - ago_s));
    write_file("sandlot-reboots", text);
}

static unsigned count_after(const char *hook)
{
    char text[64];
    setenv("LXC_TARGET", "reboot", 1);
    reboots_limit(".", hook);
    read_file("sandlot-reboots", text, sizeof text);
    return (unsigned)strtoul(text, NULL, 10);
}

TEST(reboots_have_an_end)
{
    assert_int_equal(count_after("stopns"), 1);
    assert_int_equal(count_after("stopns"), 2);
    assert_int_equal(count_after("stop"), 2);
    write_reboots(6, 61);
    assert_int_equal(count_after("stopns"), 1);
    write_reboots(6, -3600); /* written before the host restarted */
    assert_int_equal(count_after("stopns"), 1);
    write_reboots(6, 0);
    assert_int_equal(count_after("stopns"), 7);
    assert_string_equal(getenv("LXC_TARGET"), "stop");
    setenv("LXC_TARGET", "reboot", 1);
    reboots_limit(".", "stop");
    assert_string_equal(getenv("LXC_TARGET"), "stop");
    assert_int_equal(access("sandlot-reboots", F_OK), -1);
    write_file("sandlot-reboots", "stop 1\n");
    assert_int_equal(count_after("stopns"), 1);
    setenv("LXC_TARGET", "stop", 1);
    reboots_limit(".", "stopns");
    assert_int_equal(count_after("stop"), 1);
}

TEST(a_third_reboot_waits)
{
    struct timespec before, after;
    write_reboots(3, 0);
    clock_gettime(CLOCK_MONOTONIC, &before);
    assert_int_equal(count_after("stop"), 3);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true(
        (after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000 >= 999);
}

/* --- volumes that incusd was not told of --- */

TEST(what_it_was_given_is_not_mounted_again)
{
    struct mount_noted noted = {.path = "/data"};
    error_auto err = NULL;
    assert_int_equal(mkdir("volume", 0755), 0);
    assert_int_equal(mkdir("another", 0755), 0);
    assert_int_equal(stat("volume", &noted.volume), 0);
    assert_false(granted_mounts_has("notes", "p_c", "volume", "/data"));
    assert_ok(mount_note_write("notes", "c", &noted, 1, &err));
    assert_true(granted_mounts_has("notes", "p_c", "volume", "/data"));
    assert_false(granted_mounts_has("notes", "p_c", "volume", "/mnt"));
    assert_false(granted_mounts_has("notes", "p_c", "another", "/data"));
    assert_false(granted_mounts_has("notes", "p_c", "missing", "/data"));
    assert_false(granted_mounts_has("notes", "p_d", "volume", "/data"));
}

TEST(it_does_not_start_without_what_it_was_given)
{
    const struct mount_noted noted[] = {{.path = "/data"}, {.path = "/mnt/a b"}};
    struct container_config config = {.mount_count = 1, .mounts = {{.target = (char[]){"data"}}}};
    error_auto err = NULL;
    assert_ok(granted_mounts_settle("notes", "p_none", &config, &err));
    assert_ok(mount_note_write("notes", "c", noted, 2, &err));
    assert_fails_saying(granted_mounts_settle("notes", "p_c", &config, &err), ERR_RUNTIME_REFUSED,
                        "/mnt/a b");
    error_clear(&err);
    config.mounts[config.mount_count++].target = (char[]){"mnt/a b"};
    assert_ok(granted_mounts_settle("notes", "p_c", &config, &err));
    assert_null(mount_note_read("notes", "c"));
}

/* Run machine_start() in a child, with a descriptor that is closed at an exec, and return its exit
 * status. */
static int machine_status(char **words)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(null >= 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup3(null, 9, O_CLOEXEC);
        dup2(null, STDERR_FILENO);
        _exit(machine_start(words));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(close(null), 0);
    return WEXITSTATUS(status);
}

TEST(a_machine_starts_with_its_limits)
{
    char limit[] = "limit=memlock:4096:8192", fd[] = "fd=9", verb[] = "forklimits", end[] = "--";
    char shell[] = "/bin/sh", c[] = "-c";
    char test[] =
        "test $(ulimit -S -l) = 4 && test $(ulimit -H -l) = 8 && test -e /proc/self/fd/9 && exit 7";
    assert_int_equal(machine_status((char *[]){verb, limit, fd, end, shell, c, test, NULL}), 7);
    /* Without its word the descriptor is closed. */
    char no_fd[] = "test -e /proc/self/fd/9 || exit 8";
    assert_int_equal(machine_status((char *[]){verb, end, shell, c, no_fd, NULL}), 8);
}

TEST(words_that_are_not_understood_start_no_machine)
{
    char verb[] = "forklimits", end[] = "--", program[] = "/bin/true";
    static const char *const wrong[] = {
        "limit=nofile:1:1", "limit=memlock:1", "limit=memlock:x:1", "fd=77", "fd=x",
        "other=1",          "unknown",         "limit=memlock:::",  "fd="};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        autofree char *word = xstrdup(wrong[i]);
        assert_int_equal(machine_status((char *[]){verb, word, end, program, NULL}), EXIT_FAILURE);
    }
    assert_int_equal(machine_status((char *[]){verb, end, NULL}), EXIT_FAILURE);
}

TEST_GROUP(make_folder, remove_folder)
