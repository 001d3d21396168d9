/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/recipe_user.h"

#include <string.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "base/str.h"
#include "recipe/recipe_step.h"

#define USER         "user"
#define NUMBER       "1000" /* of this user: programs give it to the first user, too */
#define WORD_SIZE    64
#define COMMANDS_MAX ((size_t)1 << 20) /* bytes of the commands of a step */
#define BLANKS       " \t\r\\"
#define ENDS         ";&|()`<>\n" /* of a command */
/* Characters of numbers, of variables, and of names, also in a path or an option. */
#define DIGITS       "0123456789"
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_" DIGITS
#define PATH_LETTERS NAME_LETTERS "-./"

/* Remove the user from the lists; add_script adds him again. */
static const char aside_script[] = RECIPE_TOOLS
    "set -e; umask 077; grep -q '^" USER ":[^:]*:" NUMBER ":' /etc/passwd || exit 0\n"
    "drop() { [ -f $1 ] || return 0; grep -v '^" USER ":' $1 >$1.sandlot || [ $? = 1 ]\n"
    "  cat $1.sandlot >$1; rm -f $1.sandlot; }\n"
    "drop /etc/passwd; drop /etc/shadow\n"
    "if grep -q '^" USER ":[^:]*:" NUMBER ":' /etc/group; then\n"
    "  drop /etc/group; drop /etc/gshadow; fi";
/* Add root and the user where they are missing, as finish.py of the template of builders does. */
static const char add_script[] = RECIPE_TOOLS
    "set -e; umask 022; shell=/bin/sh; [ ! -x /bin/bash ] || shell=/bin/bash\n"
    "add() { [ -z \"$(tail -c 1 $1)\" ] || echo >>$1; echo \"$2\" >>$1; }\n"
    "grep -q '^root:' /etc/passwd || add /etc/passwd root:x:0:0:root:/root:$shell\n"
    "grep -q '^" USER ":' /etc/passwd || {\n"
    "  grep -q '^[^:]*:[^:]*:" NUMBER ":' /etc/group || add /etc/group " USER ":x:" NUMBER ":\n"
    "  add /etc/passwd \"" USER ":x:" NUMBER ":" NUMBER "::/home/" USER ":$shell\"\n"
    "  [ ! -f /etc/shadow ] || add /etc/shadow '" USER ":*:19000:0:99999:7:::'\n"
    "  [ -d /home/" USER " ] || { mkdir -p /home/" USER "; chown " NUMBER ":" NUMBER " /home/" USER
    "; }; }";

/* --- commands --- */

enum act { NO_ACT, ADD, CHANGE, REMOVE };

static const struct {
    const char *program;
    enum act act;
} programs[] = {
    {"useradd", ADD},     {"adduser", ADD},     {"groupadd", ADD},   {"addgroup", ADD},
    {"usermod", CHANGE},  {"groupmod", CHANGE}, {"userdel", REMOVE}, {"deluser", REMOVE},
    {"groupdel", REMOVE}, {"delgroup", REMOVE},
};

/* Read the next word of a command, without quotes; a long one is cut. False: the command ends. */
static bool next_word(const char **text, char word[WORD_SIZE])
{
    const char *at = *text + strspn(*text, BLANKS);
    size_t size = 0;
    char quote = '\0';
    *text = at;
    if (!*at || strchr(ENDS, *at))
        return false;
    for (; *at && (quote || !strchr(BLANKS ENDS, *at)); at++) {
        bool is_quote = quote ? *at == quote : *at == '"' || *at == '\'';
        if (is_quote)
            quote = quote ? '\0' : *at;
        else if (size + 1 < WORD_SIZE)
            word[size++] = *at;
    }
    word[size] = '\0';
    *text = at;
    return *at != '>' || !size || word[strspn(word, DIGITS)]; /* not the 2 of "2>file" */
}

static enum act act_of(const char *word)
{
    const char *slash = strrchr(word, '/');
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
        if (str_equal(slash ? slash + 1 : word, programs[i].program))
            return programs[i].act;
    return NO_ACT;
}

/* Return whether a word is the name of the user, or one of the variables with this value. */
static bool is_user(const json_t *variables, const char *word)
{
    char name[WORD_SIZE] = "";
    if (*word != '$')
        return str_equal(word, USER);
    word += 1 + (word[1] == '{');
    memcpy(name, word, strcspn(word, "}"));
    return json_object_get(variables, name);
}

