/* What must hold of the library whatever arrives. An input is a history of packets; the entry point is the one that
 * libFuzzer calls, and replay.c calls it without libFuzzer.
 *
 * Whatever is handed to the library stands in memory of exactly its length, so that a sanitizer sees the first byte
 * read or written beyond. */
#include "../heartbeat.h"
#include "../slip.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Stops the program with a message that a sanitizer or libFuzzer prints with the stack. */
static void must(int holds)
{
    if (!holds) {
        abort();
    }
}

/* What is left of the input; beyond its end there are zeros. */
typedef struct input {
    const uint8_t *at, *end;
} input;

static uint8_t take(input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

static uint32_t definition(const uint8_t *p, size_t count)
{
    uint32_t a = 1, b = 0;
    while (count--) {
        a = (a + *p++) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static int begins_with(const uint8_t *p, uint32_t word)
{
    return p[0] == (uint8_t)(word >> 24) && p[1] == (uint8_t)(word >> 16) &&
           p[2] == (uint8_t)(word >> 8) && p[3] == (uint8_t)word;
}

static void put(uint8_t *p, uint32_t word)
{
    p[0] = (uint8_t)(word >> 24);
    p[1] = (uint8_t)(word >> 16);
    p[2] = (uint8_t)(word >> 8);
    p[3] = (uint8_t)word;
}

/* What the aggregator should hold after these packets, and what it should say. */
static hb_result model(uint8_t entries[4 * HB_VARIABLES], uint16_t now, const uint8_t *packet, size_t length)
{
    uint8_t *entry;
    if (length != 8) {
        return HB_IGNORED;
    }
    if (memcmp(packet, "AreyouOK", 8) == 0) {
        return HB_REPORT_READY;
    }
    if (packet[4] != 0xf1 || packet[5] >= HB_VARIABLES || !begins_with(packet, definition(packet + 4, 4))) {
        return HB_IGNORED;
    }
    entry = entries + 4 * packet[5];
    entry[0] = (uint8_t)(now >> 8);
    entry[1] = (uint8_t)now;
    entry[2] = packet[6];
    entry[3] = packet[7];
    return HB_STORED;
}

/* Makes a packet: noise of some length, a heartbeat, a request, or one of these with a byte changed. */
static size_t compose(uint8_t kind, input *input, uint8_t packet[16])
{
    size_t length = 8, i;
    memset(packet, 0, 16);
    switch (kind) {
    case 0:
        length = take(input) % 16;
        for (i = 0; i < length; i++) {
            packet[i] = take(input);
        }
        return length;
    case 1:
    case 2: {
        const uint8_t variable = take(input), from = take(input), value = take(input);
        hb_encode_heartbeat(packet, variable, from, value);
        must(begins_with(packet, definition(packet + 4, 4)));
        must(packet[4] == 0xf1 && packet[5] == variable && packet[6] == from && packet[7] == value);
        break;
    }
    default:
        hb_encode_request(packet);
        must(memcmp(packet, "AreyouOK", 8) == 0);
    }
    if (kind == 2 || kind == 4) {
        const uint8_t where = take(input);
        packet[where % 8] ^= take(input);
        length = where / 8 % 16;
        length = length < 4 ? 8 : length;
    }
    return length;
}

/* A report of any length, its checksum right if `sealed`: the monitor's half of the library. */
static void read_report(input *input, int sealed)
{
    const size_t length = take(input) + (size_t)(take(input) % 2) * 16;
    uint8_t *report = malloc(length ? length : 1);
    size_t i;
    uint8_t variables;
    must(report != NULL);
    for (i = 0; i < length; i++) {
        report[i] = take(input);
    }
    if (sealed && length >= 4) {
        put(report, definition(report + 4, length - 4));
    }
    variables = hb_check_report(report, length);
    if (length < 8 || length > 260 || length % 4 || !begins_with(report, definition(report + 4, length - 4))) {
        must(variables == 0);
    } else {
        must(variables == length / 4 - 1);
    }
    for (i = 0; i < variables; i++) {
        const hb_entry entry = hb_read_entry(report, (uint8_t)i);
        const uint8_t *p = report + 4 + 4 * i;
        must(entry.seconds == (p[0] << 8 | p[1]) && entry.from == p[2] && entry.value == p[3]);
    }
    free(report);
}

/* A packet on a serial line behind noise: the noise ends with an END, the packet arrives whole. */
static void read_line(input *input)
{
    slip_receiver *receiver = calloc(1, sizeof *receiver);
    uint8_t count = take(input), length = (uint8_t)(1 + take(input) % SLIP_ROOM), i, k;
    struct input again;
    must(receiver != NULL);
    while (count--) {
        must(slip_take(receiver, take(input)) <= SLIP_ROOM);
    }
    slip_take(receiver, SLIP_END);
    again = *input;
    for (i = 0; i < length; i++) {
        uint8_t escaped[2];
        const uint8_t bytes = slip_escape(take(input), escaped);
        for (k = 0; k < bytes; k++) {
            must(slip_take(receiver, escaped[k]) == 0);
        }
    }
    must(slip_take(receiver, SLIP_END) == length);
    for (i = 0; i < length; i++) {
        must(receiver->frame[i] == take(&again));
    }
    free(receiver);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input input = {data, data + size};
    uint8_t entries[4 * HB_VARIABLES] = {0};
    hb_table *table = calloc(1, sizeof *table);
    uint8_t *reply = malloc(HB_REPORT);
    must(table != NULL && reply != NULL);
    while (input.at < input.end) {
        const uint8_t kind = take(&input);
        const int other = kind & 8;
        uint8_t composed[16], *packet;
        size_t length;
        uint16_t now;
        hb_result expected;
        if ((kind & 7) > 5) {
            if ((kind & 7) == 6) {
                read_report(&input, other);
            } else {
                read_line(&input);
            }
            continue;
        }
        now = (uint16_t)(take(&input) << 8);
        now = (uint16_t)(now | take(&input));
        length = compose(kind & 7, &input, composed);
        packet = malloc(length ? length : 1);
        must(packet != NULL);
        memcpy(packet, composed, length);
        expected = model(entries, now, packet, length);
        if (other) {
            must(hb_handle_copy(table, now, packet, length, reply) == expected);
        } else {
            must(hb_handle(table, now, packet, length) == expected);
        }
        if (expected == HB_REPORT_READY) {
            const uint8_t *report = other ? reply : table->report;
            must(memcmp(report + 4, entries, sizeof entries) == 0);
            must(begins_with(report, definition(entries, sizeof entries)));
        }
        free(packet);
    }
    must(memcmp(table->report + 4, entries, sizeof entries) == 0);
    free(reply);
    free(table);
    return 0;
}
