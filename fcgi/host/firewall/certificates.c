/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/certificates.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "network/policy.h"

static char *path_of(const char *directory, uint32_t address, const char *host, const char *suffix)
{
    char text[POLICY_ADDRESS_TEXT_MAX];
    struct policy_address from = policy_address_ipv4(address);
    return xasprintf("%s/%s-%s%s", directory, policy_address_text(&from, text), host, suffix);
}

static void write_file(const char *directory, uint32_t address, const char *host, const char *pem)
{
    autofree char *path = path_of(directory, address, host, ".pem");
    autofree char *draft = path_of(directory, address, host, ".new");
    size_t size = strlen(pem);
    autoclose int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640);
    if (fd >= 0 && fchmod(fd, 0640) == 0 && write(fd, pem, size) == (ssize_t)size &&
        rename(draft, path) == 0)
        return;
    log_error(
        "cannot write the certificate of a host with egress rules; TLS connections to it fail",
        LOG_STR("path", path), LOG_STR("reason", strerror(errno)));
    unlink(draft);
}

void certificates_change(const char *directory, uint32_t address, const json_t *old,
                         const json_t *fresh)
{
    const json_t *before = json_object_get(old, "certificates"),
                 *now = json_object_get(fresh, "certificates");
    const char *host;
    json_t *pem;
    json_object_foreach ((json_t *)now, host, pem)
        write_file(directory, address, host, json_string_value(pem));
    json_object_foreach ((json_t *)before, host, pem) {
        autofree char *path = path_of(directory, address, host, ".pem");
        if (!json_object_get(now, host) && unlink(path) < 0 && errno != ENOENT)
            log_warning("cannot remove the certificate of a host with egress rules",
                        LOG_STR("path", path), LOG_STR("reason", strerror(errno)));
    }
}
