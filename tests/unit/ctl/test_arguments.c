/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/mem.h"
#include "ctl/ctl.h"

static const struct ctl_option options[] = {
    {"plan", CTL_TEXT, true, "PLAN", 0, 0, "a text"},
    {"team", CTL_LIST, false, "SLUG", 0, 0, "a list"},
    {"cpu", CTL_NUMBER, false, "N", 1, 16, "a number"},
    {"for", CTL_DURATION, false, "DURATION", 60, 86400, "a duration"},
    {"scope", CTL_CHOICE, false, "read|write", 0, 0, "a choice"},
    {"default", CTL_FLAG, false, NULL, 0, 0, "a flag"},
    {NULL, CTL_FLAG, false, NULL, 0, 0, NULL},
};

static struct ctl_arguments arguments;

/* Parse a line of words with single blanks between; the first is the command's last word. */
static int parse(const char *line, const char *operands)
{
    static char copy[512];
    char *argv[64];
    int argc = 0;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *save = NULL, *word = strtok_r(copy, " ", &save); word;
         word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    argv[argc] = NULL;
    return ctl_arguments_parse(argc, argv, operands, options, &arguments);
}

TEST(takes_operands_and_options_in_any_order)
{
    unsigned count;
    assert_int_equal(parse("create --plan pro acme --team a --team=b --cpu 4 --default", "SLUG"),
                     0);
    assert_int_equal(arguments.operand_count, 1);
    assert_string_equal(arguments.operands[0], "acme");
    assert_string_equal(ctl_text(&arguments, "plan"), "pro");
    assert_int_equal(ctl_number(&arguments, "cpu", 1), 4);
    assert_true(ctl_flag(&arguments, "default"));
    assert_null(ctl_text(&arguments, "scope"));
    const char *const *teams = ctl_list(&arguments, "team", &count);
    assert_int_equal(count, 2);
    assert_string_equal(teams[1], "b");
    assert_false(arguments.json);
}

TEST(falls_back_to_what_was_not_given)
{
    assert_int_equal(parse("create acme --plan pro --json", "SLUG"), 0);
    assert_int_equal(ctl_number(&arguments, "cpu", 7), 7);
    assert_false(ctl_flag(&arguments, "default"));
    assert_true(arguments.json);
}

TEST(takes_one_or_more_operands)
{
    assert_int_equal(parse("set pro a=1 b=2 --plan x", "PLAN FIELD=VALUE..."), 0);
    assert_int_equal(arguments.operand_count, 3);
    assert_int_equal(parse("set pro --plan x", "PLAN FIELD=VALUE..."), -1);
}

TEST(refuses_what_the_row_does_not_have)
{
    assert_int_equal(parse("create acme", "SLUG"), -1);                          /* no --plan */
    assert_int_equal(parse("create --plan pro", "SLUG"), -1);                    /* no operand */
    assert_int_equal(parse("create acme other --plan pro", "SLUG"), -1);         /* one too many */
    assert_int_equal(parse("create acme --plan pro --plan basic", "SLUG"), -1);  /* twice */
    assert_int_equal(parse("create acme --plan", "SLUG"), -1);                   /* no value */
    assert_int_equal(parse("create acme --plan pro --cpu 17", "SLUG"), -1);      /* too large */
    assert_int_equal(parse("create acme --plan pro --cpu four", "SLUG"), -1);    /* no number */
    assert_int_equal(parse("create acme --plan pro --scope re", "SLUG"), -1);    /* no choice */
    assert_int_equal(parse("create acme --plan pro --scope admin", "SLUG"), -1); /* no choice */
    assert_int_equal(parse("create acme --plan pro --unknown", "SLUG"), -1);     /* no option */
    assert_int_equal(parse("create acme --plan=", "SLUG"), -1);                  /* empty */
    assert_int_equal(parse("create acme --plan pro --default=yes", "SLUG"), -1); /* a flag */
}

TEST(takes_durations_within_their_bounds)
{
    assert_int_equal(parse("create acme --plan x --for 1h30m", "SLUG"), 0);
    assert_int_equal(ctl_seconds(&arguments, "for", 1), 5400);
    assert_int_equal(parse("create acme --plan x", "SLUG"), 0);
    assert_int_equal(ctl_seconds(&arguments, "for", 7), 7);
    assert_int_equal(parse("create acme --plan x --for 59", "SLUG"), -1);
    assert_int_equal(parse("create acme --plan x --for 2d", "SLUG"), -1);
    assert_int_equal(parse("create acme --plan x --for 1.5h", "SLUG"), -1);
}

TEST(help_needs_nothing_else)
{
    assert_int_equal(parse("create --help", "SLUG"), 0);
    assert_true(arguments.help);
}

static const struct ctl_command *find(const char *first, const char *second, int *used)
{
    char a[32], b[32];
    char *argv[] = {a, b, NULL};
    snprintf(a, sizeof a, "%s", first);
    snprintf(b, sizeof b, "%s", second ? second : "");
    return ctl_command_find(second ? 2 : 1, argv, used);
}

TEST(finds_commands_by_their_words)
{
    int used;
    const struct ctl_command *command = find("user", "create", &used);
    assert_non_null(command);
    assert_string_equal(command->words, "user create");
    assert_int_equal(used, 2);
    assert_string_equal(find("status", "extra", &used)->words, "status");
    assert_int_equal(used, 1);
    assert_null(find("user", NULL, &used));
    assert_null(find("user", "creat", &used));
    assert_null(find("statu", NULL, &used));
    assert_null(ctl_command_find(0, (char *[]){NULL}, &used));
}

TEST(other_words_of_one_meaning_find_a_command)
{
    int used;
    static const char *const typed[] = {"rm", "remove", "delete"};
    for (size_t i = 0; i < ARRAY_SIZE(typed); i++) {
        assert_string_equal(find("user", typed[i], &used)->words, "user rm");
        assert_string_equal(find("template", typed[i], &used)->words, "template rm");
        assert_string_equal(find("key", typed[i], &used)->words, "key revoke");
    }
    assert_string_equal(find("team", "remove-member", &used)->words, "team rm-member");
    assert_null(find("user", "removed", &used));
    assert_null(find("user", "rmember", &used));
    assert_null(find("user", "revoke", &used));
    assert_string_equal(find("sandbox", "logs", &used)->words, "sandbox log");
    assert_null(find("sandbox", "logs-all", &used));
}

TEST(every_option_is_explained)
{
    for (unsigned i = 0; i < ctl_command_count; i++)
        for (const struct ctl_option *option = ctl_commands[i].options; option && option->name;
             option++)
            if (!option->help || !*option->help)
                fail_msg("`%s` does not explain --%s", ctl_commands[i].words, option->name);
}
