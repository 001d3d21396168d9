/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sandbox record. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "account/account.h"
#include "base/ulid.h"
#include "db/db.h"
#include "host/host.h"
#include "runtime/runtime.h"
#include "sandbox/sandbox_fields.def"
#include "sandbox/sandbox_state.h"

#define SANDBOX_PORTS_MAX 200 /* the array's size; the setting sandbox_ports_max may be smaller */

enum sandbox_on_timeout { ON_TIMEOUT_KILL, ON_TIMEOUT_PAUSE };

/* The result of a pause that cannot keep the memory. */
enum sandbox_on_pause_failure { ON_PAUSE_FAILURE_DISK, ON_PAUSE_FAILURE_KEEP_RUNNING };

/* Whether an open connection to the outside keeps an idle sandbox awake. */
enum sandbox_idle_connections { IDLE_CONNECTIONS_WAIT, IDLE_CONNECTIONS_IGNORE };

/* For each CHOICE of sandbox_fields.def: MEMBER_names, ended by NULL; MEMBER_name(); MEMBER_of(),
 * which returns the first value for any other name and for NULL. */
#define NOTHING_OF_FIELD_(...)
#define NAMES_OF_FIELD_(a, b, member, ...)                  \
    extern const char *const member##_names[];              \
    const char *member##_name(enum sandbox_##member value); \
    enum sandbox_##member member##_of(const char *name);
SANDBOX_FIELDS(NOTHING_OF_FIELD_, NAMES_OF_FIELD_, NOTHING_OF_FIELD_, NOTHING_OF_FIELD_, , )

/* The choices of a client for a sandbox: the rows of sandbox_fields.def. */
/* clang-format off */
#define BOOL_OF_FIELD_(a, b, member, ...)   bool member;
#define CHOICE_OF_FIELD_(a, b, member, ...) enum sandbox_##member member;
#define TEXT_OF_FIELD_(a, b, member, json, request, answer, change, size, ...) char member[size];
#define NUMBER_OF_FIELD_(a, b, member, ...) uint32_t member;
#define CHOICES_ SANDBOX_FIELDS(BOOL_OF_FIELD_, CHOICE_OF_FIELD_, TEXT_OF_FIELD_, NUMBER_OF_FIELD_, , )
/* clang-format on */
struct sandbox_choices {
    CHOICES_
};
extern const struct sandbox_choices sandbox_choices_default;

/* The same members for another struct: each by itself, and all as `choices`. */
#define SANDBOX_CHOICES                 \
    union {                             \
        struct sandbox_choices choices; \
        struct {                        \
            CHOICES_                    \
        };                              \
    }

/* Which choices a request has. */
struct sandbox_chosen {
    SANDBOX_FIELDS(BOOL_OF_FIELD_, BOOL_OF_FIELD_, BOOL_OF_FIELD_, BOOL_OF_FIELD_, , )
};

/* Check that the choices fit together. chosen: those that the request made; others are defaults or
 * stored. Errors: ERR_INVALID_REQUEST with a field of the request. */
int sandbox_choices_check(const struct sandbox_choices *choices,
                          const struct sandbox_chosen *chosen, struct error **err);

/* Causes of a pause or resume, as stored and as shown in events. */
#define MOVED_BY_REQUEST  "request"
#define MOVED_BY_DEADLINE "deadline"
#define MOVED_BY_IDLENESS "idleness"
#define MOVED_BY_TRAFFIC  "traffic" /* of the data plane or a preview */
#define MOVED_BY_ROLLBACK "rollback"
#define MOVED_BY_MOVE     "move" /* to another host, while it runs */
#define MOVED_BY_MOST     9

/* Why a sandbox is paused, as stored and shown, in addition to the causes of its pause. */
#define STOPPED_ENDED       "ended"       /* from inside, or with its host */
#define STOPPED_REBOOTING   "rebooting"   /* its host ended its reboots */
#define STOPPED_MEMORY_LOST "memory_lost" /* the memory could not be completed after a resume */
#define STOPPED_HOST_LOST   "host_lost"

#define SANDBOX_HOST_SIZE   sizeof((struct sandbox_choices *)0)->request_host
#define SANDBOX_NAME_SIZE   sizeof((struct sandbox_choices *)0)->name

/* Check a name: a word for the user name of SSH and for a command line, and no id. */
bool sandbox_name_is_valid(const char *name);

struct exposed_port {
    uint16_t port;
    bool is_public;
    bool is_https; /* the server in the sandbox speaks TLS */
};

/* The reservations of a sandbox: quota of its team, and room on its host. From its delete until its
 * instance is gone, it has only the room. The values are stored. */
enum sandbox_reserved { RESERVES_NOTHING, RESERVES_ALL, RESERVES_ROOM };

/* The counters of its team and its host that include the sandbox, in the transaction that reads and
 * writes its row. */
struct sandbox_counted {
    bool by_team, by_host, as_stopped;
};

