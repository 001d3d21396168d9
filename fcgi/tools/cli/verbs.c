/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All verbs. */
#include "cli/verbs.h"

#include "base/mem.h"

const struct cli_option cli_common_options[] = {
    {"deployment", 'd', "DEPLOYMENT", "name of a deployment of `sandlot login`"},
    {"ca", 0, "FILE", "certificates of the authority of the service"},
    {"json", 'j', NULL, "print JSON"},
    {"help", 'h', NULL, "print the options of the command"},
    {NULL, 0, NULL, NULL},
};

#define MANY 65536

const struct cli_verb cli_verbs[] = {
#define VERB(name, operands, help, function, ...) \
    {name, operands, help, verb_##function, __VA_ARGS__},
#include "cli/verbs.def"
#undef VERB
};
const size_t cli_verb_count = ARRAY_SIZE(cli_verbs);

const char *const cli_examples[] = {
    "sandlot login https://api.sandbox.example.com <key",
    "sandlot create --name work --timeout 1h",
    "sandlot create --port 8000:public --label owner=ada",
    "sandlot exec work python3 -c 'print(6 * 7)'",
    "sandlot exec work sh -c 'tar -xz && make' <source.tar.gz",
    "sandlot shell work",
    "sandlot cp src work:project",
    "sandlot cp work:project/result.csv .",
    "sandlot sync src work:project",
    "sandlot forward work 8080:80",
    "sandlot list --state paused",
    "sandlot extend work 1h30m",
    "sandlot fork work --count 2",
    "sandlot logs work --follow",
    "sandlot port expose work 8000",
    "sandlot checkpoint create work before",
    "sandlot network set work --no-internet --allow '*.example.com:443'",
    "sandlot volume put data.csv files:/data.csv",
    "sandlot template build php-8 .",
    "sandlot key create ci --scope read",
    "sandlot member invite shop ada --role viewer",
    "sandlot secret set openai --host api.openai.com <value",
    "sandlot events --follow --since 10m",
    "sandlot rm work",
};
const size_t cli_example_count = ARRAY_SIZE(cli_examples);
