/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The manual page of sandlotctl and its table of commands have the same commands and options. */
#include "unit/folder.h"

#include <stdlib.h>

#include "base/str.h"
#include "ctl/ctl.h"

#define PAGE      "conf/man/sandlotctl.8.in"
#define PAGE_MAX  262144
#define ITEMS_MAX 256
#define WORDS_MAX 32

/* An entry of the page: the words of a command, and the names of its options. */
struct item {
    char command[64];
    const char *options[WORDS_MAX];
    unsigned count;
};
static char page[PAGE_MAX];
static struct item items[ITEMS_MAX];
static unsigned item_count;

/* Return the end of an entry that starts here: its line, with continuations, or up to `.Xc`. */
static char *end_of(char *line)
{
    char *end = line + strcspn(line, "\n");
    while (end > line && end[-1] == '\\' && *end) {
        end[-1] = *end = ' ';
        end += strcspn(end, "\n");
    }
    char *begins = strstr(line, " Xo");
    char *list_end = begins && begins < end ? strstr(end, "\n.Xc") : NULL;
    return list_end ? list_end : end;
}

/* Read the words behind `.It`: those that directly follow `Cm` are the command. */
static void read_item(char *text)
{
    struct item *item = &items[item_count];
    bool in_command = false, has_command = false;
    char *rest = NULL;
    *item = (struct item){.command = ""};
    for (char *word = strtok_r(text, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
        word += *word == '.';
        if (str_equal(word, "Cm") && !has_command) {
            in_command = has_command = true;
        } else if (in_command && *word >= 'a' && *word <= 'z') {
            size_t length = strlen(item->command);
            snprintf(item->command + length, sizeof item->command - length, "%s%s",
                     length ? " " : "", word);
        } else {
            in_command = false;
            if (*word == '-' && word[1]) {
                assert_true(item->count < WORDS_MAX);
                item->options[item->count++] = word + 1;
            }
        }
    }
    item_count += has_command;
}

static int read_page(void **state)
{
    const char *source = getenv("SANDLOT_SOURCE_DIR");
    autofree char *path = xasprintf("%s/" PAGE, source ? source : ".");
    char *line = page;
    (void)state;
    read_file(path, page, sizeof page);
    while (line && *line) {
        if (!str_starts_with(line, ".It ")) {
            line = strchr(line, '\n');
            line += line != NULL;
            continue;
        }
        char *end = end_of(line), *text = line + strlen(".It ");
        line = *end ? end + 1 : NULL;
        *end = '\0';
        assert_true(item_count < ITEMS_MAX - 1);
        read_item(text);
    }
    return 0;
}

static bool page_has(const char *command, const char *option)
{
    for (unsigned i = 0; i < item_count; i++) {
        if (!str_equal(items[i].command, command))
            continue;
        if (!option)
            return true;
        for (unsigned j = 0; j < items[i].count; j++)
            if (str_equal(items[i].options[j], option))
                return true;
    }
    return false;
}

static const struct ctl_command *command_of(const char *words)
{
    for (unsigned i = 0; i < ctl_command_count; i++)
        if (str_equal(ctl_commands[i].words, words))
            return &ctl_commands[i];
    return NULL;
}

static bool command_has(const struct ctl_command *command, const char *name)
{
    for (const struct ctl_option *option = command->options; option && option->name; option++)
        if (str_equal(option->name, name))
            return true;
    return false;
}

TEST(each_command_and_option_is_in_the_manual)
{
    for (unsigned i = 0; i < ctl_command_count; i++) {
        const struct ctl_command *command = &ctl_commands[i];
        if (!page_has(command->words, NULL))
            fail_msg("%s lacks the command %s", PAGE, command->words);
        for (const struct ctl_option *option = command->options; option && option->name; option++)
            if (!page_has(command->words, option->name))
                fail_msg("%s lacks the option --%s of %s", PAGE, option->name, command->words);
    }
}

TEST(the_manual_has_no_others)
{
    unsigned options = 0;
    for (unsigned i = 0; i < item_count; i++) {
        const struct ctl_command *command = command_of(items[i].command);
        if (!command)
            fail_msg("%s has the command %s, which does not exist", PAGE, items[i].command);
        for (unsigned j = 0; j < items[i].count; j++, options++)
            if (!command_has(command, items[i].options[j]))
                fail_msg("%s has the option --%s of %s, which does not exist", PAGE,
                         items[i].options[j], command->words);
    }
    assert_true(options > 50);
}

TEST_GROUP(read_page, NULL)
