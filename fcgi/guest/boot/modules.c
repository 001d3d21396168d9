/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "boot/boot.h"

static int load(const char *path)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && (syscall(SYS_finit_module, fd, "", 0) == 0 || errno == EEXIST))
        return 0;
    fprintf(stderr, "sandlot-boot: cannot load %s: %m\n", path);
    return -1;
}

int boot_load_modules(const char *list)
{
    char path[256];
    int result = 0;
    autofclose FILE *lines = fopen(list, "re");
    if (!lines) {
        fprintf(stderr, "sandlot-boot: cannot read %s: %m\n", list);
        return -1;
    }
    while (fgets(path, sizeof path, lines)) {
        path[strcspn(path, "\n")] = '\0';
        if (load(path) < 0)
            result = -1;
        unlink(path); /* its memory is the machine's */
    }
    return result;
}
