#include "checks.h"

static void (*tell)(int rule);

static void expect(int rule, int kept)
{
    if (!kept) {
        tell(rule);
    }
}

/* What the aggregator should hold, in the most obvious way. */
static uint8_t model[4 * HB_VARIABLES];
/* Room to move a table about in. */
static uint8_t room[sizeof(hb_table) + 4];
static hb_table *table;

static uint32_t chance_state = 1;

static uint32_t chance(void)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 17;
    chance_state ^= chance_state << 5;
    return chance_state;
}

/* The Adler-32 as its definition has it. */
static uint32_t definition(const uint8_t *p, size_t count)
{
    uint32_t a = 1, b = 0;
    size_t i;
    for (i = 0; i < count; i++) {
        a = (a + p[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static int begins_with(const uint8_t *p, uint32_t word)
{
    return p[0] == (uint8_t)(word >> 24) && p[1] == (uint8_t)(word >> 16) && p[2] == (uint8_t)(word >> 8) &&
           p[3] == (uint8_t)word;
}

static void start(size_t offset)
{
    size_t i;
    for (i = 0; i < sizeof room; i++) {
        room[i] = 0;
    }
    for (i = 0; i < sizeof model; i++) {
        model[i] = 0;
    }
    table = (hb_table *)(void *)(room + offset);
}

static void compose(uint8_t packet[HB_PACKET], uint8_t variable, uint8_t from, uint8_t value)
{
    uint32_t sum;
    packet[4] = 0xf1;
    packet[5] = variable;
    packet[6] = from;
    packet[7] = value;
    sum = definition(packet + 4, 4);
    packet[0] = (uint8_t)(sum >> 24);
    packet[1] = (uint8_t)(sum >> 16);
    packet[2] = (uint8_t)(sum >> 8);
    packet[3] = (uint8_t)sum;
}

static int model_stores(uint16_t now, const uint8_t *packet, size_t length)
{
    uint8_t *entry;
    if (length != 8 || packet[4] != 0xf1 || packet[5] >= HB_VARIABLES || !begins_with(packet, definition(packet + 4, 4))) {
        return 0;
    }
    entry = model + 4 * packet[5];
    entry[0] = (uint8_t)(now >> 8);
    entry[1] = (uint8_t)now;
    entry[2] = packet[6];
    entry[3] = packet[7];
    return 1;
}

static int holds_model(void)
{
    size_t i;
    for (i = 0; i < sizeof model; i++) {
        if (table->report[4 + i] != model[i]) {
            return 0;
        }
    }
    return 1;
}

static hb_result ask(void)
{
    uint8_t packet[HB_PACKET];
    hb_encode_request(packet);
    return hb_handle(table, 0, packet, sizeof packet);
}

static void vectors(void)
{
    static const struct {
        uint8_t variable, from, value;
        uint32_t checksum;
    } known[] = {
        {0, 0, 0, 0x03c800f2},   {0, 76, 45, 0x048d016b},     {5, 6, 7, 0x03ea0104},
        {62, 75, 83, 0x056b01ce}, {63, 255, 255, 0x0782032f}, {64, 0, 0, 0x04880132},
    };
    size_t i;
    for (i = 0; i < sizeof known / sizeof *known; i++) {
        uint8_t packet[HB_PACKET];
        start(0);
        hb_encode_heartbeat(packet, known[i].variable, known[i].from, known[i].value);
        expect(vectors_of_heartbeats_are_encoded_and_stored,
               begins_with(packet, known[i].checksum) && packet[4] == 0xf1 && packet[5] == known[i].variable &&
                   packet[6] == known[i].from && packet[7] == known[i].value);
        expect(vectors_of_heartbeats_are_encoded_and_stored,
               hb_handle(table, 14543, packet, sizeof packet) ==
                   (known[i].variable < HB_VARIABLES ? HB_STORED : HB_IGNORED));
        model_stores(14543, packet, sizeof packet);
        expect(vectors_of_heartbeats_are_encoded_and_stored, holds_model());
    }
}

static void variables(void)
{
    unsigned variable;
    start(0);
    for (variable = 0; variable < 256; variable++) {
        uint8_t packet[HB_PACKET];
        uint8_t from = (uint8_t)chance(), value = (uint8_t)chance();
        uint16_t now = (uint16_t)chance();
        int stored;
        compose(packet, (uint8_t)variable, from, value);
        stored = model_stores(now, packet, sizeof packet);
        expect(every_variable_of_the_table_is_stored_and_no_other,
               stored == (variable < HB_VARIABLES) &&
                   hb_handle(table, now, packet, sizeof packet) == (stored ? HB_STORED : HB_IGNORED));
        expect(every_variable_of_the_table_is_stored_and_no_other, holds_model());
    }
}

static void flipped_heartbeats(unsigned rounds)
{
    start(0);
    while (rounds--) {
        uint8_t packet[HB_PACKET];
        uint8_t bit;
        compose(packet, (uint8_t)(chance() % HB_VARIABLES), (uint8_t)chance(), (uint8_t)chance());
        for (bit = 0; bit < 64; bit++) {
            packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
            expect(a_heartbeat_with_any_bit_flipped_is_ignored,
                   hb_handle(table, 1, packet, sizeof packet) == HB_IGNORED && holds_model());
            packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

static void lengths(void)
{
    static uint8_t datagram[300];
    size_t length;
    int request;
    start(0);
    for (request = 0; request < 2; request++) {
        if (request) {
            hb_encode_request(datagram);
        } else {
            compose(datagram, 0, 76, 45);
        }
        for (length = 0; length <= sizeof datagram; length++) {
            hb_result expected = request ? HB_REPORT_READY : HB_STORED;
            expect(a_packet_of_any_length_but_8_is_ignored,
                   hb_handle(table, 2, datagram, length) == (length == 8 ? expected : HB_IGNORED));
            if (!request && length < 8) {
                expect(a_packet_of_any_length_but_8_is_ignored, holds_model());
            }
        }
    }
}

static void flipped_requests(void)
{
    uint8_t packet[HB_PACKET];
    uint8_t bit;
    start(0);
    hb_encode_request(packet);
    expect(a_request_with_any_bit_flipped_is_ignored, begins_with(packet, 0x41726579) && begins_with(packet + 4, 0x6f754f4b));
    for (bit = 0; bit < 64; bit++) {
        packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
        expect(a_request_with_any_bit_flipped_is_ignored,
               hb_handle(table, 0, packet, sizeof packet) == HB_IGNORED && begins_with(table->report, 0));
        packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void reports(void)
{
#if HB_VARIABLES == 64
    uint8_t packet[HB_PACKET];
    size_t i;
    start(0);
    expect(reports_have_the_checksums_of_the_vectors, ask() == HB_REPORT_READY && begins_with(table->report, 0x01000001));
    compose(packet, 0, 76, 45);
    hb_handle(table, 14543, packet, sizeof packet);
    expect(reports_have_the_checksums_of_the_vectors, ask() == HB_REPORT_READY && begins_with(table->report, 0x7f210181));
    compose(packet, 1, 76, 46);
    hb_handle(table, 14550, packet, sizeof packet);
    expect(reports_have_the_checksums_of_the_vectors, ask() == HB_REPORT_READY && begins_with(table->report, 0xff180309));
    for (i = 0; i < HB_VARIABLES; i++) {
        compose(packet, (uint8_t)i, 255, 255);
        hb_handle(table, 0xffff, packet, sizeof packet);
    }
    expect(reports_have_the_checksums_of_the_vectors, ask() == HB_REPORT_READY && begins_with(table->report, 0x0800ff01));
#endif
}

static void full_tables(unsigned rounds)
{
    while (rounds--) {
        size_t i;
        const uint8_t lowest = (uint8_t)chance();
        start(0);
        for (i = 4; i < HB_REPORT; i++) {
            const uint8_t byte = (uint8_t)chance();
            table->report[i] = byte < lowest ? 0xff : byte;
        }
        expect(full_random_tables_have_the_checksum_of_the_definition,
               ask() == HB_REPORT_READY && begins_with(table->report, definition(table->report + 4, HB_REPORT - 4)));
    }
}

/* Packets aimed at the limits: right but for what chance spoils, because plain noise would meet no limit at all. */
static void history(unsigned rounds)
{
    start(0);
    for (rounds *= 8; rounds--;) {
        uint8_t packet[HB_PACKET];
        const uint16_t now = (uint16_t)chance();
        int stored;
        compose(packet, (uint8_t)(chance() % (HB_VARIABLES + 2)), (uint8_t)chance(), (uint8_t)chance());
        if (chance() % 4 == 0) {
            packet[chance() % 8] ^= (uint8_t)chance();
        }
        stored = model_stores(now, packet, sizeof packet);
        expect(a_history_of_packets_leaves_the_table_of_the_model,
               hb_handle(table, now, packet, sizeof packet) == (stored ? HB_STORED : HB_IGNORED) && holds_model());
        if (chance() % 16 == 0) {
            expect(a_history_of_packets_leaves_the_table_of_the_model,
                   ask() == HB_REPORT_READY && holds_model() &&
                       begins_with(table->report, definition(model, sizeof model)));
        }
    }
}

static void copies(unsigned rounds)
{
    static uint8_t reply[HB_REPORT + 2];
    uint8_t packet[HB_PACKET];
    start(0);
    while (rounds--) {
        size_t i;
        const uint8_t variable = (uint8_t)(chance() % (HB_VARIABLES + 1));
        uint32_t before;
        compose(packet, variable, (uint8_t)chance(), (uint8_t)chance());
        expect(a_copied_report_is_the_sealed_one_and_leaves_the_table_alone,
               hb_handle_copy(table, 7, packet, sizeof packet, reply + 1) ==
                   (model_stores(7, packet, sizeof packet) ? HB_STORED : HB_IGNORED));
        packet[0] ^= 1;
        expect(a_copied_report_is_the_sealed_one_and_leaves_the_table_alone,
               hb_handle_copy(table, 9, packet, sizeof packet, reply + 1) == HB_IGNORED && holds_model());
        reply[0] = reply[HB_REPORT + 1] = 0x5a;
        table->report[0] = 0x77;
        before = definition(table->report, HB_REPORT);
        hb_encode_request(packet);
        expect(a_copied_report_is_the_sealed_one_and_leaves_the_table_alone,
               hb_handle_copy(table, 8, packet, sizeof packet, reply + 1) == HB_REPORT_READY &&
                   definition(table->report, HB_REPORT) == before && reply[0] == 0x5a && reply[HB_REPORT + 1] == 0x5a);
        ask();
        for (i = 0; i < HB_REPORT; i++) {
            expect(a_copied_report_is_the_sealed_one_and_leaves_the_table_alone, reply[1 + i] == table->report[i]);
        }
    }
}

static void addresses(void)
{
    uint8_t where[HB_PACKET + 8];
    size_t offset;
    for (offset = 0; offset < 4; offset++) {
        size_t shift;
        start(offset);
        for (shift = 0; shift < 8; shift++) {
            compose(where + shift, (uint8_t)(shift % HB_VARIABLES), 1, 2);
            model_stores(5, where + shift, HB_PACKET);
            expect(packets_and_tables_may_start_at_any_address,
                   hb_handle(table, 5, where + shift, HB_PACKET) == HB_STORED && holds_model());
            hb_encode_request(where + shift);
            expect(packets_and_tables_may_start_at_any_address,
                   hb_handle(table, 5, where + shift, HB_PACKET) == HB_REPORT_READY &&
                       begins_with(table->report, definition(model, sizeof model)));
        }
    }
}

static void sent_back(void)
{
    start(0);
    ask();
#if HB_VARIABLES > 1
    expect(a_report_sent_back_is_ignored, hb_handle(table, 3, table->report, HB_REPORT) == HB_IGNORED);
    expect(a_report_sent_back_is_ignored, holds_model());
#endif
}

static void monitor(void)
{
    static uint8_t report[HB_REPORT + 4];
    uint8_t packet[HB_PACKET];
    size_t i, length;
    hb_entry entry;
    start(0);
    compose(packet, HB_VARIABLES - 1, 76, 45);
    hb_handle(table, 14543, packet, sizeof packet);
    ask();
    for (i = 0; i < HB_REPORT; i++) {
        report[i] = table->report[i];
    }
    entry = hb_read_entry(report, HB_VARIABLES - 1);
    expect(a_monitor_accepts_whole_reports_only, entry.seconds == 14543 && entry.from == 76 && entry.value == 45);
    for (length = 0; length <= sizeof report; length++) {
        expect(a_monitor_accepts_whole_reports_only,
               hb_check_report(report, length) == (length == HB_REPORT ? HB_VARIABLES : 0));
    }
    for (i = 0; i < HB_REPORT; i++) {
        report[i] ^= 0x10;
        expect(a_monitor_accepts_whole_reports_only, hb_check_report(report, HB_REPORT) == 0);
        report[i] ^= 0x10;
    }
}

void run_checks(unsigned rounds, void (*failed)(int rule))
{
    tell = failed;
    vectors();
    variables();
    flipped_heartbeats(rounds);
    lengths();
    flipped_requests();
    reports();
    full_tables(rounds);
    history(rounds);
    copies(rounds);
    addresses();
    sent_back();
    monitor();
}
