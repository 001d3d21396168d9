/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/common/machine.h"
#include "agent/defaults.h"
#include "agent/first_process.h"
#include "agent/framework/server.h"
#include "agent/guard.h"
#include "agent/hold.h"
#include "agent/process/process.h"
#include "agent/relay.h"
#include "agent/routes.h"
#include "agent/service_record.h"
#include "agent/services.h"
#include "agent/tcp.h"
#include "agent/tcp_listen.h"
#include "base/error.h"
#include "base/instance.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "httpd/server.h"

#define DESCRIPTORS_MAX 16384

/* Long-lived and small: return memory early, and map large blocks so that they can be returned. */
#define MALLOC_TRIM_BYTES (64 * 1024)
#define MALLOC_MAP_BYTES  (64 * 1024)

struct options {
    const char *listen_address;
    uint16_t port, relay_port;
    bool guard, machine, trust_local_peers, verbose;
};

static struct agent agent;
static struct process_table processes;
static struct loop_source signals;
static bool stopping;

static void print_help(void)
{
    puts("usage: sandlot-agent [OPTION]…\n"
         "       sandlot-agent tcp PORT\n"
         "       sandlot-agent listen PORT\n"
         "       sandlot-agent accepted NAME\n"
         "       sandlot-agent hold COMMAND [ARGUMENT…]\n"
         "       sandlot-agent stop-services\n"
         "Serves the data plane of the sandbox that it runs in; without an option, the first\n"
         "process of a sandbox is its init too. tcp connects the standard "
         "streams\nto a server of the sandbox. listen listens for a client outside, and accepted "
         "connects\none of its connections to the standard streams. hold runs a command, and keeps "
         "the\n"
         "sandbox awake meanwhile. stop-services sends services their stop signals.\n\n"
         "  --listen ADDRESS      IPv4 address to listen on (0.0.0.0)\n"
         "  --port PORT           port of the HTTP server (49983)\n"
         "  --relay-port PORT     port of the preview relay (49984)\n"
         "  --guard               restart when killed, with the state of POST /init\n"
         "  --machine             the sandbox is a virtual machine, and this its first process\n"
         "  --trust-local-peers   take POST /init and /internal/ from inside as well (tests)\n"
         "  --verbose             log more\n"
         "  --version, --help");
}

static uint16_t parse_port(const char *text)
{
    uint64_t port;
    if (str_parse_u64(text, 1, UINT16_MAX, &port) == 0)
        return (uint16_t)port;
    fprintf(stderr, "sandlot-agent: '%s' is not a port\n", text);
    exit(2);
}