/* Return whether the next word is a group: -g, -rG, --gid, --ingroup. */
static bool takes_group(const char *option)
{
    size_t length = strlen(option);
    if (str_starts_with(option, "--"))
        return str_equal(option, "--gid") || str_equal(option, "--groups") ||
               str_equal(option, "--ingroup");
    return *option == '-' && strchr("gG", option[length - 1]);
}

/* Return whether usermod or groupmod changes a number: -u, -ou, -u1000, --uid=1000, -g. */
static bool changes_number(const char *option)
{
    if (str_starts_with(option, "--"))
        return str_starts_with(option, "--uid") || str_starts_with(option, "--gid");
    return *option == '-' && strpbrk(option, "ug");
}

struct command {
    enum act act;
    bool has_user; /* an argument is the user */
    bool has_name; /* it has another name, or a value of an option */
    bool is_his;   /* the user or the group of his name is added, and not another one with him */
    bool changes_number;
};

static void read_command(const json_t *variables, const char **text, struct command *command)
{
    char word[WORD_SIZE], before[WORD_SIZE] = "";
    bool was_user = false;
    *command = (struct command){.act = NO_ACT};
    for (; next_word(text, word); memcpy(before, word, sizeof word)) {
        if (command->act == NO_ACT) {
            command->act = act_of(word);
            continue;
        }
        /* "adduser user sudo" adds an existing user to a group. */
        if (was_user && *word != '-')
            command->is_his = false;
        was_user = is_user(variables, word);
        command->has_user = command->has_user || was_user;
        command->has_name = command->has_name || (*word != '-' && !was_user);
        was_user = was_user && !takes_group(before);
        command->is_his = command->is_his || was_user;
        command->changes_number = command->changes_number || changes_number(word);
    }
}

/* --- steps --- */

/* The acts of all commands of a Dockerfile. */
struct acts {
    bool adds, adds_user, changes_number, removes, has_number;
};

/* Return whether a text, or any text of a list or an object, has this part, without one of these
 * characters before or after it. */
static bool mentions(const json_t *value, const char *part, const char *letters)
{
    const char *name, *text = json_string_value(value);
    size_t at, length = strlen(part);
    json_t *one;
    for (const char *found = text; found && (found = strstr(found, part)); found++)
        if ((found == text || !strchr(letters, found[-1])) &&
            (!found[length] || !strchr(letters, found[length])))
            return true;
    json_array_foreach ((json_t *)(uintptr_t)value, at, one) {
        if (mentions(one, part, letters))
            return true;
    }
    json_object_foreach ((json_t *)(uintptr_t)value, name, one) {
        if (mentions(one, part, letters))
            return true;
    }
    return false;
}

static void read_commands(const json_t *variables, const json_t *arguments, struct acts *acts)
{
    buffer_auto text = BUFFER_INIT(COMMANDS_MAX);
    size_t i;
    json_t *one;
    json_array_foreach ((json_t *)(uintptr_t)arguments, i, one)
        buffer_printf(&text, "%s ", json_string_value(one));
    for (const char *at = buffer_string(&text); *at; at += strspn(at, ENDS)) {
        struct command command;
        read_command(variables, &at, &command);
        acts->adds_user = acts->adds_user || (command.act == ADD && command.is_his);
        acts->changes_number =
            acts->changes_number ||
            (command.act == CHANGE && !command.has_user && command.changes_number);
        acts->removes =
            acts->removes || (command.act == REMOVE && command.has_name && !command.has_user);
    }
}

static void read_step(const json_t *variables, const json_t *step, struct acts *acts)
{
    static const char *const members[] = {"arguments", "variables", "open_variables", "envs",
                                          "user",      "number",    "group"};
    const json_t *arguments = json_object_get(step, "arguments");
    read_commands(variables, arguments, acts);
    /* A program can also be in quotes, as in bash -c "useradd app". */
    for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
        acts->adds =
            acts->adds || (programs[i].act == ADD && mentions(arguments, programs[i].program, ""));
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        acts->has_number =
            acts->has_number || mentions(json_object_get(step, members[i]), NUMBER, DIGITS);
}

/* Return the names of the variables whose value, or default, is the name of the user; a new
 * reference. */
