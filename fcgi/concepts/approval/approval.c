/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "approval/approval.h"

#include "base/str.h"

const char *const approval_answer_names[] = {"once", "minutes", "always", "never", NULL};

enum approval_answer approval_answer_parse(const char *name)
{
    enum approval_answer answer = APPROVAL_ONCE;
    while (answer < APPROVAL_NEVER && !str_equal(name, approval_answer_names[answer]))
        answer++;
    return answer;
}
