/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/authority.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/common/regular_file.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"

/* update-ca-certificates reads this folder, so that the certificate outlives its run. */
#define FOLDER     "/usr/local/share/ca-certificates"
#define OWN_FILE   FOLDER "/sandlot-egress.crt"
#define LIST_FILE  "/etc/ssl/certs/ca-certificates.crt"
#define LIST_BYTES (4 * 1024 * 1024)

/* Names of the whole list, which programs read instead of theirs. */
static const char *const list_names[] = {"CARGO_HTTP_CAINFO",  "CURL_CA_BUNDLE",
                                         "GIT_SSL_CAINFO",     "PIP_CERT",
                                         "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"};

static void write_file(const char *path, int flags, const char *text, size_t size)
{
    autoclose int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | flags, 0644);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size)
        log_info("cannot add the certificate authority of egress rules; programs refuse the "
                 "certificates of these hosts",
                 LOG_STR("file", path), LOG_INT("errno", errno));
}

static void add_to_list(const char *pem)
{
    size_t size, length = strlen(pem);
    autofree char *list = xmalloc(LIST_BYTES);
    if (!regular_file_read(LIST_FILE, list, LIST_BYTES, &size) || memmem(list, size, pem, length))
        return;
    if (size && list[size - 1] != '\n')
        write_file(LIST_FILE, O_APPEND, "\n", 1);
    write_file(LIST_FILE, O_APPEND, pem, length);
}

void authority_adopt(const char *pem)
{
    size_t size, length = strlen(pem);
    if (!length)
        return;
    autofree char *present = xmalloc(length + 1);
    if (!regular_file_read(OWN_FILE, present, length + 1, &size) || size != length ||
        memcmp(present, pem, length) != 0) {
        mkdir(FOLDER, 0755);
        write_file(OWN_FILE, O_CREAT | O_TRUNC, pem, length);
    }
    add_to_list(pem);
}

int authority_set_environment(struct environment *environment, struct rpc_error *error)
{
    struct stat status;
    if (environment_set(environment, "NODE_EXTRA_CA_CERTS", OWN_FILE, error) < 0)
        return -1;
    if (stat(LIST_FILE, &status) < 0)
        return 0;
    for (size_t i = 0; i < sizeof list_names / sizeof *list_names; i++)
        if (environment_set(environment, list_names[i], LIST_FILE, error) < 0)
            return -1;
    return 0;
}
