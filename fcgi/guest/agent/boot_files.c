/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/boot_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/identity.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"

#define RUN_FOLDER "/run"
#define TMP_FOLDER "/tmp"
#define OLD_FOLDER TMP_FOLDER "/.sandlot-old-XXXXXX"

/* A virtual machine shows the threads of its kernel, which have no program. */
static bool has_program(pid_t pid)
{
    char path[32], program[8];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    return readlink(path, program, sizeof program) >= 0;
}

bool boot_is_fresh(void)
{
    pid_t own[] = {1, getppid(), getpid()};
    DIR *processes = opendir("/proc");
    bool fresh = processes;
    for (const struct dirent *entry; fresh && (entry = readdir(processes));) {
        long pid = strtol(entry->d_name, NULL, 10);
        fresh =
            pid <= 0 || pid == own[0] || pid == own[1] || pid == own[2] || !has_program((pid_t)pid);
    }
    if (processes)
        closedir(processes);
    return fresh;
}

static void clean_run(void)
{
    char *const roots[] = {(char[]){RUN_FOLDER}, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
    if (!tree)
        return;
    for (FTSENT *file; (file = fts_read(tree));) {
        if (file->fts_info == FTS_D && str_equal(file->fts_path, IDENTITY_FOLDER))
            fts_set(tree, file, FTS_SKIP);
        /* Symbolic links are made by packages, like directories. */
        if (file->fts_info == FTS_F || file->fts_info == FTS_DEFAULT)
            unlink(file->fts_path);
    }
    fts_close(tree);
}

static void remove_tree(const char *path)
{
    char *const roots[] = {(char *)path, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
    if (!tree)
        return;
    for (FTSENT *file; (file = fts_read(tree));)
        if (file->fts_info != FTS_D)
            unlinkat(AT_FDCWD, file->fts_path, file->fts_info == FTS_DP ? AT_REMOVEDIR : 0);
    fts_close(tree);
}

/* In a detached process: a large tree takes seconds, and the start must not wait. */
static void remove_later(const char *path)
{
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0)
            remove_tree(path);
        _exit(0);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0)
        ;
}

static void clean_tmp(void)
{
    char old[] = OLD_FOLDER;
    DIR *folder = opendir(TMP_FOLDER);
    int target = folder && mkdtemp(old) ? open(old, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    for (const struct dirent *entry; target >= 0 && (entry = readdir(folder));)
        if (!str_equal(entry->d_name, ".") && !str_equal(entry->d_name, ".."))
            renameat(dirfd(folder), entry->d_name, target, entry->d_name); /* not itself */
    if (folder)
        closedir(folder);
    if (target < 0)
        return;
    close(target);
    remove_later(old);
}

void boot_clean(void)
{
    clean_run();
    clean_tmp();
    log_info("emptied /tmp and removed the files below /run: the sandbox started from its disk");
}
