/* calls KIND COUNT: hands one packet to hb_handle COUNT times. Two counts give the instructions of a call as a slope. */
#include "../heartbeat.h"
#include <stdlib.h>

static hb_table table;

int main(int argc, char **argv)
{
    uint8_t packet[HB_PACKET];
    unsigned long count;
    size_t at;
    if (argc != 3) {
        return 2;
    }
    for (at = 4; at < HB_REPORT; at++) {
        table.report[at] = 0xff;
    }
    hb_encode_heartbeat(packet, 5, 6, 7);
    switch (argv[1][0]) {
    case 'h': /* heartbeat */
        break;
    case 'b': /* bad checksum */
        packet[3] ^= 1;
        break;
    case 'j': /* junk */
        hb_encode_request(packet);
        packet[6] = 'N';
        packet[7] = 'O';
        break;
    default: /* report */
        hb_encode_request(packet);
    }
    count = strtoul(argv[2], NULL, 10);
    while (count--) {
        hb_handle(&table, 14543, packet, HB_PACKET);
    }
    return 0;
}
