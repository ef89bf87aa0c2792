/* A sender on a CH32V003 (RV32EC, 8 MHz after reset): a heartbeat a second as a SLIP frame on PD5 at 115,200 baud.
 *
 * Variable and sender are this node's; the value counts, so that a monitor sees a node that is stuck in its loop. */
#include "../heartbeat.h"
#include "../slip.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define RCC_APB2PCENR REGISTER(0x40021018u)
#define GPIOD_CFGLR REGISTER(0x40011400u)
#define USART_STATR REGISTER(0x40013800u)
#define USART_DATAR REGISTER(0x40013804u)
#define USART_BRR REGISTER(0x40013808u)
#define USART_CTLR1 REGISTER(0x4001380cu)
#define SYSTICK_CTLR REGISTER(0xe000f000u)
#define SYSTICK_CNT REGISTER(0xe000f008u)

enum { VARIABLE = 7, NODE = 76 };
#define TICKS_A_SECOND 8000000u

void beat(void);

static void put(uint8_t byte)
{
    while (!(USART_STATR & 1u << 7)) {
    }
    USART_DATAR = byte;
}

void beat(void)
{
    uint32_t due;
    uint8_t value = 0;
    RCC_APB2PCENR |= 1u << 14 | 1u << 5;
    GPIOD_CFGLR = (GPIOD_CFGLR & ~(0xfu << 20)) | 0xbu << 20;
    USART_BRR = 69;
    USART_CTLR1 = 1u << 13 | 1u << 3;
    SYSTICK_CTLR = 1u << 2 | 1u;
    due = SYSTICK_CNT;
    for (;;) {
        uint8_t packet[HB_PACKET];
        uint8_t i;
        hb_encode_heartbeat(packet, VARIABLE, NODE, value++);
        put(SLIP_END);
        for (i = 0; i < HB_PACKET; i++) {
            uint8_t escaped[2];
            const uint8_t count = slip_escape(packet[i], escaped);
            put(escaped[0]);
            if (count == 2) {
                put(escaped[1]);
            }
        }
        put(SLIP_END);
        due += TICKS_A_SECOND;
        while ((int32_t)(SYSTICK_CNT - due) < 0) {
        }
    }
}
