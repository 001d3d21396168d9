/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "refusal/reason.h"

#include "base/str.h"

static const struct {
    const char *name;
    int data_status, preview_status;
    const char *code;
    const char *sentence;
    struct refusal_reason_page page;
} reasons[REFUSAL_REASON_COUNT] = {
#define X(symbol, reason, data_status, preview_status, code, sentence, title, lead, step) \
    [symbol] = {reason, data_status, preview_status, code, sentence, {title, lead, step}},
#include "refusal/reasons.def"
#undef X
};

const char *refusal_reason_name(enum refusal_reason reason)
{
    return reasons[reason].name;
}

int refusal_reason_parse(const char *name, enum refusal_reason *reason)
{
    for (unsigned i = 0; i < REFUSAL_REASON_COUNT; i++) {
        if (str_equal(reasons[i].name, name)) {
            *reason = (enum refusal_reason)i;
            return 0;
        }
    }
    return -1;
}

int refusal_reason_status(enum refusal_reason reason, bool is_preview)
{
    return is_preview ? reasons[reason].preview_status : reasons[reason].data_status;
}

const char *refusal_reason_code(enum refusal_reason reason)
{
    return reasons[reason].code;
}

const char *refusal_reason_sentence(enum refusal_reason reason)
{
    return reasons[reason].sentence;
}

const struct refusal_reason_page *refusal_reason_page(enum refusal_reason reason)
{
    return &reasons[reason].page;
}
