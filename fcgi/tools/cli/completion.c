/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Completion. The scripts for the shells only pass the words to `sandlot __complete`; the user is
 * typing the last word. The proposals come from the table of verbs and, for names, from the
 * service.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/printable.h"
#include "base/str.h"
#include "cli/api.h"
#include "cli/arguments.h"
#include "cli/deployments.h"
#include "cli/verbs.h"

static const char bash_script[] =
    "_sandlot() {\n"
    "    local IFS=$'\\n'\n"
    "    COMPREPLY=($(sandlot __complete x \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null))\n"
    "    [[ ${#COMPREPLY[@]} -eq 0 ]] && compopt -o default\n"
    "    [[ ${COMPREPLY[0]} == *[:/] ]] && compopt -o nospace\n"
    "}\n"
    "complete -F _sandlot sandlot\n";

static const char zsh_script[] =
    "#compdef sandlot\n"
    "_sandlot() {\n"
    "    local -a found\n"
    "    found=(${(f)\"$(sandlot __complete x \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
    "    if (( ${#found} )); then compadd -- $found; else _files; fi\n"
    "}\n"
    "compdef _sandlot sandlot\n";

static const char fish_script[] = "function __sandlot\n"
                                  "    set -l words (commandline -opc)[2..-1] (commandline -ct)\n"
                                  "    sandlot __complete x $words 2>/dev/null\n"
                                  "end\n"
                                  "complete -c sandlot -a '(__sandlot)'\n";

int verb_completion(struct cli_call *call, struct error **err)
{
    const char *shell = cli_operand(call, 0);
    if (!str_is_choice("bash|zsh|fish", shell))
        return cli_misuse(err, "the shell must be bash, zsh or fish, not '%s'", shell);
    fputs(str_equal(shell, "bash")  ? bash_script
          : str_equal(shell, "zsh") ? zsh_script
                                    : fish_script,
          stdout);
    return 0;
}

struct completion {
    struct cli *cli;
    const char *begun; /* the word that is being written */
};

/* Offer a word. Names that a terminal cannot show as they are have no proposal. */
static void offer(const struct completion *completion, const char *word, const char *behind)
{
    autofree char *shown = word ? printable(word, "") : NULL;
    if (str_equal(shown, word) && word && str_starts_with(word, completion->begun))
        printf("%s%s\n", word, behind);
}

/* --- names of the service --- */

static void offer_rows(const struct completion *completion, const char *path, const char *member,
                       const char *keys, const char *behind)
{
    error_auto ignored = NULL;
    json_auto_t *rows = NULL;
    size_t index;
    json_t *row;
    json_auto_t *answer = NULL;
    if (api_call(completion->cli, "GET", path, NULL, &answer, &ignored) < 0)
        return;
    rows = json_incref(json_object_get(answer, member));
    json_array_foreach (rows, index, row) {
        autofree char *copy = xstrdup(keys);
        char *rest = NULL;
        for (char *key = strtok_r(copy, "|", &rest); key; key = strtok_r(NULL, "|", &rest))
            offer(completion, json_string_value(json_object_get(row, key)), behind);
    }
}

static void offer_deployments(const struct completion *completion)
{
    error_auto ignored = NULL;
    json_auto_t *document = NULL;
    const char *name;
    json_t *entry;
    if (deployments_load(&document, &ignored) < 0)
        return;
    json_object_foreach (json_object_get(document, "deployments"), name, entry)
        offer(completion, name, "");
}

static void offer_choices(const struct completion *completion, const char *choices)
{
    autofree char *copy = xstrdup(choices);
    char *rest = NULL;
    for (char *word = strtok_r(copy, "|", &rest); word; word = strtok_r(NULL, "|", &rest))
        offer(completion, word, "");
}

