/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Public keys that open the SSH entry point. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/verbs.h"

#define LINE_MAX_BYTES 16384 /* of a public key with its comment */

const struct cli_option ssh_key_add_options[] = {
    {"name", 'n', "NAME", "name of the key; default: its comment"},
    {"team", 0, "TEAM", "a team that the key reaches; may be repeated; default: those of your key"},
    {"expires", 0, "TIME|DURATION",
     "time at which the key expires: 2027-01-31T12:00:00Z, or a span such as 90d"},
    {NULL, 0, NULL, NULL},
};

/* The first line of a file, "-" for standard input; the caller frees it. */
static int read_key(const char *path, char **line, struct error **err)
{
    char text[LINE_MAX_BYTES];
    bool is_input = str_equal(path, "-");
    autofclose FILE *opened = is_input ? NULL : fopen(path, "re");
    FILE *file = is_input ? stdin : opened;
    *line = NULL;
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open %s", path);
    if (!fgets(text, sizeof text, file))
        return cli_misuse(err, "%s has no key", is_input ? "standard input" : path);
    text[strcspn(text, "\r\n")] = '\0';
    if (strstr(text, "PRIVATE KEY"))
        return cli_misuse(err, "%s is a private key; give the file that ends in .pub", path);
    *line = xstrdup(text);
    return 0;
}

int verb_ssh_key_add(struct cli_call *call, struct error **err)
{
    autofree char *line = NULL;
    json_t *key;
    if (read_key(cli_operand(call, 0), &line, err) < 0)
        return -1;
    json_t *body = json_pack("{s:s}", "public_key", line);
    input_text(body, "name", cli_value(call, "name"));
    input_time(body, "expires_at", cli_value(call, "expires"));
    input_texts(call, "team", body, "teams");
    if (api_call(call->cli, "POST", "/v1/ssh_keys", body, &key, err) < 0)
        return -1;
    output_result(call->cli, key, "id");
    return 0;
}

int verb_ssh_key_list(struct cli_call *call, struct error **err)
{
    static const struct output_column columns[] = {{"ID", "id"},
                                                   {"NAME", "name"},
                                                   {"FINGERPRINT", "fingerprint"},
                                                   {"TEAMS", "teams"},
                                                   {"CREATED BY", "created_by"},
                                                   {"CREATED", "created_at"},
                                                   {"EXPIRES", "expires_at"},
                                                   {"USED", "last_used_at"}};
    return output_list(call->cli, "/v1/ssh_keys", "ssh_keys", "ssh_keys", columns,
                       ARRAY_SIZE(columns), err);
}

int verb_ssh_key_rm(struct cli_call *call, struct error **err)
{
    const char *query = cli_flag(call, "with-created") ? "?with_created=true" : "";
    autofree char *path = api_path("/v1/ssh_keys/", query, cli_operand(call, 0));
    return api_call(call->cli, "DELETE", path, NULL, NULL, err);
}
