/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlot-launcher: what conf/incus/incusd-exec runs incusd's helpers for the start and the restore
 * of a container with. It ends a start that does not end by itself, with all that came of it, and
 * refuses one whose disk would keep liblxc waiting. On failure its last line on standard error is
 * what the control plane reads in the words of incusd (fcgi/drivers/incus/incus_answer.c).
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bounded.h"
#include "base/error.h"
#include "base/str.h"
#include "launcher/disk_view.h"
#include "launcher/hook.h"
#include "launcher/mount_points.h"
#include "launcher/orphans.h"

#define LIMIT_MAX_S 86400

static void print_help(void)
{
    puts("usage: sandlot-launcher --limit SECONDS [OPTION]… COMMAND [ARGUMENT]…\n"
         "       sandlot-launcher --hook INCUSD callhook FOLDER PROJECT NAME HOOK\n"
         "Runs a helper command of incusd that starts a container, or tells incusd of a hook.\n\n"
         "  --limit SECONDS      after which it is killed, with the container's monitor\n"
         "  --config FILE        of the container: the places it mounts on are looked at before,\n"
         "                       and what it is to see of its host's pool is made ready\n"
         "  --mount-point PATH   only this one\n"
         "  --restore            from an image, which says what is mounted: nothing is looked at\n"
         "  --containers FOLDER  of incusd: what it keeps of deleted instances is removed\n"
         "  --hook               what the command would ask incusd is asked without it\n"
         "  --version, --help");
}

static int fail(const struct error *err)
{
    const char *what = err->code == ERR_INVALID_REQUEST ? "mount point " : "";
    fprintf(stderr, "sandlot-launcher: %s%s\n", what, err->message);
    return err->code == ERR_RUNTIME_STUCK ? 124 : EXIT_FAILURE;
}

struct options {
    const char *config, *mount_point, *containers;
    bool restore, hook;
    uint64_t limit_s;
};

static void take_hook(const char *config)
{
    char own[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
    own[size < 0 ? 0 : size] = '\0';
    hook_take_over(config, own);
}

static int check(const struct options *options, struct error **err)
{
    container_config_auto config;
    if (container_config_read(options->config, &config, err) < 0)
        return -1;
    if (options->containers)
        orphans_remove(&config, options->containers);
    if (options->mount_point)
        return mount_point_check(&config, options->mount_point, err);
    take_hook(options->config);
    if (disk_view_prepare(&config, err) < 0)
        return -1;
    return options->restore ? 0 : mount_points_check(&config, err);
}

static int launch(const struct options *options, char *const command[])
{
    error_auto err = NULL;
    int status;
    if ((options->config && check(options, &err) < 0) ||
        bounded_run(command, (unsigned)options->limit_s, &status, &err) < 0)
        return fail(err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int call_hook(char *const command[])
{
    error_auto err = NULL;
    int result = hook_call(command, &err);
    if (result <= 0)
        return result ? fail(err) : EXIT_SUCCESS;
    execv(command[0], command);
    fprintf(stderr, "sandlot-launcher: %s cannot be run: %s\n", command[0], strerror(errno));
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"limit", required_argument, NULL, 'l'},
        {"config", required_argument, NULL, 'c'},
        {"mount-point", required_argument, NULL, 'm'},
        {"restore", no_argument, NULL, 'r'},
        {"hook", no_argument, NULL, 'H'},
        {"containers", required_argument, NULL, 'C'},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {0};
    for (int option; (option = getopt_long(argc, argv, "+", names, NULL)) != -1;) {
        if (option == 'l' && str_parse_u64(optarg, 1, LIMIT_MAX_S, &options.limit_s) == 0)
            continue;
        else if (option == 'c')
            options.config = optarg;
        else if (option == 'm')
            options.mount_point = optarg;
        else if (option == 'r')
            options.restore = true;
        else if (option == 'H')
            options.hook = true;
        else if (option == 'C')
            options.containers = optarg;
        else if (option == 'V' || option == 'h') {
            option == 'V' ? (void)puts("sandlot-launcher " PACKAGE_VERSION) : print_help();
            return EXIT_SUCCESS;
        } else
            return 2;
    }
    if (options.hook && optind < argc)
        return call_hook(argv + optind);
    if (!options.limit_s || optind == argc) {
        fputs("sandlot-launcher: it needs --limit and a command\n", stderr);
        return 2;
    }
    return launch(&options, argv + optind);
}
