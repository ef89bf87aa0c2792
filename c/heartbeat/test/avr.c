/* On a simulated AVR. `PHASE` is what it does:
 *   0  runs the checks; `outcome` is 1 when all rules hold, else 2 + the first broken one;
 *   1  hands hb_handle one packet each of the kinds whose cycles are counted. */
#include <avr/interrupt.h>
#include <avr/sleep.h>

#if PHASE == 0
#include "checks.h"
volatile uint8_t outcome;

static void failed(int rule)
{
    if (outcome == 0) {
        outcome = (uint8_t)(rule + 2);
    }
}

int main(void)
{
    run_checks(3, failed);
    if (outcome == 0) {
        outcome = 1;
    }
    cli();
    sleep_mode();
}
#else
#include "../heartbeat.h"
static hb_table table;
volatile uint8_t outcome;
volatile uint16_t now = 14543;

static void hand(uint8_t packet[HB_PACKET], hb_result expected)
{
    if (hb_handle(&table, now, packet, HB_PACKET) != expected) {
        outcome = 2;
    }
}

int main(void)
{
    uint8_t packet[HB_PACKET];
    uint16_t i;
    hb_encode_heartbeat(packet, 5, 6, 7);
    hand(packet, HB_STORED);
    packet[3] ^= 1;
    hand(packet, HB_IGNORED);
    hb_encode_request(packet);
    packet[6] = 'N';
    packet[7] = 'O';
    hand(packet, HB_IGNORED);
    for (i = 0; i < HB_REPORT; i++) {
        table.report[i] = 0;
    }
    hb_encode_request(packet);
    hand(packet, HB_REPORT_READY);
    for (i = 0; i < HB_REPORT; i++) {
        table.report[i] = 0xff;
    }
    hand(packet, HB_REPORT_READY);
    if (outcome == 0) {
        outcome = 1;
    }
    cli();
    sleep_mode();
}
#endif
