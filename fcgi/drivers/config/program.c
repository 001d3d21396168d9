/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/program.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/log.h"
#include "config.h"

#define DEFAULT_CONFIG  SANDLOT_SYSCONF_DIR "/sandlot.conf"

#define RESTART_PAUSE_S 3

enum { OPTION_CONFIG = 256, OPTION_CHECK, OPTION_VERSION, OPTION_HELP, OPTION_JSON };

static const struct option options[] = {
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"check-config", no_argument, NULL, OPTION_CHECK},
    {"version", no_argument, NULL, OPTION_VERSION},
    {"help", no_argument, NULL, OPTION_HELP},
    {"json", no_argument, NULL, OPTION_JSON}, /* last: interactive programs only */
    {NULL, 0, NULL, 0},
};

static void print_help(const struct program *program)
{
    printf("Usage: %s [OPTION]...%s%s\n%s\n\n"
           "  --config FILE    settings file (default: $SANDLOT_CONFIG, else\n"
           "                   " DEFAULT_CONFIG ")\n"
           "  --check-config   check the settings file and exit\n"
           "%s"
           "  --version        print the version and exit\n"
           "  --help           print this text and exit\n",
           program->name, program->arguments ? " " : "",
           program->arguments ? program->arguments : "", program->summary,
           program->interactive ? "  --json           print JSON\n" : "");
    if (program->help)
        printf("\n%s", program->help);
}

static int usage_error(const struct program *program)
{
    fprintf(stderr, "Try '%s --help'.\n", program->name);
    return EX_USAGE;
}

static int config_error(const struct program *program, const struct error *err)
{
    fprintf(stderr, "%s: %s\n", program->name, err->message);
    return EX_CONFIG;
}

/* Returns PROGRAM_RUN or an exit status; *check: --check-config was given. */
static int read_options(int argc, char **argv, const struct program *program,
                        struct program_call *call, bool *check)
{
    struct option known[sizeof options / sizeof options[0]];
    memcpy(known, options, sizeof known);
    if (!program->interactive)
        memset(&known[sizeof known / sizeof known[0] - 2], 0, sizeof known[0]);
    for (;;) {
        /* '+': options end at the command, whose own options are not ours. */
        switch (getopt_long(argc, argv, "+", known, NULL)) {
        case -1:
            return PROGRAM_RUN;
        case OPTION_CONFIG:
            call->config_path = optarg;
            break;
        case OPTION_CHECK:
            *check = true;
            break;
        case OPTION_JSON:
            call->json = true;
            break;
        case OPTION_VERSION:
            printf("%s (%s) %s\n", program->name, PACKAGE_NAME, PACKAGE_VERSION);
            return EX_OK;
        case OPTION_HELP:
            print_help(program);
            return EX_OK;
        default:
            return usage_error(program);
        }
    }
}

static enum log_level level_of(const char *name)
{
    return !strcmp(name, "debug")     ? LOG_LEVEL_DEBUG
           : !strcmp(name, "warning") ? LOG_LEVEL_WARNING
           : !strcmp(name, "error")   ? LOG_LEVEL_ERROR
                                      : LOG_LEVEL_INFO;
}

int program_settings(const struct program *program, struct program_call *call, struct error **err)
{
    settings_auto settings = NULL;
    if (settings_load(call->config_path, &settings, err) < 0)
        return -1;
    log_configure(level_of(settings->log_level),
                  strcmp(settings->log_format, "json") ? LOG_FORMAT_TEXT : LOG_FORMAT_JSON);
    if (!program->interactive && *settings->log_file && log_to_file(settings->log_file) < 0)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot open log_file %s",
                               settings->log_file);
    call->settings = settings;
    settings = NULL;
    return 0;
}

static int check_config(const struct program *program, const struct program_call *call)
{
    error_auto err = NULL;
    settings_auto settings = NULL;
    if (settings_load(call->config_path, &settings, &err) < 0)
        return config_error(program, err);
    printf("%s: ok\n", call->config_path);
    return EX_OK;
}

int program_start(int argc, char **argv, const struct program *program, struct program_call *call)
{
    error_auto err = NULL;
    bool check = false;
    const char *from_environment = getenv("SANDLOT_CONFIG");
    *call = (struct program_call){
        .config_path = from_environment && *from_environment ? from_environment : DEFAULT_CONFIG};
    log_init(program->name);
    json_wipe_freed();
    optind = 0; /* GNU: start afresh, also when tests call twice */
    int status = read_options(argc, argv, program, call, &check);
    if (status != PROGRAM_RUN)
        return status;
    call->arguments = argv + optind;
    if (!program->arguments && *call->arguments) {
        fprintf(stderr, "%s: unexpected argument '%s'\n", program->name, *call->arguments);
        return usage_error(program);
    }
    if (check)
        return check_config(program, call);
    if (!program->interactive && program_settings(program, call, &err) < 0) {
        sleep(RESTART_PAUSE_S);
        return config_error(program, err);
    }
    return PROGRAM_RUN;
}

int program_end(const struct error *err)
{
    if (!err)
        return EX_OK;
    log_error("cannot serve; ending this process, so that its supervisor starts it again",
              LOG_ERROR(err));
    sleep(RESTART_PAUSE_S);
    return EX_UNAVAILABLE;
}

int program_main(int argc, char **argv, const struct program *program,
                 void (*run)(const struct settings *settings, struct error **err))
{
    struct program_call call;
    error_auto err = NULL;
    int status = program_start(argc, argv, program, &call);
    if (status != PROGRAM_RUN)
        return status;
    run(call.settings, &err);
    settings_free(call.settings);
    return program_end(err);
}
