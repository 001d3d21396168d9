/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sandlot-keeper: the files of a host's volumes, for the control plane. It is the only program of a
 * small instance, and runs there as root of an unprivileged container. A volume is mounted below
 * /volumes when a request needs it.
 */
#include <getopt.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keeper/place.h"
#include "keeper/serve.h"

#define DESCRIPTORS_MAX 8192

static void print_help(void)
{
    puts("usage: sandlot-keeper [OPTION]…\n"
         "Serves the files of volumes to the control plane.\n\n"
         "  --volumes DIRECTORY   where they are mounted (/volumes)\n"
         "  --secret-file FILE    the secret of each request (/secret)\n"
         "  --port PORT           (49985)\n"
         "  --version, --help");
}

/* The first line. */
static int read_secret(const char *path, struct shared_secret *secret)
{
    char line[SHARED_SECRET_HEX + 2] = "";
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    setbuf(file, NULL);
    int rc =
        fgets(line, sizeof line, file) ? shared_secret_set(secret, line, strcspn(line, "\n")) : -1;
    mem_wipe(line, sizeof line);
    return rc;
}

static int fail(const char *sentence)
{
    fprintf(stderr, "sandlot-keeper: %s\n", sentence);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"volumes", required_argument, NULL, 'd'}, {"secret-file", required_argument, NULL, 's'},
        {"port", required_argument, NULL, 'p'},    {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    struct shared_secret secret = {0};
    const char *secret_file = "/secret";
    uint64_t port = KEEPER_PORT;
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (option == 'd')
            place_volumes = optarg;
        else if (option == 's')
            secret_file = optarg;
        else if (option == 'p' && str_parse_u64(optarg, 1, UINT16_MAX, &port) == 0)
            continue;
        else if (option == 'V' || option == 'h') {
            option == 'V' ? (void)puts("sandlot-keeper " PACKAGE_VERSION) : print_help();
            return EXIT_SUCCESS;
        } else
            return 2;
    }
    log_init("sandlot-keeper");
    umask(0);
    struct rlimit limit = {DESCRIPTORS_MAX, DESCRIPTORS_MAX};
    setrlimit(RLIMIT_NOFILE, &limit);
    if (sodium_init() < 0)
        return fail("cannot initialise libsodium");
    if (read_secret(secret_file, &secret) < 0)
        return fail("cannot read the secret of requests (--secret-file)");
    error_auto err = NULL;
    if (serve((uint16_t)port, &secret, &err) < 0)
        return fail(err->message);
    return EXIT_SUCCESS;
}