static json_t *variables_of(const json_t *steps)
{
    static const char *const members[] = {"variables", "open_variables", "envs"};
    json_t *variables = json_object(), *step, *value;
    const char *name;
    size_t at;
    json_array_foreach ((json_t *)(uintptr_t)steps, at, step) {
        for (size_t i = 0; i < ARRAY_SIZE(members); i++)
            json_object_foreach (json_object_get(step, members[i]), name, value)
                if (str_equal(json_string_value(value), USER) ||
                    str_ends_with(json_string_value(value), ":-" USER "}"))
                    json_object_set(variables, name, value);
    }
    return variables;
}

static struct acts read_acts(const json_t *recipe)
{
    const json_t *steps = json_object_get(recipe, "steps");
    json_auto_t *variables = variables_of(steps);
    struct acts acts = {.adds = false};
    size_t at;
    json_t *step;
    json_array_foreach ((json_t *)(uintptr_t)steps, at, step) {
        if (json_object_get(step, "line")) /* it is of a Dockerfile */
            read_step(variables, step, &acts);
    }
    return acts;
}

/* Return whether a text names one of these variables: $NAME, ${NAME} or ${NAME…}. */
static bool names_variable(const json_t *variables, const char *text)
{
    for (; (text = strchr(text, '$')); text++) {
        const char *from = text + 1 + (text[1] == '{');
        char name[WORD_SIZE] = "";
        size_t length = strspn(from, NAME_LETTERS);
        if (length < sizeof name)
            memcpy(name, from, length);
        if (json_object_get(variables, name))
            return true;
    }
    return false;
}

/* Return whether a step names the user, or a variable with this value. */
static bool names_user(const json_t *recipe)
{
    const json_t *steps = json_object_get(recipe, "steps");
    json_auto_t *variables = variables_of(steps);
    size_t at, i;
    json_t *step, *word;
    json_array_foreach ((json_t *)(uintptr_t)steps, at, step) {
        if (mentions(json_object_get(step, "arguments"), USER, PATH_LETTERS) ||
            mentions(json_object_get(step, "user"), USER, PATH_LETTERS) ||
            names_variable(variables, recipe_text(step, "user")))
            return true;
        json_array_foreach (json_object_get(step, "arguments"), i, word)
            if (names_variable(variables, json_string_value(word)))
                return true;
    }
    return false;
}

/* Not each program that removes a user or a group fails because of this user. */
static bool is_in_the_way(const struct acts *acts, bool is_named)
{
    return acts->adds_user || (acts->removes && !is_named) ||
           ((acts->adds || acts->changes_number) && acts->has_number);
}

bool recipe_adds_user(const json_t *recipe)
{
    const struct acts acts = read_acts(recipe);
    return is_in_the_way(&acts, names_user(recipe));
}

json_t *recipe_on_template(const json_t *recipe)
{
    const struct acts acts = read_acts(recipe);
    bool is_named = names_user(recipe);
    if (!is_in_the_way(&acts, is_named) || (!acts.adds_user && is_named))
        return json_incref((json_t *)(uintptr_t)recipe);
    json_t *whole = json_copy((json_t *)(uintptr_t)recipe);
    json_t *steps = json_pack("[{s:s, s:s, s:s, s:[s, s, s], s:b}]", "type", "run", "user", "root",
                              "command", "removing the user `" USER "` until the end of the build",
                              "arguments", "/bin/sh", "-c", aside_script, RECIPE_WITHOUT_USER, 1);
    json_array_extend(steps, json_object_get(recipe, "steps"));
    json_object_set_new(whole, "steps", steps);
    return whole;
}

int recipe_users_add(struct recipe_place *place, struct error **err)
{
    if (!recipe_step_is_image(place, 0) &&
        !json_is_true(json_object_get(recipe_step_at(place, 0), RECIPE_WITHOUT_USER)))
        return 0;
    return recipe_place_call(place, json_pack("[s, s]", "-c", add_script), NULL, err);
}

bool recipe_keeps_user(const json_t *step, const char *user)
{
    size_t length = strcspn(user, ":");
    return json_is_true(json_object_get(step, RECIPE_WITHOUT_USER)) &&
           str_equal(recipe_text(step, "type"), "run") && length == strlen(USER) &&
           !strncmp(user, USER, length);
}