static void parse_options(int argc, char **argv, struct options *options)
{
    static const struct option names[] = {
        {"listen", required_argument, NULL, 'l'},
        {"port", required_argument, NULL, 'p'},
        {"relay-port", required_argument, NULL, 'r'},
        {"guard", no_argument, NULL, 'g'},
        {"machine", no_argument, NULL, 'm'},
        {"trust-local-peers", no_argument, NULL, 't'},
        {"verbose", no_argument, NULL, 'v'},
        {"version", no_argument, NULL, 'V'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (option == 'l')
            options->listen_address = optarg;
        else if (option == 'p')
            options->port = parse_port(optarg);
        else if (option == 'r')
            options->relay_port = parse_port(optarg);
        else if (option == 'g')
            options->guard = true;
        else if (option == 'm')
            options->machine = true;
        else if (option == 't')
            options->trust_local_peers = true;
        else if (option == 'v')
            options->verbose = true;
        else if (option == 'V') {
            puts("sandlot-agent " PACKAGE_VERSION);
            exit(0);
        } else if (option == 'h') {
            print_help();
            exit(0);
        } else
            exit(2);
    }
    if (optind < argc) {
        fprintf(stderr, "sandlot-agent: unexpected argument '%s'\n", argv[optind]);
        exit(2);
    }
}

static void on_signal(struct loop_source *source, uint32_t events)
{
    (void)events;
    struct signalfd_siginfo info;
    while (read(source->fd, &info, sizeof info) == sizeof info)
        if (info.ssi_signo != SIGCHLD)
            stopping = true;
    process_reap(&agent);
}

static int catch_signals(struct error **err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0 || loop_add(&agent.loop, &signals, fd, EPOLLIN, on_signal) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot watch signals");
    return 0;
}

static void settle_process(void)
{
    umask(022);
    mallopt(M_TRIM_THRESHOLD, MALLOC_TRIM_BYTES);
    mallopt(M_MMAP_THRESHOLD, MALLOC_MAP_BYTES);
    process_spawn_init();
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max < DESCRIPTORS_MAX ? limit.rlim_max : DESCRIPTORS_MAX;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    /* The environment of the sandbox is in this memory: no core file, and no
     * ptrace by an ordinary user. */
    prctl(PR_SET_DUMPABLE, 0);
}

static void survive(void)
{
    defaults_auto defaults;
    defaults_read(&defaults);
    log_info("continuing with the state of a killed agent");
    services_begin(&agent, &defaults, NULL, true, 0);
}

static int start(const struct options *options, struct error **err)
{
    if (sodium_init() < 0 || loop_init(&agent.loop) < 0)
        return error_set_errno(err, ERR_INTERNAL, errno, "cannot set up the agent");
    agent.trust_local_peers = options->trust_local_peers;
    agent.machine = options->machine;
    agent.default_user = xstrdup("user");
    process_table_init(&processes);
    agent.processes = &processes;
    agent.routes = &routes;
    bool survivor = guard_recall(&agent);
    if (catch_signals(err) < 0 || (agent.machine && machine_watch_power(&agent.loop, err) < 0))
        return -1;
    int fd = httpd_listen(options->listen_address, options->port, err);
    if (fd < 0 || server_start(&agent, fd, &agent.server, err) < 0)
        return -1;
    fd = httpd_listen(options->listen_address, options->relay_port, err);
    if (fd < 0 || relay_start(&agent, fd, &agent.relay, err) < 0)
        return -1;
    if (survivor)
        survive();
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = {
        .listen_address = "0.0.0.0", .port = AGENT_PORT, .relay_port = AGENT_RELAY_PORT};
    if (argc == 3 && str_equal(argv[1], "tcp"))
        return tcp_run(parse_port(argv[2]));
    if (argc == 3 && str_equal(argv[1], "listen"))
        return tcp_listen_run(str_equal(argv[2], "0") ? 0 : parse_port(argv[2]));
    if (argc == 3 && str_equal(argv[1], "accepted"))
        return tcp_accepted_run(argv[2]);
    if (argc == 2 && str_equal(argv[1], "stop-services")) {
        service_records_stop();
        return 0;
    }
    if (argc >= 3 && str_equal(argv[1], "hold"))
        return hold_run(argv + (argc > 3 && str_equal(argv[2], "--") ? 3 : 2));
    parse_options(argc, argv, &options);
    log_init("sandlot-agent");
    log_configure(options.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO, LOG_FORMAT_TEXT);
    if (first_process_is() && (argc == 1 || options.machine)) {
        first_process_begin(options.machine);
        options.guard = true;
    }
    error_auto err = NULL;
    if (options.guard && guard_begin(&err) < 0) {
        log_error("cannot start the agent", LOG_ERROR(err));
        return 1;
    }
    settle_process();
    if (start(&options, &err) < 0) {
        log_error("cannot start the agent", LOG_ERROR(err));
        return 1;
    }
    log_info("listening", LOG_INT("port", options.port), LOG_INT("relay_port", options.relay_port));
    while (!stopping && loop_run_once(&agent.loop, server_run(agent.server)) == 0)
        ;
    /* Nothing is closed one by one: open streams are to be cut off, and the system does that. */
    log_info("stopping");
    return stopping ? 0 : 1;
}
