/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/image_calls.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/str.h"
#include "helper/criu/records.h"

/* One file for each thread, with one message (core_entry). */
#define CORE_PREFIX "core-"

/* core_entry.thread_info, of x86 only, and thread_info_x86.gpregs */
enum { FIELD_THREAD_INFO = 2, FIELD_REGISTERS = 2 };
/* Pending signals: core_entry.tc.signals_s of the process, and core_entry.thread_core.signals_p */
enum { FIELD_TASK = 3, FIELD_THREAD = 5, FIELD_THREAD_SIGNALS = 9, FIELD_TASK_SIGNALS = 10 };

/* user_x86_regs_entry */
enum register_field {
    REGISTER_R10 = 8,
    REGISTER_AX = 11,
    REGISTER_DX = 13,
    REGISTER_SI = 14,
    REGISTER_DI = 15,
    REGISTER_ORIG_AX = 16, /* the number of the system call */
    REGISTER_IP = 17,
    REGISTER_MODE = 28,
    REGISTER_FIELDS
};
#define MODE_32_BIT 2

/* System calls of x86-64 that the kernel continues with the rest of their time. */
enum { CALL_POLL = 7, CALL_NANOSLEEP = 35, CALL_FUTEX = 202, CALL_CLOCK_NANOSLEEP = 230 };
#define CALL_SIZE 2 /* of the instruction `syscall` */

/* The operation of a futex whose limit is a point of time, and the flags of operations. */
#define FUTEX_UNTIL 9
#define FUTEX_FLAGS (128 | 256)

/* A number in the image. */
struct place {
    uint8_t *at;
    size_t size;
    uint64_t number;
};

static bool fits(const struct place *place, uint64_t number)
{
    return place->at && message_number_size(number) <= place->size;
}

static void put(const struct place *place, uint64_t number)
{
    message_put_number(place->at, place->size, number);
}

/* Let a sleep take the rest of its time, which the kernel has written to where `rest` points. NULL:
 * the program does not ask for the rest. A pointer that does not fit leaves the program its EINTR,
 * and the rest. */
static bool take_rest(const struct place *time, const struct place *rest)
{
    if (!rest->number)
        return true;
    if (!fits(time, rest->number))
        return false;
    put(time, rest->number);
    return true;
}

static bool prepare(const struct place registers[REGISTER_FIELDS])
{
    switch (registers[REGISTER_ORIG_AX].number) {
    case CALL_POLL:
        return true;
    case CALL_NANOSLEEP:
        return take_rest(&registers[REGISTER_DI], &registers[REGISTER_SI]);
    case CALL_CLOCK_NANOSLEEP:
        return take_rest(&registers[REGISTER_DX], &registers[REGISTER_R10]);
    case CALL_FUTEX:
        return ((uint32_t)registers[REGISTER_SI].number & ~(uint32_t)FUTEX_FLAGS) == FUTEX_UNTIL;
    default:
        return false;
    }
}

static void restart(const struct place registers[REGISTER_FIELDS])
{
    const struct place *result = &registers[REGISTER_AX], *ip = &registers[REGISTER_IP];
    uint64_t call = registers[REGISTER_ORIG_AX].number;
    if (result->number != (uint64_t)-EINTR || registers[REGISTER_MODE].number == MODE_32_BIT ||
        !fits(result, call) || !fits(ip, ip->number - CALL_SIZE) || !prepare(registers))
        return;
    put(result, call);
    put(ip, ip->number - CALL_SIZE);
}

static void read_registers(struct message message)
{
    struct place registers[REGISTER_FIELDS] = {{.at = NULL}};
    struct message_field field;
    while (message_take(&message, &field))
        if (field.id < REGISTER_FIELDS && !field.inner.at)
            registers[field.id] =
                (struct place){field.start, (size_t)(message.at - field.start), field.number};
    restart(registers);
}

static void read_thread(struct message thread)
{
    struct message_field field;
    while (message_take(&thread, &field))
        if (field.id == FIELD_REGISTERS && field.inner.at)
            read_registers(field.inner);
}

static bool has_signals(struct message part, unsigned id)
{
    struct message_field field;
    while (message_take(&part, &field))
        if (field.id == id && field.inner.at && field.inner.at < field.inner.end)
            return true;
    return false;
}

/* Return whether the handler of a signal may run at the restore. The call must then fail with EINTR
 * afterwards, or a program that waits for the signal waits again. */
static bool is_signalled(struct message core)
{
    struct message_field field;
    while (message_take(&core, &field))
        if (field.inner.at &&
            ((field.id == FIELD_TASK && has_signals(field.inner, FIELD_TASK_SIGNALS)) ||
             (field.id == FIELD_THREAD && has_signals(field.inner, FIELD_THREAD_SIGNALS))))
            return true;
    return false;
}

static void read_core(struct message core)
{
    struct message_field field;
    if (is_signalled(core))
        return;
    while (message_take(&core, &field))
        if (field.id == FIELD_THREAD_INFO && field.inner.at)
            read_thread(field.inner);
}

void image_restart_calls(const char *folder)
{
    DIR *images = opendir(folder);
    struct dirent *image;
    while (images && (image = readdir(images)))
        if (str_starts_with(image->d_name, CORE_PREFIX)) {
            autofree char *path = xasprintf("%s/%s", folder, image->d_name);
            records_change(path, read_core);
        }
    if (images)
        closedir(images);
}
