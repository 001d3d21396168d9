/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a client of ACME calls before and after a certificate authority looks (doc/install.md). */
#include "challenge/challenge.h"
#include "ctl/ctl.h"
#include "ctl/output.h"

static int print(const struct ctl *ctl, const struct ctl_arguments *arguments, bool answered)
{
    const char *name = arguments->operands[0], *value = ctl_text(arguments, "value");
    ctl_print(ctl,
              json_pack("{s:s, s:s, s:b}", "domain", name, "value", value, "answered", answered),
              answered ? "sandlot-acme answers for %s with %s." : "Nothing is left for %s of %s.",
              name, value);
    return 0;
}

int ctl_acme_add(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *name = arguments->operands[0], *value = ctl_text(arguments, "value");
    return challenge_add(ctl->settings, name, value, err) < 0 ? -1 : print(ctl, arguments, true);
}

int ctl_acme_remove(struct ctl *ctl, const struct ctl_arguments *arguments, struct error **err)
{
    const char *name = arguments->operands[0], *value = ctl_text(arguments, "value");
    return challenge_remove(ctl->settings, name, value, err) < 0 ? -1
                                                                 : print(ctl, arguments, false);
}
