/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The help and the manual page of sandlotctl, which follow from its table of commands. */
#include "unit/unit.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/prose.h"
#include "base/str.h"
#include "ctl/help.h"

static char *printed;
static size_t printed_size;

static FILE *begin(void)
{
    free(printed);
    printed = NULL;
    FILE *out = open_memstream(&printed, &printed_size);
    assert_non_null(out);
    return out;
}

static bool explain(const char *first, const char *second)
{
    char a[32], b[32];
    FILE *out = begin();
    snprintf(a, sizeof a, "%s", first);
    snprintf(b, sizeof b, "%s", second ? second : "");
    bool known = ctl_help_explain(out, second ? 2 : 1, (char *[]){a, b, NULL}, PROSE_NO_WIDTH);
    fclose(out);
    return known;
}

static int clean_up(void **state)
{
    (void)state;
    free(printed);
    return 0;
}

static bool is_listed(const struct ctl_command *command)
{
    return *command->words && *command->words != '_';
}

TEST(each_command_is_in_the_list_below_its_subject)
{
    FILE *out = begin();
    ctl_help_print_all(out, PROSE_NO_WIDTH);
    fclose(out);
    assert_string_not_equal(ctl_commands[0].summary, "");
    assert_string_equal(ctl_commands[0].words, "");
    for (unsigned i = 0; i < ctl_command_count; i++) {
        const struct ctl_command *command = &ctl_commands[i];
        autofree char *line = *command->words ? xasprintf("\n  %s ", command->words)
                                              : xasprintf("%s:\n", command->summary);
        if (!strstr(printed, line) != (*command->words == '_'))
            fail_msg("the list of commands: %s", line);
    }
    assert_non_null(strstr(printed, "\n\nBackups:\n  backup DIR "));
}

TEST(an_unknown_command_is_compared_with_listed_ones)
{
    FILE *standard = stderr;
    char word[] = "x";
    int used;
    stderr = begin();
    const struct ctl_command *found = ctl_command_find(1, (char *[]){word, NULL}, &used);
    fclose(stderr);
    stderr = standard;
    assert_null(found);
    assert_string_equal(printed, "sandlotctl: unknown command 'x'\n");
}

/* The usage line and the examples are for copying, and stay whole. */
TEST(the_list_fits_a_narrow_terminal)
{
    FILE *out = begin();
    char *rest, *line;
    ctl_help_print_all(out, 40);
    fclose(out);
    *strstr(printed, "\nExamples:\n") = '\0';
    rest = printed;
    while ((line = strsep(&rest, "\n")))
        if (strlen(line) > 40)
            fail_msg("%zu columns: %s", strlen(line), line);
}

TEST(each_command_explains_itself_and_its_options)
{
    for (unsigned i = 0; i < ctl_command_count; i++) {
        const struct ctl_command *command = &ctl_commands[i];
        autofree char *words = xstrdup(command->words);
        char *space = strchr(words, ' ');
        if (!is_listed(command))
            continue;
        if (space)
            *space = '\0';
        assert_true(explain(words, space ? space + 1 : NULL));
        autofree char *usage = xasprintf("usage: sandlotctl %s", command->words);
        assert_true(str_starts_with(printed, usage));
        assert_non_null(strstr(printed, command->summary));
        for (const struct ctl_option *option = command->options; option && option->name; option++) {
            autofree char *row = xasprintf("\n  --%s", option->name);
            if (!strstr(printed, row) || !strstr(printed, option->help))
                fail_msg("`%s --help` does not explain --%s", command->words, option->name);
        }
    }
}

TEST(a_first_word_lists_its_commands)
{
    assert_true(explain("keyring", NULL));
    assert_non_null(strstr(printed, "  keyring reseal "));
    assert_null(strstr(printed, "  key create"));
    assert_true(explain("audit", NULL)); /* is a command too */
    assert_true(str_starts_with(printed, "usage: sandlotctl audit ["));
    assert_false(explain("keyrin", NULL));
    assert_false(explain("user", "creat"));
    assert_false(explain("", NULL));
}

TEST(examples_are_commands)
{
    for (size_t i = 0; i < ctl_example_count; i++) {
        int used, count = 0;
        const char *start = strstr(ctl_examples[i], "sandlotctl ");
        assert_non_null(start);
        autofree char *line = xstrdup(start + strlen("sandlotctl "));
        char *words[16], *save = NULL;
        line[strcspn(line, ")")] = '\0';
        for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
            words[count++] = word;
        words[count] = NULL;
        const struct ctl_command *command = ctl_command_match(count, words, &used);
        static struct ctl_arguments arguments;
        assert_non_null(command);
        assert_int_equal(ctl_arguments_parse(count - used + 1, words + used - 1, command->operands,
                                             command->options, &arguments),
                         0);
    }
}

TEST(the_manual_has_each_command_and_option)
{
    FILE *out = begin();
    ctl_manual_print(out);
    fclose(out);
    for (unsigned i = 0; i < ctl_command_count; i++) {
        const struct ctl_command *command = &ctl_commands[i];
        autofree char *item = xasprintf("\n.It Cm %s%s%s\n", command->words,
                                        *command->operands ? " Ar " : "", command->operands);
        const char *found = is_listed(command) ? strstr(printed, item) : printed;
        if (!found)
            fail_msg("the manual page lacks `%s`", command->words);
        for (const struct ctl_option *option = command->options; option && option->name; option++) {
            autofree char *line = xasprintf("\n.It Fl -%s", option->name);
            found = strstr(found, line);
            if (!found)
                fail_msg("the manual page lacks --%s of `%s`", option->name, command->words);
        }
    }
    assert_null(strstr(printed, "__manual Ar"));
    assert_null(strstr(printed, ".It Cm __"));
}

TEST_GROUP(NULL, clean_up)
