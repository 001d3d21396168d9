/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/process.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/log.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_TRACED_BY_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define IS_TRACED_BY_SANITIZER 1
#endif
#endif

void process_hide_memory(void)
{
#ifndef IS_TRACED_BY_SANITIZER
    if (prctl(PR_SET_DUMPABLE, 0) < 0)
        log_warning("cannot keep other processes of the same user from reading this process's "
                    "memory; it continues without this protection",
                    LOG_STR("error", strerror(errno)));
#endif
}
