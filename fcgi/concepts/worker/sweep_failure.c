/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/sweep_failure.h"

#include <sodium.h>

#include "base/log.h"
#include "base/rest.h"

size_t sweep_first(size_t count)
{
    return count ? randombytes_uniform((uint32_t)count) : 0;
}

bool sweep_passes_over(unsigned *failures, const char *id, struct error **err)
{
    enum error_code code = (*err)->code;
    if (code == ERR_DB_UNAVAILABLE || code == ERR_DB_FULL || code == ERR_HOST_UNREACHABLE)
        return false;
    *failures += code == ERR_RUNTIME_UNAVAILABLE ? SWEEP_FAILURES_MAX : 1;
    log_warning("a background sweep cannot handle an object; the next sweep tries again",
                LOG_STR("object", id), LOG_ERROR(*err));
    error_clear(err);
    return true;
}

void sweep_rest(const char *id)
{
    rest_after_failure(id, SWEEP_REST_FIRST_MS, SWEEP_REST_MOST_MS);
}

bool sweep_rests(const char *id)
{
    return rest_lasts(id);
}