/* The name of an operand or a value in the table selects the proposals. */
static void offer_kind(struct completion *completion, const char *kind, size_t length)
{
    static const struct {
        const char *kind, *path, *member, *keys, *behind;
    } lists[] = {
        {"SANDBOX", "/v1/sandboxes?limit=200", "sandboxes", "name|id", ""},
        {"SOURCE", "/v1/sandboxes?limit=200", "sandboxes", "name|id", ":"},
        {"TARGET", "/v1/sandboxes?limit=200", "sandboxes", "name|id", ":"},
        {"TEMPLATE", "/v1/templates", "templates", "slug", ""},
        {"VOLUME", "/v1/volumes?limit=200", "volumes", "name", ""},
        {"VOLUME:PATH", "/v1/volumes?limit=200", "volumes", "name", ":"},
        {"CHECKPOINT", "/v1/checkpoints?limit=200", "checkpoints", "name|id", ""},
        {"KEY", "/v1/keys", "keys", "id", ""},
        {"TEAM", "/v1/teams", "teams", "slug", ""},
    };
    autofree char *name = xstrndup(kind, length);
    error_auto ignored = NULL;
    if (str_equal(name, "DEPLOYMENT"))
        offer_deployments(completion);
    else if (str_equal(name, "SHELL"))
        offer_choices(completion, "bash|zsh|fish");
    else if (strchr(name, '|') && !strpbrk(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        offer_choices(completion, name);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        if (!str_equal(name, lists[i].kind))
            continue;
        if (!completion->cli->url && deployments_choose(completion->cli, &ignored) < 0)
            return;
        offer_rows(completion, lists[i].path, lists[i].member, lists[i].keys, lists[i].behind);
    }
}

/* --- places --- */

static void offer_verbs(const struct completion *completion, const char *first)
{
    for (size_t i = 0; i < cli_verb_count; i++) {
        const char *name = cli_verbs[i].name;
        size_t length = strcspn(name, " ");
        if (cli_verbs[i].flags & CLI_HIDDEN)
            continue;
        if (first) {
            if (strlen(first) == length && !strncmp(name, first, length) && name[length])
                offer(completion, name + length + 1, "");
            continue;
        }
        bool is_repeated = i && !strncmp(name, cli_verbs[i - 1].name, length) &&
                           cli_verbs[i - 1].name[length] == ' ';
        autofree char *word = xstrndup(name, length);
        if (!is_repeated)
            offer(completion, word, "");
    }
}

static void offer_options(const struct completion *completion, const struct cli_option *options)
{
    for (; options && options->name; options++) {
        autofree char *word = xasprintf("--%s", options->name);
        offer(completion, word, "");
    }
}

/* The name of the operand at a place; the last one stands for all that follow. */
static void offer_operand(struct completion *completion, const struct cli_verb *verb, size_t at)
{
    const char *word = verb->operands + strspn(verb->operands, "[");
    for (; at && strchr(word, ' '); at--)
        word = strchr(word, ' ') + 1 + strspn(strchr(word, ' ') + 1, "[");
    if (at && !strstr(word, "..."))
        return;
    offer_kind(completion, word, strcspn(word, " ]."));
}

/* The option whose value the last word is, and how many operands stand before it. */
static const struct cli_option *read_before(const struct cli_verb *verb, char **words, size_t count,
                                            size_t *operands)
{
    *operands = 0;
    for (size_t i = 0; i < count; i++) {
        const struct cli_option *option = NULL;
        if (str_starts_with(words[i], "--") && !strchr(words[i], '='))
            option = arguments_option(verb, words[i] + 2, strlen(words[i] + 2), 0);
        else if (words[i][0] == '-' && words[i][1] && !words[i][2])
            option = arguments_option(verb, NULL, 0, words[i][1]);
        else if (words[i][0] != '-')
            ++*operands;
        if (option && option->argument && ++i == count)
            return option;
    }
    return NULL;
}

static void complete(struct completion *completion, char **words, size_t count)
{
    size_t name_words, operands;
    const struct cli_verb *verb = arguments_verb(words, count, &name_words);
    if (!verb) {
        offer_verbs(completion, count ? words[count - 1] : NULL);
        return;
    }
    const struct cli_option *option =
        read_before(verb, words + name_words, count - name_words, &operands);
    if (option)
        offer_kind(completion, option->argument, strlen(option->argument));
    else if (completion->begun[0] == '-') {
        offer_options(completion, verb->options);
        offer_options(completion, cli_common_options);
    } else {
        offer_operand(completion, verb, operands);
    }
}

int verb_complete(struct cli_call *call, struct error **err)
{
    (void)err;
    size_t count = call->operand_count;
    struct completion completion = {.cli = call->cli,
                                    .begun = count > 1 ? call->operands[count - 1] : ""};
    /* The first operand only keeps the words behind it from being read as options. */
    complete(&completion, call->operands + 1, count > 1 ? count - 2 : 0);
    return 0;
}
