/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlot-criu CRIU [WORD]… -- [ARGUMENT]…: what conf/incus/criu-wrapper runs CRIU with, so that
 * pausing and resuming a container works. It mends what follows:
 *
 *  - liblxc passes --lsm-profile even where no security module is there to restore. Where AppArmor
 *    is, it names the profile of this container, and an image that is of another one has that
 *    one's: CRIU replaces it.
 *  - Where the unified hierarchy of control groups is there beside the older ones and has no
 *    controllers, liblxc 5.0 names the container's group in it without the option, and CRIU takes
 *    no bare word.
 *  - At a restore, CRIU's children open image files after they have changed their user,
 *    in a race with the uid map: without the right to search the image directory a good
 *    part of all restores fails ("Unable to open timens-N.img: Permission denied").
 *  - At a dump, a volume (a subvolume below /custom/ of the pool) is a mount from
 *    outside that CRIU must be told of; at the restore incusd does that itself.
 *  - The folder through which Incus adds mounts (/dev/.incus-mounts) CRIU finds by itself, and
 *    an image would name it by its path on the host and by the instance: it is named by its place
 *    in the sandbox, so that a copy, or the sandbox on another host, gets its own.
 *  - The image of a dump lies in the sandbox's own subvolume and would be a guest's: it becomes a
 *    subvolume of its own, which may take the part of the pool that is kept for the host.
 *  - What a sandbox sees of its disk is mounted from a link (/run/sandlot-disks), which CRIU
 *    does not follow.
 *  - A restore from an image that was cut off reads for ever, or fails late: the sizes of the files
 *    are written down after a dump and looked at before a restore.
 *  - A dump that hangs would keep the sandbox frozen, and the caller waiting for a quarter of an
 *    hour: after a minute, and a second more for each 16 MiB of its memory, it is killed, and the
 *    sandbox thawed and let to its network again. What CRIU has put into the processes takes
 *    itself out when CRIU is gone.
 *  - What lies in tmpfs is kept as it is, not packed: the tar that CRIU finds first does so
 *    (tar.c). Images of before are packed, and tell by having no file that says they are not.
 *  - While it works, CRIU keeps packets away from the container's open connections; by
 *    default it runs iptables-restore for that, which need not be installed.
 *  - A copy of an instance has the image of its original. Its processes are to find the addresses
 *    of the copy (SANDLOT_CONFIG names its configuration), none of the original's connections to
 *    the outside, and a control group that runs: CRIU calls this program before it lets them go on,
 *    and after that. Connections on the loopback interface stay (sockets.c).
 *  - liblxc has CRIU log thousands of lines, which is a good part of a dump: warnings and errors
 * are logged, and the rest where SANDLOT_CRIU_LOG is in incusd's environment.
 *  - CRIU disarms a periodic timerfd that has expired unread (image_timers.h).
 *  - CRIU and liblxc freeze a container and look at once whether it stands still, which takes a
 *    moment; then they sleep for 100 ms and a second. It stands still before CRIU begins. One that
 *    is to live on does until its disk is copied, too.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "criu/call.h"
#include "criu/dump.h"
#include "criu/hooks.h"
#include "criu/image.h"
#include "criu/sockets.h"

/* Beside this program. */
#define TOOLS "bin/criu-path"
/* CRIU needs none of what stands in incusd's way to ip and nft. */
#define SYSTEM_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

#define CANNOT_RUN  127

/* This program by its whole path; "" where that is not known. */
static const char *own_path(void)
{
    static char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    path[size < 0 ? 0 : size] = '\0';
    return path;
}

/* plain: with the tar that packs nothing. Returns whether there is one. */
static bool set_path(bool plain)
{
    const char *own = own_path();
    const char *name = strrchr(own, '/');
    autofree char *tools = xasprintf("%.*s/" TOOLS, (int)(name ? name - own : 0), own);
    autofree char *tar = xasprintf("%s/tar", tools);
    autofree char *path = xasprintf("%s:" SYSTEM_PATH, tools);
    plain = plain && access(tar, X_OK) == 0;
    setenv("PATH", plain ? path : SYSTEM_PATH, 1);
    return plain;
}

static int run(const struct call *call)
{
    execvp(call->command.list[0], call->command.list);
    fprintf(stderr, "sandlot-criu: %s cannot be run: %s\n", call->command.list[0], strerror(errno));
    return CANNOT_RUN;
}

static int refuse(const struct call *call)
{
    autofclose FILE *log = call->log ? fopen(call->log, "ae") : NULL;
    FILE *const outs[] = {stderr, log};
    for (size_t i = 0; i < ARRAY_SIZE(outs); i++)
        if (outs[i])
            fprintf(outs[i], "Error (sandlot-criu): the image in %s is not as the dump left it\n",
                    call->images);
    return EXIT_FAILURE;
}

/* Several may be restored from one image, whose folder liblxc names for the log. */
static void take_log(struct call *call)
{
    const char *log = getenv("SANDLOT_LOG");
    if (!log || !*log)
        return;
    call_add(call, "--log-file", log);
    call->log = log;
}

static int restore(struct call *call)
{
    struct stat found;
    call_add(call, "--network-lock", "nftables");
    take_log(call);
    if (!call->images)
        return run(call);
    if (stat(call->images, &found) == 0)
        chmod(call->images, (found.st_mode & 07777) | 0111);
    if (!image_is_whole(call->images))
        return refuse(call);
    image_hand_over(call->images, getenv("SANDLOT_CONFIG"));
    set_path(image_is_plain(call->images));
    call_map_folder(call, getenv("SANDLOT_CONFIG"));
    if (!image_is_of_owner(call->images)) {
        if (sockets_keep_loopback(call->images) < 0)
            call_add(call, "--tcp-close", NULL);
        call_add(call, "--action-script", own_path());
    }
    return run(call);
}

static int dump(struct call *call)
{
    struct stat found;
    call_add(call, "--network-lock", "nftables");
    if (call->pid)
        call_map_mounts(call);
    if (!call->images || stat(call->images, &found) < 0 || !S_ISDIR(found.st_mode))
        return run(call);
    image_make_room(call->images);
    if (set_path(true))
        image_mark_plain(call->images);
    return dump_run(call);
}

/* The words of CRIU's own command end with a "--", which becomes a NULL. */
static char **cut(char **words)
{
    for (; *words; words++) {
        if (str_equal(*words, "--")) {
            *words = NULL;
            return words + 1;
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const char *action = getenv("CRTOOLS_SCRIPT_ACTION");
    struct call call;
    if (action)
        return hooks_act(action);
    char **arguments = argc > 1 ? cut(argv + 1) : NULL;
    if (!arguments || !argv[1]) {
        fputs("usage: sandlot-criu CRIU [WORD]... -- [ARGUMENT]...\n", stderr);
        return CANNOT_RUN;
    }
    call_read(&call, call_host_has_apparmor(), argv + 1, arguments);
    int result = str_equal(call.verb, "dump")      ? dump(&call)
                 : str_equal(call.verb, "restore") ? restore(&call)
                                                   : run(&call);
    call_deinit(&call);
    return result;
}
