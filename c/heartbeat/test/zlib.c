/* zlib TABLES: reports of so many random tables, from nearly empty to all 255, against zlib's own Adler-32. */
#include "../heartbeat.h"
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint32_t chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

int main(int argc, char **argv)
{
    static hb_table table;
    static uint8_t reply[HB_REPORT];
    uint8_t request[HB_PACKET];
    unsigned long left = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    hb_encode_request(request);
    while (left--) {
        const uint8_t least = (uint8_t)chance(), full = (uint8_t)chance();
        unsigned long expected;
        size_t at;
        for (at = 4; at < HB_REPORT; at++) {
            const uint8_t byte = (uint8_t)chance();
            table.report[at] = byte < least ? (uint8_t)(byte % 2 ? 0xff : 0) : byte < full ? 0xff : byte;
        }
        expected = adler32(adler32(0, NULL, 0), table.report + 4, HB_REPORT - 4);
        if (hb_handle_copy(&table, 0, request, HB_PACKET, reply) != HB_REPORT_READY ||
            hb_handle(&table, 0, request, HB_PACKET) != HB_REPORT_READY) {
            return 1;
        }
        for (at = 0; at < 4; at++) {
            const uint8_t byte = (uint8_t)(expected >> (24 - 8 * at));
            if (table.report[at] != byte || reply[at] != byte) {
                printf("zlib has %08lx\n", expected);
                return 1;
            }
        }
    }
    return 0;
}
