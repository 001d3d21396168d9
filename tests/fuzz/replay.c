/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A main() for a fuzz target without libFuzzer: runs every file of its corpus once. For
 * tests/fuzz/FOLDER/fuzz_NAME that is corpus/NAME of the folder, or corpus. TAP on standard
 * output.
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
    if (ferror(file))
        return -1;
    /* A copy of the exact size: the sanitizer sees a read past its end. */
    autofree uint8_t *exact = xmalloc(size ? size : 1);
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    return 0;
}

static DIR *corpus_open(const char *program, char **directory)
{
    const char *source = getenv("SANDLOT_SOURCE_DIR");
    const char *path = strstr(program, "tests/fuzz/");
    const char *name = path ? strstr(path, "/fuzz_") : NULL;
    if (!name)
        return NULL;
    autofree char *all =
        xasprintf("%s/%.*s/corpus", source ? source : ".", (int)(name - path), path);
    *directory = xasprintf("%s/%s", all, name + strlen("/fuzz_"));
    DIR *files = opendir(*directory);
    if (files)
        return files;
    free(*directory);
    *directory = xasprintf("%s", all);
    return opendir(all);
}

int main(int argc, char **argv)
{
    autofree char *directory = NULL;
    DIR *files = argc ? corpus_open(argv[0], &directory) : NULL;
    unsigned count = 0;
    int result = 0;
    if (!files) {
        printf("Bail out! no corpus in %s\n", directory ? directory : "a folder of tests/fuzz");
        return 1;
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