struct sandbox {
    char id[ID_SIZE];
    char team_id[ID_SIZE];
    char team_slug[SLUG_MAX + 1];
    char created_by[ID_SIZE];
    char route[ROUTE_TOKEN_LENGTH + 1];
    enum sandbox_state state;
    enum sandbox_reserved reserved;
    struct sandbox_counted counted;
    uint32_t incarnation;
    char operation_id[ID_SIZE]; /* "" when no operation is running */
    char template_slug[SLUG_MAX + 1];
    char template_version_id[ID_SIZE];
    char snapshot_id[ID_SIZE]; /* the checkpoint that its disk came from; "": from a template */
    char forked_from[ID_SIZE]; /* the sandbox whose memory it continued, or "" */
    bool virtual_machine;
    uint32_t timeout_s;
    int64_t deadline_at_ms; /* 0: none, it is not running */
    SANDBOX_CHOICES;
    bool memory_left;             /* the present or last pause or resume is without the memory */
    uint32_t pause_failures;      /* in a row */
    char moved_by[MOVED_BY_MOST]; /* the cause of the present or last pause or resume: MOVED_BY_… */
    char stop_reason[17];         /* MOVED_BY_… or STOPPED_…; "" while it runs */
    int64_t hold_until_ms;        /* idleness does not pause it before; 0: no hold */
    struct runtime_resources resources;
    char *metadata;            /* JSON object of strings */
    char *volume_mounts;       /* JSON object */
    char *hooks;               /* JSON object (service/hooks.h), or "" */
    char *network;             /* JSON object: the requested policy, with defaults filled in */
    uint64_t network_revision; /* counts the changes of network */
    uint64_t network_applied;  /* the revision that the firewall is known to have; 0: none */
    int64_t network_due_at_ms; /* when a dispatcher tries to apply it; 0: nothing is due */
    char *network_failure;     /* why the last attempt to apply it failed, or "" */
    uint64_t version;          /* changes with each change of the shown fields */
    uint32_t session_epoch;    /* lasting tokens of other epochs are invalid */
    uint32_t host_id;
    struct host_condition host_condition; /* of the host, when the row was read */
    char instance_name[INSTANCE_NAME_SIZE];
    uint32_t address; /* IPv4, host byte order */
    uint16_t agent_key_id;
    char resumed_from[9];    /* memory, disk or "" */
    int64_t silent_since_ms; /* its agent does not answer; 0: it does, or is not asked */
    int64_t created_at_ms, updated_at_ms, stopped_at_ms;
    int64_t cleanup_at_ms; /* when clean-up deletes it unless it is resumed; 0: never */
    struct exposed_port ports[SANDBOX_PORTS_MAX]; /* sandbox_ports.h */
    unsigned port_count;
};

/* The fields of a sandbox in an event of the log: its id, and its name if it has one. */
#define SANDBOX_LOG(sandbox_) \
    LOG_STR("sandbox", (sandbox_)->id), LOG_NAME("sandbox_name", (sandbox_)->name)
void sandbox_deinit(struct sandbox *sandbox);

static inline void sandbox_autodeinit_(struct sandbox *sandbox)
{
    sandbox_deinit(sandbox);
}
/* `sandbox_auto sandbox = {0};` frees its contents at the end of its block. */
#define sandbox_auto __attribute__((cleanup(sandbox_autodeinit_))) struct sandbox

/* Return "applied" when the firewall has the present policy, else "pending". */
const char *sandbox_network_status(const struct sandbox *sandbox);
/* Return why the policy is pending, in a sentence; NULL when it is applied. Borrowed from the
 * sandbox. */
const char *sandbox_network_reason(const struct sandbox *sandbox);

/* Return whether it is stopped without a pause: its programs are gone. */
bool sandbox_has_ended(const struct sandbox *sandbox);

bool sandbox_has_volumes(const struct sandbox *sandbox);

/* Return whether it is paused and stays so. A sandbox that was paused only to move to another host
 * has kept its reservation, and resumes by itself. */
static inline bool sandbox_stays_paused(const struct sandbox *sandbox)
{
    return sandbox->state == SANDBOX_STOPPED && sandbox->reserved == RESERVES_NOTHING;
}

/* Return the source that a create would name to make a similar sandbox: the id of a checkpoint, or
 * the slug of its template. The hidden checkpoint of a fork cannot be named, so a fork has the
 * slug. Borrowed from the sandbox. */
const char *sandbox_made_from(const struct sandbox *sandbox);

/* Read a sandbox that is not deleted. Errors: ERR_NOT_FOUND. */
int sandbox_get(struct db *db, const char *id, struct sandbox *sandbox, struct error **err);

/* Read the version of the sandbox's shown fields and the access revision
 * (account/access_revision.h), both of the same moment. SANDBOX_NO_VERSION: the sandbox does not
 * exist. */
#define SANDBOX_NO_VERSION UINT64_MAX
int sandbox_look_version(struct db *db, const char *id, uint64_t *version, uint64_t *revision,
                         struct error **err);

/* Read the row for showing, without team_slug and host_condition, and the access
 * revision (account/access_revision.h) of the same moment. The sandbox is all empty when it does
 * not exist. */
int sandbox_look(struct db *db, const char *id, struct sandbox *sandbox, uint64_t *revision,
                 struct error **err);

/* Read a row in any state, deleted ones included. lock: FOR UPDATE, inside a transaction. */
int sandbox_get_any(struct db *db, const char *id, bool lock, struct sandbox *sandbox,
                    struct error **err);

/* Find the id of the sandbox with that route token, also of a deleted one. Errors:
 * ERR_NOT_FOUND. */
int sandbox_id_of_route(struct db *db, const char *route, char id[ID_SIZE], struct error **err);
