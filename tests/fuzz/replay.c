/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A main() for a fuzz target without libFuzzer: runs every file of a corpus, $SANDLOT_SOURCE_DIR/
 * and the directory compiled in, once. TAP on standard output.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FILE_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *directory, const char *name)
{
    autofree char *path = xasprintf("%s/%s", directory, name);
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    autofree uint8_t *data = xmalloc(FILE_MAX);
    size_t size = fread(data, 1, FILE_MAX, file);
    /* A copy of the exact size: the sanitizer sees a read past its end. */
    autofree uint8_t *exact = xmalloc(size ? size : 1);
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    return 0;
}

int main(void)
{
    const char *source = getenv("SANDLOT_SOURCE_DIR");
    autofree char *directory = xasprintf("%s/" FUZZ_CORPUS, source ? source : ".");
    DIR *files = opendir(directory);
    unsigned count = 0;
    int result = 0;
    if (!files) {
        printf("1..0 # SKIP no corpus in %s\n", directory);
        return 77;
    }
    for (struct dirent *entry; (entry = readdir(files));) {
        if (entry->d_name[0] == '.')
            continue;
        int failed = replay(directory, entry->d_name);
        printf("%s %u - %s\n", failed ? "not ok" : "ok", ++count, entry->d_name);
        result |= failed;
    }
    closedir(files);
    printf("1..%u\n", count);
    return result ? 1 : 0;
}
