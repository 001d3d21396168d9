/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A settings file. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "config/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    error_auto err = NULL;
    settings_auto settings = NULL;
    autoclose int fd = memfd_create("settings", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (settings_load(path, &settings, &err) == 0) {
        autofree char *host = settings_api_host(settings);
        autofree char *domain = settings_data_plane_domain(settings);
        if (!*host || !*domain || err)
            abort();
    } else if (!err || settings) {
        abort();
    }
    return 0;
}
