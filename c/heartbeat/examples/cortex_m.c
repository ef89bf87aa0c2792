/* An aggregator on an STM32F0 with bxCAN (Cortex-M0): one CAN frame is one packet, a report leaves as 33 frames.
 *
 * Heartbeats and requests arrive with the identifier 0x7f1, the report leaves with 0x7f2. Heartbeats are stored by the
 * receive interrupt also while a report leaves, so the main loop sends a copy. The clock of the bus and its pins are
 * set up before, as the board wants them. */
#include "../heartbeat.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define CAN 0x40006400u
#define CAN_TSR REGISTER(CAN + 0x08)
#define CAN_RF0R REGISTER(CAN + 0x0c)
#define CAN_TI0R REGISTER(CAN + 0x180)
#define CAN_TDT0R REGISTER(CAN + 0x184)
#define CAN_TDL0R REGISTER(CAN + 0x188)
#define CAN_TDH0R REGISTER(CAN + 0x18c)
#define CAN_RI0R REGISTER(CAN + 0x1b0)
#define CAN_RDT0R REGISTER(CAN + 0x1b4)
#define CAN_RDL0R REGISTER(CAN + 0x1b8)
#define CAN_RDH0R REGISTER(CAN + 0x1bc)

enum { PACKETS = 0x7f1, REPORTS = 0x7f2 };

static hb_table table;
static volatile uint16_t seconds;
static volatile uint8_t asked;

void second_interrupt(void);
void can_receive_interrupt(void);
void serve(void);

void second_interrupt(void)
{
    seconds++;
}

static void spread(uint8_t *to, uint32_t word)
{
    uint8_t i;
    for (i = 0; i < 4; i++) {
        to[i] = (uint8_t)(word >> 8 * i);
    }
}

void can_receive_interrupt(void)
{
    uint8_t packet[HB_PACKET];
    static uint8_t request[HB_PACKET];
    uint8_t i, differs = 0;
    const size_t length = CAN_RDT0R & 15u;
    const uint32_t identifier = CAN_RI0R >> 21;
    spread(packet, CAN_RDL0R);
    spread(packet + 4, CAN_RDH0R);
    CAN_RF0R = 0x20; /* the mailbox is free again */
    if (identifier != PACKETS || length != HB_PACKET) {
        return;
    }
    /* Requests are the main loop's: a report takes too long for an interrupt. */
    hb_encode_request(request);
    for (i = 0; i < HB_PACKET; i++) {
        differs |= (uint8_t)(packet[i] ^ request[i]);
    }
    if (differs) {
        hb_handle(&table, seconds, packet, length);
    } else {
        asked = 1;
    }
}

static uint32_t gather(const uint8_t *from, uint32_t count)
{
    uint32_t word = 0, i;
    for (i = 0; i < count; i++) {
        word |= (uint32_t)from[i] << 8 * i;
    }
    return word;
}

void serve(void)
{
    static uint8_t reply[HB_REPORT];
    uint8_t request[HB_PACKET];
    hb_encode_request(request);
    for (;;) {
        uint32_t at;
        if (!asked) {
            continue;
        }
        asked = 0;
        hb_handle_copy(&table, seconds, request, HB_PACKET, reply);
        for (at = 0; at < HB_REPORT; at += 8) {
            const uint32_t left = HB_REPORT - at;
            while (!(CAN_TSR & 1u << 26)) {
            }
            CAN_TDT0R = left < 8 ? left : 8;
            CAN_TDL0R = gather(reply + at, 4);
            CAN_TDH0R = left < 8 ? 0 : gather(reply + at + 4, 4);
            CAN_TI0R = (uint32_t)REPORTS << 21 | 1u;
        }
    }
}
